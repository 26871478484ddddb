/**
 * Runs the scheduled tasks of the registry at their time.
 *
 * The scheduler receives new tasks from the change feed and sleeps until the earliest one. A task is removed after its handler
 * has finished, so delivery is at-least-once: a task that fell due during downtime, or that a crash interrupted, runs at the
 * next start. A failed task is retried with exponential back-off and delays no other task. So is one whose commit meets a change by
 * another command.
 */

import type { CountEvent } from '../../foundation/runtime/event-reasons.ts'
import type { Clock } from '../../foundation/runtime/clock.ts'
import { restOfPause } from '../../foundation/runtime/rest-of-pause.ts'
import type { Log } from '../../foundation/runtime/log.ts'
import { RevisionConflict, type Document, type Registry } from '../../storage/store/registry.ts'
import { DUE_KIND, type DueTime } from './due-times.ts'
import { listAll } from './page.ts'
import { retryDelayMs } from './retries.ts'

export type DueHandlers = Readonly<Record<string, (due: DueTime) => Promise<void>>>

export interface Scheduler {
  /** Runs the tasks that fell due during downtime, then schedules the others. */
  start(): Promise<void>
  stop(): void
}

export interface SchedulerOptions {
  readonly registry: Registry
  readonly handlers: DueHandlers
  readonly clock: Clock
  readonly log: Pick<Log, 'error'>
  readonly count: CountEvent
}

const BATCH_MAX = 100
/** `setTimeout` overflows above 2^31 − 1 ms (24.8 days), so longer delays are re-armed. */
const SLEEP_MS_MAX = 86_400_000

export function createScheduler(options: SchedulerOptions): Scheduler {
  const { registry, clock, log, count } = options
  const tasks = createTaskRunner(options)
  let cancel = (): void => {}
  let unwatch = (): void => {}
  let isRunning = false
  let isRequested = false
  let isStopped = false

  async function run(): Promise<void> {
    if (isRunning) {
      isRequested = true
      return
    }
    isRunning = true
    try {
      do {
        isRequested = false
        cancel()
        const wakeMs = await runDue(options, tasks, () => isStopped)
        if (!isStopped && wakeMs !== null)
          cancel = clock.after(Math.min(SLEEP_MS_MAX, Math.max(0, wakeMs - clock.nowMs())), wake)
      } while (isRequested && !isStopped)
    } finally {
      isRunning = false
    }
  }

  function wake(): void {
    void run().catch((cause: unknown) => {
      count('due_failed')
      log.error({ err: cause }, 'scheduled tasks could not be read; none runs until the retry succeeds')
      if (!isStopped) cancel = clock.after(retryDelayMs(cause, 1), wake)
    })
  }

  return {
    async start() {
      unwatch = registry.watch(await registry.end(), ({ document, removed }) => {
        if (document.kind === DUE_KIND && !removed) wake()
      })
      await run()
    },
    stop() {
      isStopped = true
      unwatch()
      cancel()
    },
  }
}

/** Runs the due tasks. Returns the time of the next one, or null if none is left. */
async function runDue(
  { registry, clock }: SchedulerOptions,
  tasks: TaskRunner,
  isStopped: () => boolean,
): Promise<number | null> {
  let wakeMs: number | null = null
  for await (const task of listAll(registry, DUE_KIND, { limit: BATCH_MAX })) {
    if (isStopped()) return null
    if (tasks.readyAtMs(task) <= clock.nowMs() && (await tasks.run(task))) continue
    wakeMs = Math.min(wakeMs ?? Infinity, tasks.readyAtMs(task))
    // The list is ordered by time, so all following tasks are due later.
    if (task.body.atMs > clock.nowMs()) return wakeMs
  }
  return wakeMs
}

interface TaskRunner {
  /** Returns the due time, or the time of the next retry if the task has failed. */
  readyAtMs(task: Document<DueTime>): number
  /** Returns whether the task is done. */
  run(task: Document<DueTime>): Promise<boolean>
}

function createTaskRunner({ registry, handlers, clock, log, count }: SchedulerOptions): TaskRunner {
  /** Failed tasks by id: number of failures, and time of the next retry. */
  const failed = new Map<string, { readonly times: number; readonly untilMs: number; readonly pauseMs: number }>()

  async function attempt({ id, tenant, revision, body }: Document<DueTime>): Promise<void> {
    try {
      await handlers[body.kind]?.(body)
      await registry.commit({ tenant, consumer: 'system' }, 'due.done', [
        { kind: DUE_KIND, id, tenant, expected: revision, body: null },
      ])
    } catch (cause) {
      // The command that the handler ran, or another one, may have removed the task itself.
      if (cause instanceof RevisionConflict && (await registry.get(DUE_KIND, id)) === null) return
      throw cause
    }
  }

  return {
    readyAtMs({ id, body }) {
      const { untilMs = 0, pauseMs = 0 } = failed.get(id) ?? {}
      const nowMs = clock.nowMs()
      return Math.max(body.atMs, nowMs + restOfPause(untilMs, pauseMs, nowMs))
    },
    async run(task) {
      const { id, body } = task
      try {
        await attempt(task)
        failed.delete(id)
        return true
      } catch (cause) {
        const times = (failed.get(id)?.times ?? 0) + 1
        const pauseMs = retryDelayMs(cause, times)
        failed.set(id, { times, untilMs: clock.nowMs() + pauseMs, pauseMs })
        count('due_failed')
        log.error(
          { err: cause, due: body, times },
          'scheduled task failed; it stays in the registry, retrying with back-off',
        )
        return false
      }
    },
  }
}
