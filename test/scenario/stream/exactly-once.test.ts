import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { OUTCOME_TABLE, OUTCOMES } from '../../../src/foundation/domain/outcome.ts'
import { FLAG_FORWARDED, type CallRecord } from '../../../src/storage/spool/call-record.ts'
import { createRandom } from '../../random.ts'
import { attribution, someCalls, START_MS } from '../../fixtures/calls.ts'
import { createTestStream, type TestStream } from '../../fixtures/test-stream.ts'

let folder: string
let worlds: TestStream[] = []
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'pipeline-'))
})
afterEach(() => {
  for (const stream of worlds) stream.close()
  worlds = []
  rmSync(folder, { recursive: true, force: true })
})

const PARTIES = [
  attribution(),
  attribution({ operation: 'listPayments', priceMicro: 250_000, currency: 'EUR' }),
  attribution({ consumer: 'con_2', consumerName: 'Bank', agent: 'con_2', person: 'Ada' }),
  attribution({ consumer: 'con_2', consumerName: 'Bank', agent: 'con_2', person: 'Bob' }),
  attribution({ consumer: '', consumerName: '', subscription: '' }),
]

async function newWorld(name: string): Promise<TestStream> {
  const stream = await createTestStream(join(folder, `${name}.db`), START_MS)
  worlds.push(stream)
  return stream
}

interface Totals {
  readonly calls: number
  readonly units: bigint
  readonly risks: number
  /** Calls in the service levels. */
  readonly measured: number
  /** Refused calls. */
  readonly logged: number
}

function totalsOf(records: readonly CallRecord[]): Totals {
  const forwarded = records.filter(({ flags }) => (flags & FLAG_FORWARDED) !== 0)
  return {
    calls: forwarded.length,
    units: forwarded.reduce((sum, { unitsMicro }) => sum + BigInt(unitsMicro), 0n),
    risks: records.filter(({ outcome }) => OUTCOME_TABLE[outcome]!.risk !== 'none').length,
    logged: records.filter(({ outcome }) => outcome !== 0).length,
    measured: records.filter(({ outcome, flags }) =>
      outcome === 0 ? (flags & FLAG_FORWARDED) !== 0 : OUTCOMES[outcome]!.startsWith('upstream_'),
    ).length,
  }
}

/** Counts as billed, and as in the evidence of all episodes. */
function totalsIn({ items, measured, logged, checkpoint }: TestStream): Totals {
  const open = checkpoint.openEpisodes().map(({ event }) => event)
  const cleared = checkpoint.clearedEpisodes({ tenant: 'acme', state: 'cleared', limit: 1_000 })
  return {
    calls: items.reduce((sum, { calls }) => sum + calls, 0),
    units: items.reduce((sum, { unitsMicro }) => sum + unitsMicro, 0n),
    risks: [...open, ...cleared.map(({ event }) => event)].reduce((sum, { evidence }) => sum + evidence.total, 0),
    measured,
    logged: logged.length,
  }
}

/** A few seconds of traffic in three rounds; each ends with a growth signal and a tick. */
async function live(stream: TestStream, seed: number): Promise<CallRecord[]> {
  const random = createRandom(seed)
  const all: CallRecord[] = []
  for (let round = 0; round < 3; round++) {
    for (let batch = 0; batch < 4; batch++) {
      const source = `gateway-${random.below(2)}`
      const records = someCalls(random, START_MS + round * 4_000, 1 + random.below(20), PARTIES)
      stream.spool.append(source, records)
      all.push(...records)
      if (random.below(3) === 0) stream.spool.roll(source)
      stream.spool.grow()
      await stream.clock.advance(30)
    }
    await stream.clock.advance(1_500)
  }
  return all
}

async function finish(stream: TestStream): Promise<void> {
  await stream.start()
  await stream.clock.advance(3_000)
  await stream.pipeline.stop()
}

describe('the pipeline', () => {
  it('bills and evaluates every call once if the process dies at any step', { timeout: 120_000 }, async () => {
    const seed = 5
    const whole = await newWorld('whole')
    await whole.start()
    await live(whole, seed)
    const steps = whole.steps
    expect(steps).toBeGreaterThan(40)

    for (let dieAt = 1; dieAt <= steps; dieAt++) {
      const stream = await newWorld(`dies-${dieAt}`)
      await stream.start(dieAt)
      const records = await live(stream, seed)
      await finish(stream)

      expect(totalsIn(stream), `seed ${seed}, died at step ${dieAt}`).toEqual(totalsOf(records))
      // Spans are lost between a commit and their export, and are never exported twice.
      expect(stream.observed, `seed ${seed}, died at step ${dieAt}`).toBeLessThanOrEqual(records.length)
      const ids = stream.history.map(({ id }) => id)
      expect(new Set(ids).size, `seed ${seed}, died at step ${dieAt}`).toBe(ids.length)
      expect(ids).toEqual(ids.toSorted())
    }
  })

  it('bills and evaluates every call once if the process dies repeatedly', { timeout: 120_000 }, async () => {
    for (let seed = 100; seed < 115; seed++) {
      const random = createRandom(seed)
      const stream = await newWorld(`again-${seed}`)
      const records: CallRecord[] = []
      for (let death = 0; death < 6; death++) {
        // The process may also die during its start.
        await stream.start(1 + random.below(30)).catch(() => {})
        records.push(...(await live(stream, seed * 100 + death)))
      }
      await finish(stream)

      expect(totalsIn(stream), `seed ${seed}`).toEqual(totalsOf(records))
    }
  })

  it('bills and evaluates every call once, and emits every event once, if disks and stores fail temporarily', async () => {
    for (let seed = 200; seed < 230; seed++) {
      const random = createRandom(seed)
      const stream = await newWorld(`fails-${seed}`)
      await stream.start()
      stream.fails = () => random.below(4) === 0
      const records = await live(stream, seed)
      await stream.clock.advance(20_000)
      stream.fails = () => false
      await stream.clock.advance(20_000)

      expect(totalsIn(stream), `seed ${seed}`).toEqual(totalsOf(records))
      expect(stream.observed, `seed ${seed}`).toBe(records.length)
      expect(stream.counted.get('pipeline_restarted'), `seed ${seed}`).toBeGreaterThan(0)
      expect(
        stream.notified.map(({ id }) => id),
        `seed ${seed}`,
      ).toEqual(stream.history.map(({ id }) => id))
    }
  })
})
