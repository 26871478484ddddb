import { describe, expect, it } from 'vitest'
import { createSharedHistory } from '../../../../src/pipeline/risk/shared-history.ts'
import { createLog } from '../../../../src/foundation/runtime/log.ts'
import type { HistoryBatch } from '../../../../src/storage/store/shared-risks.ts'
import { START_MS } from '../../../fixtures/calls.ts'
import { createFakeClock } from '../../../fixtures/fake-clock.ts'
import { riskEvent } from '../../../fixtures/risk-event.ts'

function open(batches: HistoryBatch[]) {
  const clock = createFakeClock(START_MS)
  const tokens: string[] = []
  const stored = new Map<string, number>()
  const counted: string[] = []
  const pruned: number[] = []
  const faults = { insert: false, stored: false }
  const create = () =>
    createSharedHistory({
      outbox: {
        nextBatch: async () => batches[0] ?? null,
        async stored() {
          if (faults.stored) throw new Error('PostgreSQL is away')
          batches.shift()
        },
        async prune(beforeMs) {
          pruned.push(beforeMs)
          return 2
        },
      },
      store: {
        async insert(token, events) {
          tokens.push(token)
          if (faults.insert) throw new Error('ClickHouse is away')
          stored.set(token, events.length)
        },
      },
      clearedDays: 30,
      clock,
      log: createLog('silent'),
      count: (reason, by = 1) => counted.push(`${reason} ${by}`),
    })
  return { clock, create, tokens, stored, counted, pruned, faults }
}

const batchesOf = (): HistoryBatch[] => [
  { from: 0, to: 2, events: [riskEvent(), riskEvent()] },
  { from: 2, to: 3, events: [riskEvent()] },
]

describe('The history of risks of several nodes', () => {
  it('receives each batch once', async () => {
    const { clock, create, stored, tokens } = open(batchesOf())
    await create().start()
    await clock.advance(5_000)
    expect([...stored.values()]).toEqual([2, 1])
    expect(tokens).toHaveLength(2)
  })

  it('receives a batch under the same token from another node, after an answer was lost', async () => {
    const { clock, create, stored, tokens, faults, counted } = open(batchesOf())
    const first = create()
    await first.start()
    faults.stored = true
    await clock.advance(1_000)
    await first.stop()
    faults.stored = false
    await create().start()
    await clock.advance(1_000)
    expect(counted).toContain('risk_history_failed 1')
    expect(tokens[1]).toBe(tokens[0])
    expect([...stored.values()]).toEqual([2, 1])
  })

  it('waits while the store is away', async () => {
    const { clock, create, stored, faults } = open(batchesOf())
    faults.insert = true
    await create().start()
    await clock.advance(3_000)
    expect(stored.size).toBe(0)
    faults.insert = false
    await clock.advance(1_000)
    expect([...stored.values()]).toEqual([2, 1])
  })

  it('is pruned once a minute, and dropped events are counted', async () => {
    const { clock, create, pruned, counted } = open([])
    const history = create()
    await history.start()
    await clock.advance(121_500)
    expect(pruned).toHaveLength(3)
    expect(pruned[0]).toBe(START_MS + 1_000 - 30 * 86_400_000)
    expect(counted[0]).toBe('risk_history_dropped 2')
    await history.stop()
    await clock.advance(120_000)
    expect(pruned).toHaveLength(3)
  })
})
