import { describe, expect, it } from 'vitest'
import { createPartitionWorker } from '../../../../src/pipeline/risk/partition-worker.ts'
import { DEFAULT_RISK_RULES } from '../../../../src/pipeline/risk/risk-rules.ts'
import { timeOfId } from '../../../../src/foundation/runtime/ids.ts'
import type { SavedEpisode } from '../../../../src/storage/store/risk-checkpoint.ts'
import type { PartitionChanges, PartitionStore, RiskSignal } from '../../../../src/storage/store/shared-risks.ts'
import { START_MS } from '../../../fixtures/calls.ts'
import { createFakeClock } from '../../../fixtures/fake-clock.ts'

type Outcome = 'committed' | 'lost' | 'unknown'

function signal(atMs: number, count: number, fields: Partial<RiskSignal> = {}): RiskSignal {
  return {
    tenant: 'acme',
    type: 'AuthFailure403',
    api: 'payments-v1',
    attributedTo: { kind: 'consumer', id: 'con_1', name: 'Shop' },
    firstMs: atMs,
    lastMs: atMs,
    seconds: [[Math.floor(atMs / 1_000), count, 0]],
    operation: 'pay',
    evidence: { total: count, statuses: {}, reasons: {}, operations: {}, requestIds: [] },
    ...fields,
  }
}

/** One partition whose commits can fail with or without effect. */
function open() {
  const clock = createFakeClock(START_MS)
  const episodes = new Map<string, SavedEpisode>()
  const committed: PartitionChanges[] = []
  const counted: string[] = []
  const left: string[] = []
  let signals: RiskSignal[] = []
  let version = 0
  let reads = 0
  let outcome: Outcome = 'committed'
  const store: PartitionStore = {
    async advance(_, advance) {
      if (signals.length === 0) return null
      const taken = signals
      const changes = await advance({
        number: 3,
        version: `v${version}`,
        nowMs: clock.nowMs(),
        signals: taken,
        async openEpisodes() {
          reads++
          return [...episodes.values()].filter(({ state }) => state === 'open')
        },
      })
      const is = outcome
      outcome = 'committed'
      if (is === 'lost') throw new Error('the transaction was rolled back')
      signals = signals.filter((each) => !taken.includes(each))
      committed.push(changes)
      for (const episode of changes.episodes) episodes.set(episode.riskId, structuredClone(episode))
      version++
      if (is === 'unknown') throw new Error('the answer was lost')
      return { number: 3, version: `v${version}` }
    },
    leave: async (holder) => void left.push(holder),
  }
  const worker = createPartitionWorker({
    store,
    holder: 'here',
    rules: DEFAULT_RISK_RULES,
    clock,
    count: (reason) => counted.push(reason),
    onFailed: () => {},
  })
  worker.start()
  return {
    worker,
    clock,
    committed,
    counted,
    left,
    reads: () => reads,
    totals: () => [...episodes.values()].map(({ event }) => event.evidence.total),
    async add(added: RiskSignal, as: Outcome = 'committed') {
      outcome = as
      signals.push(added)
      worker.wake()
      await clock.advance(0)
    },
    /** Another node advances the partition. */
    renew: () => version++,
    events: () =>
      committed.flatMap(({ events }) => events).map(({ phase, severity, count }) => `${phase} ${severity} ${count}`),
  }
}

describe('A worker on partitions', () => {
  it('adds the signals of several nodes to one episode', async () => {
    const { add, events, totals, reads } = open()
    await add(signal(START_MS, 4))
    await add(signal(START_MS + 10, 6))
    expect(events()).toEqual(['opened Warning 4', 'escalated Critical 10'])
    expect(totals()).toEqual([10])
    expect(reads()).toBe(1)
  })

  it.each(['lost', 'unknown'] as const)(
    'counts every signal once if the outcome of a commit is %s',
    async (outcome) => {
      const { add, clock, totals, events, reads } = open()
      await add(signal(START_MS, 1))
      await add(signal(START_MS + 10, 2), outcome)
      await clock.advance(1_000)
      await add(signal(START_MS + 20, 7))
      expect(totals()).toEqual([10])
      expect(events().at(-1)).toBe('escalated Critical 10')
      expect(reads()).toBe(2)
    },
  )

  it('reads the episodes again after another node has advanced them', async () => {
    const { add, renew, reads } = open()
    await add(signal(START_MS, 1))
    renew()
    await add(signal(START_MS + 10, 1))
    expect(reads()).toBe(2)
  })

  it('evaluates silence two seconds late, when all nodes have reported', async () => {
    const { add, clock, events } = open()
    await add(signal(START_MS, 1))
    await clock.advance(301_000)
    const other = { attributedTo: { kind: 'consumer', id: 'con_2', name: 'Till' } } as const
    await add(signal(START_MS + 301_000, 1, other))
    expect(events()).not.toContain('cleared Info 0')
    await clock.advance(2_000)
    await add(signal(START_MS + 303_000, 1, other))
    expect(events()).toContain('cleared Info 0')
  })

  it('says that calls of a node that was away are late', async () => {
    const { add, clock, committed } = open()
    await clock.advance(120_000)
    await add(signal(START_MS, 3))
    expect(committed[0]!.events[0]!.message).toContain('3 reported late.')
  })

  it('commits no event with a time before that of its risk', async () => {
    const { add, committed } = open()
    for (let party = 0; party < 20; party++) {
      await add(signal(START_MS, 1, { attributedTo: { kind: 'consumer', id: `con_${party}`, name: 'Shop' } }))
    }
    for (const { events, fromMs } of committed) {
      for (const { riskId } of events) expect(timeOfId(riskId)).toBeLessThanOrEqual(fromMs)
    }
  })

  it('drops a signal of a type that only a later version has, and counts it', async () => {
    const { add, counted, totals } = open()
    await add(signal(START_MS, 1, { type: 'OfLater' as RiskSignal['type'] }))
    await add(signal(START_MS, 1))
    expect(counted).toEqual(['risk_signal_unreadable'])
    expect(totals()).toEqual([1])
  })

  it('leaves its partitions to others when it stops', async () => {
    const { worker, add, left, totals } = open()
    await worker.stop()
    expect(left).toEqual(['here'])
    await add(signal(START_MS, 1))
    expect(totals()).toEqual([])
  })
})
