import { describe, expect, it } from 'vitest'
import type { CallRecord } from '../../../../src/storage/spool/call-record.ts'
import {
  createSignalReducer,
  SIGNALS_MAX,
  type SignalReducerOptions,
} from '../../../../src/pipeline/risk/signal-reducer.ts'
import type { RiskSignal } from '../../../../src/storage/store/shared-risks.ts'
import { attribution, call, START_MS, someCalls } from '../../../fixtures/calls.ts'
import { createMemorySpool } from '../../../fixtures/memory-spool.ts'
import { callsOf, openTestDetector, phasesOf } from '../../../fixtures/test-risk-detector.ts'
import { createRandom } from '../../../random.ts'

const START_SECOND = START_MS / 1_000
let spoolKeys = 5_000_000

function reduce(records: readonly CallRecord[], options: Partial<SignalReducerOptions> = {}) {
  let merged = 0
  const reducer = createSignalReducer({ onMerged: () => merged++, ...options })
  const spool = createMemorySpool((spoolKeys += 1_000))
  spool.append('one', records)
  spool.read({}, (batch) => reducer.add(batch))
  return { signals: reducer.take(), merged, reducer }
}

/** Parties that fail once each, at one moment. */
const crowd = (count: number, tenant = 'acme', outcome: 'rate_limited' | 'operation_forbidden' = 'rate_limited') =>
  Array.from({ length: count }, (_, index) =>
    call(attribution({ tenant, consumer: `con_${tenant}_${index}` }), START_MS, outcome),
  )

const totalOf = (signals: readonly RiskSignal[]) => signals.reduce((sum, { evidence }) => sum + evidence.total, 0)

describe('Signals', () => {
  it('count the calls of a party by second, with its evidence', () => {
    const by = attribution()
    const times = [0, 900, 1_000, 2_500].map((ms) => START_MS + ms)
    const records = times.map((timeMs) => call(by, timeMs, 'operation_forbidden', { status: 403 }))
    const { signals } = reduce([...records, call(by, START_MS, 'served')])
    expect(signals).toEqual([
      {
        tenant: 'acme',
        type: 'AuthFailure403',
        api: 'payments-v1',
        attributedTo: { kind: 'consumer', id: 'con_1', name: 'Shop' },
        firstMs: START_MS,
        lastMs: START_MS + 2_500,
        seconds: [
          [START_SECOND, 2, 0],
          [START_SECOND + 1, 1, 0],
          [START_SECOND + 2, 1, 0],
        ],
        operation: 'createPayment',
        evidence: {
          total: 4,
          statuses: { 403: 4 },
          reasons: { operation_forbidden: 4 },
          operations: { createPayment: 4 },
          requestIds: expect.any(Array) as string[],
        },
      },
    ])
    expect(signals[0]!.evidence.requestIds).toHaveLength(4)
  })

  it('do not span a pause of a minute', () => {
    const by = attribution()
    const { signals } = reduce([0, 59_000, 119_000].map((ms) => call(by, START_MS + ms, 'rate_limited')))
    expect(signals.map(({ evidence }) => evidence.total)).toEqual([2, 1])
  })

  it('begin again after they were taken', () => {
    const { reducer } = reduce(callsOf(3, 'rate_limited'))
    expect(reducer.isEmpty).toBe(true)
    expect(reducer.take()).toEqual([])
  })

  it('of a hundred thousand parties are a thousand, and one of the others for each type', () => {
    const records = [...crowd(60_000, 'acme'), ...crowd(20_000, 'globex', 'operation_forbidden'), ...crowd(20_000)]
    const { signals, merged } = reduce(records)
    const others = signals.filter(({ attributedTo }) => attributedTo.kind === 'others')
    expect(signals.length - others.length).toBe(SIGNALS_MAX)
    expect(others.map(({ tenant, type }) => `${tenant} ${type}`).sort()).toEqual([
      'acme RateLimitBreach',
      'globex AuthFailure403',
    ])
    expect(totalOf(signals)).toBe(100_000)
    // The last 20,000 are parties that are known already; of the first 60,000, 800 are counted by name.
    expect(merged).toBe(totalOf(others))
  })

  it('of one tenant leave room for those of others', () => {
    const { signals } = reduce([...crowd(5_000, 'acme'), ...crowd(150, 'globex')])
    expect(signals.filter(({ tenant }) => tenant === 'globex')).toHaveLength(150)
    expect(signals.filter(({ attributedTo }) => attributedTo.kind === 'others').map(({ tenant }) => tenant)).toEqual([
      'acme',
    ])
  })

  it('of several nodes make the episodes that the calls make on one node, over random calls', () => {
    for (let seed = 1; seed <= 60; seed++) {
      const random = createRandom(seed)
      const parties = ['con_1', 'con_2', 'con_3'].map((consumer) => attribution({ consumer }))
      const records = someCalls(random, START_MS, 60, parties)
      const [single, shared] = [openTestDetector(), openTestDetector()]
      single.add(records)
      const nodes = records.map(() => random.below(3))
      for (let node = 0; node < 3; node++) {
        const { signals } = reduce(records.filter((_, index) => nodes[index] === node))
        for (const signal of signals) shared.detector.addSignal(signal, false)
      }
      shared.evaluate(START_MS + 3_000)
      single.evaluate(START_MS + 3_000)
      const shown = (detector: typeof single) =>
        detector
          .save()
          .map(({ event: { type, attributedTo, severity, count, firstSeenMs, lastSeenMs, evidence } }) => {
            const { total, statuses, reasons } = evidence
            return { type, party: attributedTo.id, severity, count, firstSeenMs, lastSeenMs, total, statuses, reasons }
          })
          .sort((a, b) => (`${a.type} ${a.party}` < `${b.type} ${b.party}` ? -1 : 1))
      expect(shown(shared), `seed ${seed}`).toEqual(shown(single))
    }
  })
})

describe('An episode of signals', () => {
  it('is Critical although its calls are read long after they stopped', () => {
    const { detector, add: _, ...shared } = openTestDetector()
    const burst = callsOf(10, 'operation_forbidden', START_MS, 10)
    const later = callsOf(1, 'operation_forbidden', START_MS + 30_000)
    const latest = callsOf(1, 'operation_forbidden', START_MS + 75_000)
    for (const signal of reduce([...burst, ...later, ...latest]).signals) detector.addSignal(signal, false)
    expect(phasesOf(shared.evaluate(START_MS + 75_000)).slice(0, 1)).toEqual(['opened Critical 10'])
  })

  it('says how many calls a node reported late', () => {
    const { detector, evaluate, save } = openTestDetector()
    const [signal] = reduce(callsOf(3, 'operation_forbidden')).signals
    detector.addSignal(signal!, true)
    const [event] = evaluate(START_MS + 1_000)
    expect(event!.message).toBe(
      'Shop called operations without permission at payments-v1: 3 in the last 60 s. 3 reported late.',
    )
    const again = openTestDetector({ saved: save() })
    again.detector.addSignal(signal!, false)
    expect(again.save()[0]!.event.message).toContain('6 in the last 60 s. 3 reported late.')
  })
})
