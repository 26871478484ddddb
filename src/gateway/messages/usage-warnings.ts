/** Counts and logs responses whose units could not be read, each operation at most once in ten seconds. */

import type { Attribution } from '../../foundation/domain/attribution.ts'
import type { Clock } from '../../foundation/runtime/clock.ts'
import type { CountEvent } from '../../foundation/runtime/event-reasons.ts'
import { createLogLimit } from '../../foundation/runtime/log-limit.ts'
import type { ToMainThread } from './messages.ts'

export interface UsageWarningsOptions {
  readonly clock: Pick<Clock, 'nowMs'>
  readonly count: CountEvent
  readonly send: (message: ToMainThread) => void
}

const UNITS_UNKNOWN = 'the units of a response could not be read; the call is charged its reserve'

/** `fault` is never a value that the backend has sent. */
export type WarnOfUsage = (attribution: Attribution, fault: string) => void

export function createUsageWarnings({ clock, count, send }: UsageWarningsOptions): WarnOfUsage {
  const { limit } = createLogLimit(clock)

  return ({ api, operation }, fault) => {
    count('units_unknown')
    limit(`${api} ${operation} ${fault}`, (repeated) => {
      const more = repeated === 0 ? '' : ` (${repeated} more since the last)`
      send({ type: 'log', level: 'warn', message: UNITS_UNKNOWN, detail: `${fault}: ${api} ${operation}${more}` })
    })
  }
}
