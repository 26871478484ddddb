/** A process that is killed in the middle of a rollup leaves summaries that are exact. */

import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { openClickHouse } from '../../../src/storage/store/clickhouse/client.ts'
import { createRollups } from '../../../src/storage/store/clickhouse/rollups.ts'
import { createClickHouseUsageStore } from '../../../src/storage/store/clickhouse/usage-store.ts'
import { readSeed } from '../../random-seed.ts'
import { createRandom } from '../../random.ts'
import { NOW, randomQuery } from './random-usage.ts'
import { batchOf } from './rollup-batches.ts'
import { readSummary, sumUp } from './summary-model.ts'

const KILLS = Number(process.env['KILLS'] ?? 2)
const QUERIES = 8

interface Step {
  readonly batch: number
  readonly step: 'begun' | 'inserted' | 'rolling' | 'rolled'
}

/** Returns the last step that the process reported before it was killed. */
async function runAndKill(folder: string, seed: number): Promise<Step> {
  const random = createRandom(seed)
  const last: { batch: number; step: Step['step'] } = {
    batch: random.below(4),
    step: random.below(4) === 0 ? 'begun' : 'rolling',
  }
  const child = fork(join(import.meta.dirname, 'rollup-process.ts'), [folder, String(seed)], { stdio: 'ignore' })
  const seen: Step[] = []
  child.on('message', (step: Step) => {
    seen.push(step)
    if (step.batch !== last.batch || step.step !== last.step) return
    // Between none and a few hundred turns of the event loop later, a different part of the rollup is done.
    let turns = random.below(2_000)
    const kill = (): void => {
      if (turns-- > 0) setImmediate(kill)
      else child.kill('SIGKILL')
    }
    kill()
  })
  const [code, signal] = (await once(child, 'exit')) as [number | null, string | null]
  expect([code, signal]).toEqual([null, 'SIGKILL'])
  return seen.at(-1)!
}

it.each(Array.from({ length: KILLS }, (_, index) => readSeed(0) + index))(
  'never changes a summary (kill %i)',
  { timeout: 300_000 },
  async (seed) => {
    const folder = mkdtempSync(join(tmpdir(), 'killed-rollup-'))
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
    const { batch: lastBatch } = await runAndKill(folder, seed)

    const client = openClickHouse({ url: null, folder })
    onTestFinished(() => client.close())
    const rollups = createRollups(client)
    const usage = createClickHouseUsageStore(client, { rollups })
    const items = Array.from({ length: lastBatch + 1 }, (_, batch) => batchOf(seed, batch))
    // A flush without its note is repeated after a kill.
    await usage.insert(`batch-${lastBatch}`, items[lastBatch]!)
    const random = createRandom(seed)
    for (const state of ['started', 'rolled up']) {
      if (state === 'rolled up') await rollups.roll(NOW)
      for (let index = 0; index < QUERIES; index++) {
        const query = randomQuery(random)
        expect(await readSummary(usage, query), `${state}: ${JSON.stringify(query)}`).toEqual(
          sumUp(items.flat(), query),
        )
      }
    }
    expect(rollups.isMonthRolled(Date.UTC(2026, 2, 1) / 1_000)).toBe(true)
  },
)
