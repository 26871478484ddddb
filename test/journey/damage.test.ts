/**
 * No damaged file leads to a wrong bill without a report.
 *
 * Data folders of a service that was killed under load get one fault each. Each start on them ends exact, reported or
 * refused (`damage/verdict.ts`). `CASES` sets the number of cases (8 in the suite; `npm run damage` makes it 300); `SEED` repeats a
 * run, `CASE` one case of it, and `TARGET=store-metadata` damages the small files of the embedded store only.
 *
 * Mixtures of an earlier and the newest state of its parts end the same way: some in the suite, all of them with `MIXTURES=all`.
 */

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createRandom } from '../random.ts'
import { readSeed } from '../random-seed.ts'
import { makeBaseFolder, type BaseFolder } from './damage/base-folder.ts'
import { applyDamage, copyFolder, mix, MIXTURES, type DamageTarget } from './damage/damage.ts'
import { judge } from './damage/verdict.ts'
import { startLedgerBackend, type LedgerBackend } from './ledger-backend.ts'
import { isEmbedded } from './service.ts'

const CASES = Number(process.env['CASES'] ?? 6)
const SEED = readSeed(1)
const ONLY = process.env['CASE'] === undefined ? null : Number(process.env['CASE'])
const TARGET: DamageTarget = process.env['TARGET'] === 'store-metadata' ? 'store-metadata' : 'any'
/** Cases that share a base folder. */
const CASES_PER_BASE = 60
const AT_ONCE = 2
/**
 * Registry and its mark; checkpoint and spool; both with the mark of the checkpoint; everything but that mark; everything but the
 * registry.
 */
const SOME_MIXTURES = [0b001100, 0b010001, 0b010011, 0b111101, 0b110011]

let backend: LedgerBackend
const bases: BaseFolder[] = []

beforeAll(
  async () => {
    backend = await startLedgerBackend()
    const random = createRandom(SEED)
    for (let made = 0; made < Math.ceil(CASES / CASES_PER_BASE); made++)
      bases.push(await makeBaseFolder(random, backend))
  },
  60_000 + CASES * 2_000,
)

afterAll(async () => {
  for (const { dataDir, oldDir } of bases) {
    for (const folder of [dataDir, oldDir]) rmSync(folder, { recursive: true, force: true })
  }
  await backend.close()
})

describe.skipIf(!isEmbedded)('damage of a data folder (needs the registry and the store in it)', () => {
  it(`ends exact, reported or refused in ${CASES} cases`, { timeout: 120_000 + CASES * 60_000 }, async () => {
    const tally = { exact: 0, reported: 0, refused: 0 }
    const faults: string[] = []
    let next = ONLY ?? 0
    const end = ONLY === null ? CASES : ONLY + 1

    async function worker(): Promise<void> {
      while (next < end) {
        const number = next++
        const { what, verdict } = await runCase(number)
        process.stdout.write(`case ${number}: ${what} -> ${verdict.is} ${verdict.note.split('\n')[0]}\n`)
        if (verdict.is === 'fault') faults.push(`case ${number} of seed ${SEED}: ${what}\n  ${verdict.note}`)
        else tally[verdict.is]++
      }
    }
    await Promise.all(Array.from({ length: AT_ONCE }, worker))
    process.stdout.write(`seed ${SEED}: ${JSON.stringify({ ...tally, faults: faults.length })}\n`)
    expect(faults).toEqual([])
  })
})

describe.skipIf(!isEmbedded)('parts of two states in a data folder (needs the registry and the store in it)', () => {
  const all = process.env['MIXTURES'] === 'all'
  const tried = all ? MIXTURES : SOME_MIXTURES
  it(
    `ends exact, reported or refused in ${tried.length} mixtures`,
    { timeout: 120_000 + tried.length * 60_000 },
    async () => {
      const base = await makeBaseFolder(createRandom(SEED), backend, true)
      bases.push(base)
      const faults: string[] = []
      const waiting = [...tried]
      async function worker(): Promise<void> {
        for (let mixture = waiting.shift(); mixture !== undefined; mixture = waiting.shift()) {
          const dataDir = mkdtempSync(join(tmpdir(), 'tollgate-mixed-'))
          copyFolder(base.dataDir, dataDir)
          const what = mix(mixture, dataDir, base.oldDir)
          const verdict = await judge(base, dataDir)
          process.stdout.write(`mixture ${mixture}: ${what} -> ${verdict.is} ${verdict.note.split('\n')[0]}\n`)
          if (verdict.is === 'fault') faults.push(`mixture ${mixture} of seed ${SEED}: ${what}\n  ${verdict.note}`)
        }
      }
      await Promise.all(Array.from({ length: AT_ONCE }, worker))
      expect(faults).toEqual([])
    },
  )
})

async function runCase(number: number) {
  const base = bases[Math.floor(number / CASES_PER_BASE) % bases.length]!
  const dataDir = mkdtempSync(join(tmpdir(), 'tollgate-damaged-'))
  const random = createRandom(SEED * 1_000 + number)
  let what: string | null = null
  for (let tries = 0; what === null && tries < 50; tries++) {
    if (tries === 0) copyFolder(base.dataDir, dataDir)
    what = applyDamage(random, dataDir, base.oldDir, TARGET)
  }
  return { what: what ?? 'nothing', verdict: await judge(base, dataDir) }
}
