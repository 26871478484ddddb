/** Bounds, retries and the stop of the queue in front of a collector. */

import { describe, expect, it } from 'vitest'
import { ExportQueue, type SendResult } from '../../../../src/pipeline/telemetry/export-queue.ts'
import { createFakeClock } from '../../../fixtures/fake-clock.ts'

const BATCHES = { delayMs: 1_000, queueMax: 10, batchMax: 4, withinMs: 30_000 }
const ACCEPTED: SendResult = { outcome: 'accepted', rejected: 0 }
const LATER: SendResult = { outcome: 'later', reason: 'away', afterMs: null }

function createQueue(answer: (attempt: number, signal: AbortSignal) => SendResult | Promise<SendResult>) {
  const clock = createFakeClock(1_000)
  const sent: number[][] = []
  const counted: Record<string, number> = {}
  const attempts: (string | null)[] = []
  const count = (name: string, items: number): void => void (counted[name] = (counted[name] ?? 0) + items)
  const queue = new ExportQueue<number>({
    batches: BATCHES,
    clock,
    async send(items, _withinMs, signal) {
      sent.push([...items])
      return answer(sent.length, signal)
    },
    onExported: (items) => count('exported', items),
    onDropped: (items, reason) => count(reason, items),
    onAttempt: (reason) => attempts.push(reason),
  })
  const addAll = (from: number, to: number): void => {
    for (let item = from; item < to; item++) queue.add(item)
  }
  return { queue, clock, sent, counted, attempts, addAll }
}

describe('The queue', () => {
  it('sends what waits after a delay, and a full batch at once', async () => {
    const { queue, clock, sent, counted, addAll } = createQueue(() => ACCEPTED)
    addAll(0, 3)
    await clock.advance(999)
    expect(sent).toEqual([])
    await clock.advance(1)
    expect(sent).toEqual([[0, 1, 2]])
    addAll(3, 9)
    await clock.advance(0)
    expect(sent.slice(1)).toEqual([[3, 4, 5, 6]])
    await clock.advance(1_000)
    expect(sent.slice(2)).toEqual([[7, 8]])
    expect([counted, queue.size]).toEqual([{ exported: 9 }, 0])
  })

  it('holds no more than its bound while a collector hangs, and counts the rest', async () => {
    const { queue, clock, counted, sent, addAll } = createQueue(() => new Promise(() => {}))
    for (let round = 0; round < 100; round++) {
      addAll(0, 100)
      await clock.advance(1_000)
      expect(queue.size).toBeLessThanOrEqual(BATCHES.queueMax)
    }
    expect(sent).toHaveLength(1)
    expect(counted).toEqual({ queue_full: 9_990 })
  })

  it('sends a batch again with pauses, in order', async () => {
    const { clock, sent, counted, attempts, addAll } = createQueue((attempt) => (attempt < 3 ? LATER : ACCEPTED))
    addAll(0, 6)
    await clock.advance(3_500)
    expect(sent).toEqual([
      [0, 1, 2, 3],
      [0, 1, 2, 3],
      [0, 1, 2, 3],
    ])
    expect(attempts).toEqual(['away', 'away', null])
    await clock.advance(1_000)
    expect(counted).toEqual({ exported: 6 })
  })

  it('waits as long as the collector asks, and drops a batch that takes too long', async () => {
    const { clock, sent, counted, addAll } = createQueue(() => ({ outcome: 'later', reason: 'busy', afterMs: 20_000 }))
    addAll(0, 4)
    await clock.advance(19_999)
    expect(sent).toHaveLength(1)
    await clock.advance(1)
    expect(sent).toHaveLength(2)
    expect(counted).toEqual({ failed: 4 })
  })

  it('does not send again what the collector refuses, and counts what it rejects', async () => {
    const results: SendResult[] = [
      { outcome: 'failed', reason: 'status 400' },
      { outcome: 'accepted', rejected: 3 },
      { outcome: 'accepted', rejected: 99 },
    ]
    const { clock, sent, counted, addAll } = createQueue((attempt) => results[attempt - 1]!)
    addAll(0, 4)
    await clock.advance(0)
    addAll(4, 8)
    await clock.advance(0)
    addAll(8, 12)
    await clock.advance(0)
    expect(sent).toHaveLength(3)
    expect(counted).toEqual({ failed: 4, exported: 1, rejected: 7 })
  })

  it('survives a batch that cannot be sent at all', async () => {
    const { clock, counted, addAll } = createQueue((attempt) => {
      if (attempt === 1) throw new Error('it cannot be written')
      return ACCEPTED
    })
    addAll(0, 4)
    await clock.advance(0)
    addAll(4, 8)
    await clock.advance(0)
    expect(counted).toEqual({ failed: 4, exported: 4 })
  })
})

describe('The stop', () => {
  it('sends everything that waits', async () => {
    const { queue, sent, counted, addAll } = createQueue(() => ACCEPTED)
    addAll(0, 3)
    await queue.stop(2_000)
    expect([sent, counted]).toEqual([[[0, 1, 2]], { exported: 3 }])
    queue.add(9)
    expect(counted).toEqual({ exported: 3, stopped: 1 })
  })

  it('ends within its time limit if the collector hangs, and counts each item once', async () => {
    const aborted = Promise.withResolvers<void>()
    const { queue, clock, counted, addAll } = createQueue((_, signal) => {
      const { promise, resolve } = Promise.withResolvers<SendResult>()
      signal.addEventListener('abort', () => {
        resolve(LATER)
        aborted.resolve()
      })
      return promise
    })
    addAll(0, 9)
    const stopped = queue.stop(2_000)
    await clock.advance(2_000)
    await stopped
    await aborted.promise
    await clock.advance(60_000)
    expect([counted, queue.size]).toEqual([{ stopped: 9 }, 0])
    expect(clock.pending).toBe(0)
  })

  it('does not wait for the pause of a retry', async () => {
    const { queue, clock, counted, addAll } = createQueue(() => LATER)
    addAll(0, 4)
    await clock.advance(0)
    await queue.stop(2_000)
    expect(counted).toEqual({ failed: 4 })
    expect(clock.pending).toBe(0)
  })
})
