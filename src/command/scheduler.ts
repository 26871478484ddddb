/**
 * Sends what is due, when it is due: one scheduler for all due times of the registry.
 *
 * It hears of new ones from the change feed and sleeps until the earliest. A due time is removed when its
 * handler has done its work: what fell due while the process was down, or what a crash has cut off, is
 * done at the next start, so handlers must bear being asked twice. One that fails is tried again with
 * growing pauses, and holds up nothing else.
 */

import { exponentialDelayMs } from '../runtime/backoff.ts'
import type { Clock } from '../runtime/clock.ts'
import type { Log } from '../runtime/log.ts'
import { RevisionConflict, type Document, type Registry } from '../store/registry.ts'
import { isFromDisk, UNWRITABLE_RETRY_MS } from '../store/unwritable.ts'
import { DUE_KIND, type DueTime } from './due-times.ts'

export type DueHandlers = Readonly<Record<string, (due: DueTime) => Promise<void>>>

export interface Scheduler {
  /** Does what fell due meanwhile, and goes on by itself. */
  start(): Promise<void>
  stop(): void
}

export interface SchedulerOptions {
  readonly registry: Registry
  readonly handlers: DueHandlers
  readonly clock: Clock
  readonly log: Pick<Log, 'error'>
  readonly count: (reason: string) => void
}

const AT_ONCE = 100
const RETRY = { firstMs: 5_000, maxMs: 3_600_000 }
/** Timers of the platform end at 24.8 days. */
const SLEEP_MS_MAX = 86_400_000

export function createScheduler({ registry, handlers, clock, log, count }: SchedulerOptions): Scheduler {
  /** By id: how often it has failed, and when it is tried again. */
  const failed = new Map<string, { readonly times: number; readonly untilMs: number }>()
  let cancel = (): void => {}
  let unwatch = (): void => {}
  let isRunning = false
  let isAsked = false
  let isStopped = false

  async function run(): Promise<void> {
    if (isRunning) {
      isAsked = true
      return
    }
    isRunning = true
    try {
      do {
        isAsked = false
        cancel()
        const wakeMs = await sendDue()
        if (!isStopped && wakeMs !== null)
          cancel = clock.after(Math.min(SLEEP_MS_MAX, Math.max(0, wakeMs - clock.nowMs())), wake)
      } while (isAsked && !isStopped)
    } finally {
      isRunning = false
    }
  }

  /** When to look again; null: there is nothing to wait for. */
  async function sendDue(): Promise<number | null> {
    let wakeMs: number | null = null
    for (let after = ''; ;) {
      const page = await registry.list(DUE_KIND, { limit: AT_ONCE, ...(after !== '' && { after }) })
      for (const due of page) {
        if (isStopped) return null
        const atMs = Math.max(due.body.atMs, failed.get(due.id)?.untilMs ?? 0)
        if (atMs > clock.nowMs()) {
          wakeMs = Math.min(wakeMs ?? Infinity, atMs)
          // In the order of their times: those behind are due later still.
          if (due.body.atMs > clock.nowMs()) return wakeMs
        } else if (!(await send(due))) wakeMs = Math.min(wakeMs ?? Infinity, failed.get(due.id)?.untilMs ?? Infinity)
      }
      if (page.length < AT_ONCE) return wakeMs
      after = page.at(-1)?.id ?? ''
    }
  }

  async function send({ id, tenant, revision, body }: Document<DueTime>): Promise<boolean> {
    try {
      await handlers[body.kind]?.(body)
      await registry.commit({ tenant, consumer: 'system' }, 'due.done', [
        { kind: DUE_KIND, id, tenant, expected: revision, body: null },
      ])
      failed.delete(id)
      return true
    } catch (cause) {
      // The command that it led to has removed it itself.
      if (cause instanceof RevisionConflict) return true
      const times = (failed.get(id)?.times ?? 0) + 1
      const pauseMs = isFromDisk(cause) ? UNWRITABLE_RETRY_MS : exponentialDelayMs(times, RETRY)
      failed.set(id, { times, untilMs: clock.nowMs() + pauseMs })
      count('due_failed')
      log.error({ err: cause, due: body, times }, 'something that is due could not be done; it is tried again')
      return false
    }
  }

  function wake(): void {
    void run().catch((cause: unknown) => {
      count('due_failed')
      log.error({ err: cause }, 'due tasks could not be read; retrying')
      if (!isStopped) cancel = clock.after(RETRY.firstMs, wake)
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
