import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import { describe, expect, it } from 'vitest'
import { createMessageLimit, createMessageLimitMemory } from '../../../../src/gateway/mcp/message-limit.ts'
import type { TakerData } from './message-taker.ts'

const MINUTE_MS = 60_000
const THREADS = 2

describe('the limit of messages', () => {
  it('admits a number of messages of each credential per minute', () => {
    const limit = createMessageLimit(2, createMessageLimitMemory())
    expect([limit.take('a', 0), limit.take('a', 1_000), limit.take('a', 30_000)]).toEqual([0, 0, 30])
    expect(limit.take('b', 30_000)).toBe(0)
    expect(limit.take('a', MINUTE_MS)).toBe(0)
  })

  it('keeps the credentials of a minute apart', () => {
    const memory = createMessageLimitMemory()
    const [one, other] = [createMessageLimit(1, memory), createMessageLimit(1, memory)]
    const names = Array.from({ length: 5_000 }, (_, at) => `crd_${at}`)
    expect(names.filter((name) => one.take(name, 0) > 0)).toEqual([])
    expect(names.filter((name) => other.take(name, 0) === 0)).toEqual([])
    expect(names.filter((name) => other.take(name, MINUTE_MS) > 0)).toEqual([])
  })

  it('counts on when another thread has read the clock just before', () => {
    const memory = createMessageLimitMemory()
    const limit = createMessageLimit(2, memory)
    expect([limit.take('a', MINUTE_MS), limit.take('a', MINUTE_MS - 1)]).toEqual([0, 0])
    expect(limit.take('a', MINUTE_MS + 1)).toBe(60)
  })

  it('admits messages whose credential has no free slot', () => {
    const memory = createMessageLimitMemory()
    const limit = createMessageLimit(1, memory)
    // Every slot has one message of another credential in minute 0.
    new BigUint64Array(memory, memory.byteLength % 4_096).fill((0xffff_ffffn << 32n) | 1n)
    expect([limit.take('a', 0), limit.take('a', 0)]).toEqual([0, 0])
    expect([limit.take('a', MINUTE_MS), limit.take('a', MINUTE_MS)]).toEqual([0, 60])
  })

  it(`holds for ${THREADS} threads together`, async () => {
    const memory = createMessageLimitMemory()
    const barrier = new SharedArrayBuffer(4)
    const workerData: TakerData = { memory, barrier, threads: THREADS, perMinute: 7_001, takes: 10_000, minutes: 5 }
    const workers = Array.from(
      { length: THREADS },
      () => new Worker(new URL('./message-taker.ts', import.meta.url), { workerData }),
    )
    const admitted = await Promise.all(
      workers.map(async (worker) => ((await once(worker, 'message')) as [readonly number[]])[0]),
    )
    await Promise.all(workers.map((worker) => worker.terminate()))
    const byMinute = admitted[0]!.map((_, minute) => admitted.reduce((sum, each) => sum + each[minute]!, 0))
    expect(byMinute).toEqual([7_001, 7_001, 7_001, 7_001, 7_001])
  })
})
