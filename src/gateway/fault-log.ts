/** Logs faults of a gateway thread with their stacks, each message at most once in ten seconds, with the number of repetitions. */

import type { Clock } from '../runtime/clock.ts'
import type { ToHost } from './messages.ts'

export interface FaultLog {
  report(message: string, cause: unknown): void
}

export interface FaultLogOptions {
  readonly clock: Pick<Clock, 'nowMs'>
  readonly tell: (message: ToHost) => void
}

const EVERY_MS = 10_000

export function createFaultLog({ clock, tell }: FaultLogOptions): FaultLog {
  const last = new Map<string, { atMs: number; repeated: number }>()

  return {
    report(message, cause) {
      const nowMs = clock.nowMs()
      const before = last.get(message)
      if (before !== undefined && nowMs - before.atMs < EVERY_MS) return void before.repeated++
      last.set(message, { atMs: nowMs, repeated: 0 })
      const stack = cause instanceof Error ? (cause.stack ?? cause.message) : String(cause)
      const repeated = before === undefined || before.repeated === 0 ? '' : ` (${before.repeated} more since the last)`
      tell({ type: 'log', level: 'error', message, detail: stack + repeated })
    },
  }
}
