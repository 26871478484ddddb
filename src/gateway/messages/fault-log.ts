/** Logs faults of a gateway thread with their stacks, each message at most once in ten seconds, with the number of repetitions. */

import type { Clock } from '../../foundation/runtime/clock.ts'
import { createLogLimit } from '../../foundation/runtime/log-limit.ts'
import type { ToMainThread } from './messages.ts'

export interface FaultLog {
  report(message: string, cause: unknown): void
}

export interface FaultLogOptions {
  readonly clock: Pick<Clock, 'nowMs'>
  readonly send: (message: ToMainThread) => void
}

/** The log of the main thread has the same limit; this one saves the messages to it. */
export function createFaultLog({ clock, send }: FaultLogOptions): FaultLog {
  const { limit } = createLogLimit(clock)

  return {
    report(message, cause) {
      limit(message, (repeated) => {
        const stack = cause instanceof Error ? (cause.stack ?? cause.message) : String(cause)
        const more = repeated === 0 ? '' : ` (${repeated} more since the last)`
        send({ type: 'log', level: 'error', message, detail: stack + more })
      })
    },
  }
}
