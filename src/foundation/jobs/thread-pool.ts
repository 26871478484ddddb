/**
 * A pool of threads for work on documents, which would block the main thread.
 *
 * Each job has a deadline, and each thread a memory limit. A job that exceeds either ends its thread and nothing else: the jobs of the
 * other threads go on, and a new thread serves the queue.
 */

import { availableParallelism } from 'node:os'
import { Problem } from '../domain/problem.ts'
import type { JobKind } from './job-kind.ts'
import { createJobQueue } from './job-queue.ts'
import { JobThread, type Job, type JobThreadOptions } from './job-thread.ts'

export interface ThreadPool {
  /**
   * Throws what the job throws, `Problem('unavailable')` if the queue is full, and `Problem('specification_invalid')` beyond the
   * deadline or the memory limit.
   */
  run<Request, Answer>(kind: JobKind<Request, Answer>, request: Request, options: JobOptions): Promise<Answer>
  /** Ends the threads and refuses all jobs. */
  close(): Promise<void>
}

export interface JobOptions {
  readonly deadlineMs: number
  readonly tenant?: string | undefined
  /** Buffers of the request that are moved to the thread instead of copied. */
  readonly moved?: readonly ArrayBuffer[]
}

export interface ThreadPoolOptions extends JobThreadOptions {
  readonly threads?: number
}

/** A core stays free for the main thread; more threads would multiply the memory. */
const THREADS = Math.max(1, Math.min(2, availableParallelism() - 1))

export function createThreadPool(options: ThreadPoolOptions): ThreadPool {
  const { threads: count = THREADS } = options
  const queue = createJobQueue<Job>()
  const threads = Array.from({ length: count }, () => new JobThread(options, onEnd))
  let isClosed = false
  let lastId = 0

  function onEnd(job: Job): void {
    queue.ended(job)
    assign()
  }

  /** Gives waiting jobs to idle threads, to those that run first. */
  function assign(): void {
    if (isClosed) return
    const idle = threads.filter(({ isIdle }) => isIdle).sort((a, b) => Number(b.isStarted) - Number(a.isStarted))
    for (const thread of idle) {
      const job = queue.next()
      if (job === undefined) return
      thread.run(job)
    }
  }

  return {
    run<Request, Answer>(
      kind: JobKind<Request, Answer>,
      request: Request,
      { tenant, deadlineMs, moved = [] }: JobOptions,
    ) {
      if (isClosed || queue.isFull(tenant)) {
        return Promise.reject(new Problem('unavailable', 'Too many documents are waiting. Retry shortly.'))
      }
      const { promise, resolve, reject } = Promise.withResolvers<Answer>()
      const settle = resolve as (answer: unknown) => void
      queue.push({ id: ++lastId, kind, request, tenant, deadlineMs, moved, resolve: settle, reject, partial: null })
      assign()
      return promise
    },
    async close() {
      isClosed = true
      const stopped = new Problem('unavailable', 'The service is stopping.')
      for (const { reject } of queue.clear()) reject(stopped)
      await Promise.all(threads.map((thread) => thread.close(stopped)))
    },
  }
}
