/** A process that is killed while it removes usage leaves sums that are exact or refused; the next one completes the removal. */

import { fork } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest'
import type { LineItem } from '../../../src/storage/store/usage-store.ts'
import { readSeed } from '../../random-seed.ts'
import { createRandom } from '../../random.ts'
import {
  expectExactOrRefused,
  expectRemoved,
  FIRST,
  itemsBetween,
  nextMonth,
  openUsageService,
  SHORT,
  START,
  sumOfMonth,
  totalOf,
  type UsageService,
} from './removed-usage.ts'

const KILLS = Number(process.env['KILLS'] ?? 2)
const CONSUMERS = ['con_1', 'con_2']

let base: string
let items: LineItem[]
const statements = new Map<string, unknown>()

const statementOf = (service: UsageService, consumer: string, monthMs: number) =>
  service.statements.read({ tenant: 'own', consumer, monthMs, excludeApi: 'none-v1', nowMs: START })

/** A store with statements of closed months, corrections, and sums in part without rollups. */
beforeAll(async () => {
  base = mkdtempSync(join(tmpdir(), 'retention-base-'))
  const service = await openUsageService(base)
  const random = createRandom(7)
  items = itemsBetween(random, [FIRST, START], 800)
  await service.usage.insert('first', items)
  await service.maintain(START)
  const late = itemsBetween(random, [FIRST, START], 200)
  await service.usage.insert('late', late)
  items.push(...late)
  for (const consumer of CONSUMERS) {
    for (let monthMs = FIRST; monthMs < START; monthMs = nextMonth(monthMs)) {
      const statement = await statementOf(service, consumer, monthMs)
      expect(totalOf(statement)).toEqual(sumOfMonth(items, consumer, monthMs))
      statements.set(`${consumer} ${monthMs}`, statement)
    }
  }
  await service.client.close()
}, 60_000)

afterAll(() => rmSync(base, { recursive: true, force: true }))

/** Returns the partitions that the process reported as removed before it was killed. */
async function runAndKill(folder: string, seed: number): Promise<readonly string[]> {
  const random = createRandom(seed)
  const lastReport = random.below(8)
  const child = fork(join(import.meta.dirname, 'retention-process.ts'), [folder, String(START)], { stdio: 'ignore' })
  const seen: string[] = []
  child.on('message', (report: string) => {
    seen.push(report)
    if (seen.length - 1 !== lastReport) return
    // Some hundred turns of the event loop later, a different part is removed.
    let turns = random.below(lastReport === 0 ? 20_000 : 300)
    const kill = (): void => {
      if (turns-- > 0) setImmediate(kill)
      else child.kill('SIGKILL')
    }
    kill()
  })
  const [code, signal] = (await once(child, 'exit')) as [number | null, string | null]
  expect([code, signal]).toEqual([null, 'SIGKILL'])
  return seen
}

async function expectStatements(service: UsageService): Promise<void> {
  for (const [key, before] of statements) {
    const [consumer = '', monthMs] = key.split(' ')
    expect(await statementOf(service, consumer, Number(monthMs)), key).toEqual(before)
  }
}

it.each(Array.from({ length: KILLS }, (_, index) => readSeed(0) + index))(
  'never changes a sum or a statement (kill %i)',
  { timeout: 300_000 },
  async (seed) => {
    const folder = mkdtempSync(join(tmpdir(), 'killed-retention-'))
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
    cpSync(base, folder, { recursive: true, verbatimSymlinks: true })
    const removed = await runAndKill(folder, seed)

    const service = await openUsageService(folder, SHORT)
    onTestFinished(() => service.client.close())
    const random = createRandom(seed)
    const note = `killed after ${removed.join(', ')}`
    await expectExactOrRefused(service, { random, items, nowMs: START, note })
    await expectStatements(service)
    await service.maintain(START)
    await expectRemoved(service)
    expect(service.retention.kept.lineItemsFromMs).toBe(Date.UTC(2025, 11))
    expect(service.retention.kept.sumsFromMs).toBe(Date.UTC(2025, 9))
    await expectExactOrRefused(service, { random, items, nowMs: START, note: `${note}, completed` })
    await expectStatements(service)
  },
)
