import { once } from 'node:events'
import type { Worker } from 'node:worker_threads'
import { expect, it, onTestFinished } from 'vitest'
import { createThreadPool, type ThreadPool } from '../../../../src/foundation/jobs/thread-pool.ts'
import { systemClock, type Clock } from '../../../../src/foundation/runtime/clock.ts'
import { createFakeClock } from '../../../fixtures/fake-clock.ts'
import { EXHAUST, EXIT, FAIL, HOLD, HOLD_PARTLY, MEASURE, REFUSE, UNKNOWN } from './test-thread.ts'

const entry = new URL('./test-thread.ts', import.meta.url)
const LONG = { deadlineMs: 60_000 }

function open(options: { threads?: number; clock?: Clock; memoryMb?: number } = {}) {
  const errors: string[] = []
  const log = { error: (_: object, message: string) => void errors.push(message) }
  const pool = createThreadPool({ entry, clock: systemClock, threads: 2, log, ...options })
  onTestFinished(() => pool.close())
  return { pool, errors }
}

/** A job that occupies its thread until it is released. */
function hold(pool: ThreadPool, options: { tenant?: string; deadlineMs?: number } = {}, kind = HOLD) {
  const cells = new Int32Array(new SharedArrayBuffer(8))
  const result = pool.run(kind, cells, { ...LONG, ...options })
  // A rejection is handled by the test, perhaps later.
  result.catch(() => {})
  return {
    result,
    isStarted: () => Atomics.load(cells, 0) === 1,
    started: async () => void (await Atomics.waitAsync(cells, 0, 0).value),
    release() {
      Atomics.store(cells, 1, 1)
      Atomics.notify(cells, 1)
    },
  }
}

it('executes two jobs at once, and the third when one of them has ended', async () => {
  const { pool } = open()
  const [first, second, third] = [hold(pool), hold(pool), hold(pool)]
  await Promise.all([first.started(), second.started()])
  expect(third.isStarted()).toBe(false)

  second.release()
  expect(await second.result).toBe('released')
  await third.started()
  expect(first.isStarted()).toBe(true)
  for (const each of [first, third]) each.release()
  expect(await Promise.all([first.result, third.result])).toEqual(['released', 'released'])
})

it.each([
  ['exhausts the memory of', EXHAUST, 'needs more memory than the limit allows'],
  ['ends', EXIT, 'has ended'],
] as const)('loses only the job that %s its thread', async (_, kind, reason) => {
  const { pool } = open({ memoryMb: 64 })
  const other = hold(pool)
  await other.started()
  const waiting = hold(pool)
  await waiting.started()
  waiting.release()
  const fatal = pool.run(kind, null, LONG)
  const next = hold(pool)
  await expect(fatal).rejects.toMatchObject({
    code: 'specification_invalid',
    message: expect.stringContaining(reason) as string,
  })
  await next.started()
  next.release()
  expect(await next.result).toBe('released')

  other.release()
  expect(await other.result).toBe('released')
})

it('aborts a job at its deadline, and only that job', async () => {
  const clock = createFakeClock(0)
  const { pool } = open({ clock })
  const short = hold(pool, { deadlineMs: 1_000 })
  const long = hold(pool, { deadlineMs: 5_000 })
  const next = hold(pool, { deadlineMs: 5_000 })
  await Promise.all([short.started(), long.started()])
  clock.advanceSync(999)
  clock.advanceSync(1)
  await expect(short.result).rejects.toMatchObject({
    code: 'specification_invalid',
    message: 'Processing the document takes longer than 1 s.',
  })
  await next.started()
  for (const each of [long, next]) each.release()
  expect(await Promise.all([long.result, next.result])).toEqual(['released', 'released'])
})

it('answers with the partial answer if the job is aborted after it', async () => {
  const clock = createFakeClock(0)
  const { pool, errors } = open({ clock })
  const partly = hold(pool, { deadlineMs: 1_000 }, HOLD_PARTLY)
  await partly.started()
  // The partial answer was sent before the start was noted, so it is on its way; a second thread proves that messages arrive.
  const other = hold(pool)
  other.release()
  await other.result
  clock.advanceSync(1_000)

  expect(await partly.result).toBe('partial')
  expect(errors).toEqual(['processing of a document was aborted; its result is partial'])
})

it('lets a document of another tenant wait for at most one document of a flood per thread', async () => {
  const { pool } = open()
  const flood = Array.from({ length: 12 }, () => hold(pool, { tenant: 'acme' }))
  await Promise.all([flood[0]?.started(), flood[1]?.started()])
  const rival = hold(pool, { tenant: 'rival' })
  flood[0]?.release()
  await rival.started()

  expect(flood.filter(({ isStarted }) => isStarted())).toHaveLength(2)
  for (const each of [...flood, rival]) each.release()
  await Promise.all([...flood, rival].map(({ result }) => result))
})

it('rejects with the problem of a job, and logs any other error', async () => {
  const { pool, errors } = open({ threads: 1 })
  await expect(pool.run(REFUSE, null, LONG)).rejects.toMatchObject({
    code: 'breaking_change',
    status: 409,
    message: 'No.',
    errors: [{ pointer: '/paths', detail: 'missing' }],
    extensions: { changes: [1] },
  })
  expect(errors).toEqual([])
  await expect(pool.run(FAIL, null, LONG)).rejects.toThrow('TypeError: a bug')
  await expect(pool.run(UNKNOWN, null, LONG)).rejects.toThrow('this thread does not execute unknown')
  expect(errors).toEqual(['document could not be processed', 'document could not be processed'])
})

it('refuses jobs if the queue is full, and all jobs once it is closed', async () => {
  const { pool } = open()
  const held = Array.from({ length: 36 }, () => hold(pool))
  await expect(held[34]?.result).rejects.toMatchObject({ code: 'unavailable' })
  await expect(held[35]?.result).rejects.toMatchObject({ code: 'unavailable' })
  await Promise.all([held[0]?.started(), held[1]?.started()])
  await pool.close()

  for (const { result } of held) await expect(result).rejects.toMatchObject({ code: 'unavailable' })
  await expect(pool.run(HOLD, new Int32Array(2), LONG)).rejects.toMatchObject({ code: 'unavailable' })
})

it('moves buffers to the thread', async () => {
  const { pool } = open()
  const [copied, moved] = [new Uint8Array(7), new Uint8Array(8)]
  expect(await pool.run(MEASURE, copied, LONG)).toBe(7)
  expect(await pool.run(MEASURE, moved, { ...LONG, moved: [moved.buffer] })).toBe(8)
  expect([copied.length, moved.length]).toEqual([7, 0])
})

it('starts no thread before there is a job, and ends each thread that has been idle for twenty seconds', async () => {
  const started: Worker[] = []
  const onWorker = (worker: Worker): void => void started.push(worker)
  process.on('worker', onWorker)
  onTestFinished(() => void process.off('worker', onWorker))
  const clock = createFakeClock(0)
  const { pool } = open({ clock })
  expect(started).toEqual([])

  const bytes = new Uint8Array(3)
  // A worker is announced in the next turn; the answer arrives in a later one.
  expect(await pool.run(MEASURE, bytes, LONG)).toBe(3)
  await clock.advance(19_999)
  expect(await pool.run(MEASURE, bytes, LONG)).toBe(3)
  expect(started).toHaveLength(1)
  const ended = once(started[0]!, 'exit')
  await clock.advance(19_999)
  expect(started[0]!.threadId).toBeGreaterThan(0)
  await clock.advance(1)
  await ended
  expect([started.length, clock.pending]).toEqual([1, 0])
})
