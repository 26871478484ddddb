import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import { describe, expect, it } from 'vitest'
import { createLimitMemory } from '../../../src/limits/limit-memory.ts'
import { openTestLimiter, planOf } from '../../fixtures/test-limits.ts'
import type { HammerData } from './limit-hammer.ts'

const NOW_MS = Date.parse('2026-03-04T12:00:00Z')
const TAKES = 20_000

function startHammer(data: HammerData): Worker {
  return new Worker(new URL('./limit-hammer.ts', import.meta.url), { workerData: data })
}

/** Returns the number of admitted calls over all threads, and the maximum of concurrent ones. */
async function hammer(threads: number, declaration: object, isReleasing: boolean, minutes = 1) {
  const plan = planOf(declaration)
  const ref = createLimitMemory({ threads }).blockFor('sub_1', plan)
  if (ref === null) throw new Error('there is no memory left')
  const running = new SharedArrayBuffer(12)
  const workers = Array.from({ length: threads }, (_, thread) =>
    startHammer({
      thread,
      threads,
      plan,
      ref,
      takes: TAKES,
      minutes,
      nowMs: NOW_MS,
      running,
      isReleasing,
      isDying: false,
    }),
  )
  const admitted = await Promise.all(workers.map(admittedBy))
  await Promise.all(workers.map((worker) => worker.terminate()))
  const byMinute = Array.from({ length: minutes }, (_, minute) =>
    admitted.reduce((sum, each) => sum + (each[minute] ?? 0), 0),
  )
  return { byMinute, admitted: byMinute.reduce((sum, each) => sum + each, 0), most: new Int32Array(running)[1] }
}

async function admittedBy(worker: Worker): Promise<readonly number[]> {
  return ((await once(worker, 'message')) as [readonly number[]])[0]
}

describe.each([1, 2, 3, 4])('%i threads with calls of one subscription', (threads) => {
  it.each([
    ['total', { limits: [{ name: 'a', totals: { day: 7_001 } }] }, 7_001],
    ['rate', { limits: [{ name: 'a', rate: { value: 7_001, duration: 'day' } }] }, 7_001],
    ['quota', { quotas: { period: 'Daily', resourceUnits: 700.25 }, resourceUnits: { default: 0.1 } }, 7_002],
    ['gauge', { limits: [{ name: 'a', concurrent: 7_001 }] }, 7_001],
    [
      'mix of them',
      {
        limits: [
          {
            name: 'a',
            totals: { day: 9_000, week: 7_001 },
            concurrent: 8_000,
            rate: { value: 9_000, duration: 'day' },
          },
        ],
        quotas: { period: 'Daily', resourceUnits: 8_000 },
      },
      7_001,
    ],
  ])('admit exactly as many calls as a %s declares', async (_, declaration, limit) => {
    expect((await hammer(threads, declaration, false)).admitted).toBe(limit)
  })

  it('admit exactly 1,000 calls in each of five minutes', async () => {
    const { byMinute } = await hammer(threads, { limits: [{ name: 'a', totals: { minute: 1_000 } }] }, false, 5)

    expect(byMinute).toEqual([1_000, 1_000, 1_000, 1_000, 1_000])
  })

  it('never admit more concurrent calls than declared', async () => {
    const { most, admitted } = await hammer(threads, { limits: [{ name: 'a', concurrent: 2 }] }, true)

    expect(most).toBeLessThanOrEqual(2)
    expect(admitted).toBeGreaterThan(0)
  })
})

it('releases the lock and the calls of a thread that ended within a decision', async () => {
  const plan = planOf({ limits: [{ name: 'a', concurrent: 3 }] })
  const memory = createLimitMemory({ threads: 2 })
  const opened = openTestLimiter(plan, memory, { thread: 0, threads: 2 })
  const ref = memory.blockFor('sub_1', plan)
  if (ref === null) throw new Error('there is no memory left')
  const running = new SharedArrayBuffer(12)
  const worker = startHammer({
    thread: 1,
    threads: 2,
    plan,
    ref,
    takes: 5,
    minutes: 1,
    nowMs: NOW_MS,
    running,
    isReleasing: false,
    isDying: true,
  })
  expect(await admittedBy(worker)).toEqual([3])
  await worker.terminate()

  expect(opened.take(NOW_MS)).toBe('a concurrent')
  expect(opened.limiter.verdict.retryAfterMs).toBe(1_000)
  memory.releaseThread(1)
  expect(Array.from({ length: 4 }, () => opened.take(NOW_MS))).toEqual([true, true, true, 'a concurrent'])
})
