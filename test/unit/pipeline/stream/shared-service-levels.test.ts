import { describe, expect, it } from 'vitest'
import { parseDeclaration } from '../../../../src/documents/opensla/declaration.ts'
import { createLog } from '../../../../src/foundation/runtime/log.ts'
import type { MinutesQuery, ServiceLevelRow } from '../../../../src/storage/store/service-level-store.ts'
import type { SignalBatch, SignalStore, SourceState } from '../../../../src/storage/store/shared-risks.ts'
import { createSharedServiceLevels } from '../../../../src/pipeline/stream/shared-service-levels.ts'
import { START_MS } from '../../../fixtures/calls.ts'
import { createFakeClock } from '../../../fixtures/fake-clock.ts'

const MINUTE_MS = 60_000
const START_MINUTE = START_MS / MINUTE_MS
const DECLARED = `opensla: 1.0.0
runtime:
  - { name: all, availability: 99 }`

/** Rows of one node: a minute in which `unanswered` of thirty calls were not answered. */
function row(minute: number, unanswered: number, changes: Partial<ServiceLevelRow> = {}): ServiceLevelRow {
  return {
    minuteMs: START_MS + minute * MINUTE_MS,
    tenant: 'acme',
    api: 'payments-v1',
    operation: 'createPayment',
    calls: 30,
    unanswered,
    errors: 0,
    successes: 30 - unanswered,
    latencyUs: 1_000,
    latency: new Map(),
    ...changes,
  }
}

function open(rows: ServiceLevelRow[]) {
  const clock = createFakeClock(START_MS)
  const bytes = new TextEncoder().encode(DECLARED)
  const { runtime } = parseDeclaration(bytes, { technicalName: 'a', operationIds: ['createPayment'] })
  const batches: SignalBatch[] = []
  const queries: MinutesQuery[] = []
  const counted: string[] = []
  let state: SourceState | null = null
  let fails = false
  const signals: SignalStore = {
    openSource: async (_, position) => (state ??= { sequence: 0, position }),
    async send(batch) {
      if (state?.sequence !== batch.expected) return false
      state = { sequence: batch.expected + 1, position: batch.position }
      batches.push(batch)
      return true
    },
  }
  const create = () =>
    createSharedServiceLevels({
      signals,
      levels: {
        async minutes(query) {
          if (fails) throw new Error('the store is away')
          queries.push(query)
          return rows.filter(({ minuteMs }) => minuteMs >= query.fromMs && minuteMs < query.toMs)
        },
      },
      promises: {
        isAny: true,
        of: (api) => (api === 'payments-v1' ? runtime : []),
        apis: () => ['payments-v1'],
      },
      clock,
      log: createLog('silent'),
      count: (reason) => counted.push(reason),
    })
  const breaches = () =>
    batches
      .flatMap((batch) => batch.signals)
      .flatMap(({ seconds, evidence }) =>
        seconds.map(([second, , grave]) => ({
          minute: second / 60 - START_MINUTE - 1,
          isGrave: grave > 0,
          reasons: Object.keys(evidence.reasons),
        })),
      )
  return { clock, create, batches, queries, counted, breaches, setFails: (value: boolean) => (fails = value) }
}

describe('Service levels of several nodes', () => {
  it('are judged over the calls of all nodes', async () => {
    // Each node alone has too few calls to be significant.
    const part = { calls: 10, unanswered: 1, successes: 9 }
    const { clock, create, breaches } = open([row(1, 0, part), row(1, 0, part), row(2, 0)])
    await create().start()
    await clock.advance(4 * MINUTE_MS)
    expect(breaches()).toEqual([{ minute: 1, isGrave: true, reasons: ['availability'] }])
  })

  it('are judged once, by whichever node, and only after the minute is complete', async () => {
    const { clock, create, breaches, batches } = open([row(1, 1)])
    const jobs = [create(), create()]
    for (const job of jobs) await job.start()
    await clock.advance(2 * MINUTE_MS + 14_000)
    expect(breaches()).toEqual([])
    await clock.advance(MINUTE_MS)
    expect(breaches()).toHaveLength(1)
    await jobs[0]!.stop()
    await clock.advance(3 * MINUTE_MS)
    expect(breaches()).toHaveLength(1)
    expect(new Set(batches.map(({ expected }) => expected)).size).toBe(batches.length)
  })

  it('are grave once they are broken in five consecutive minutes', async () => {
    // One of sixty calls: not twice as bad as promised.
    const broken = { calls: 60, unanswered: 1, successes: 59 }
    const minutes = [1, 2, 4, 5, 6, 7, 8, 9]
    const { clock, create, breaches } = open(minutes.map((minute) => row(minute, 1, broken)))
    await create().start()
    await clock.advance(12 * MINUTE_MS)
    expect(breaches().map(({ minute, isGrave }) => [minute, isGrave])).toEqual([
      [1, false],
      [2, false],
      [4, false],
      [5, false],
      [6, false],
      [7, false],
      [8, true],
      [9, true],
    ])
  })

  it('are judged later if the store was away, but not beyond an hour', async () => {
    const { clock, create, breaches, setFails, counted } = open([row(3, 1), row(100, 1)])
    await create().start()
    await clock.advance(2 * MINUTE_MS)
    setFails(true)
    await clock.advance(120 * MINUTE_MS)
    expect(counted).toContain('service_level_not_judged')
    setFails(false)
    await clock.advance(MINUTE_MS)
    expect(breaches().map(({ minute }) => minute)).toEqual([100])
  })

  it('are read only for APIs that have promises', async () => {
    const { clock, create, queries } = open([])
    await create().start()
    await clock.advance(3 * MINUTE_MS)
    expect(queries.length).toBeGreaterThan(0)
    expect(queries.every(({ apis }) => apis.join() === 'payments-v1')).toBe(true)
  })
})
