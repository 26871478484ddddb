/** Logs when the clock of this node and that of PostgreSQL disagree, and when they agree again. */

import type { CountEvent } from '../../foundation/runtime/event-reasons.ts'
import type { Log } from '../../foundation/runtime/log.ts'

export interface ClockWatchOptions {
  readonly log: Pick<Log, 'info' | 'warn'>
  readonly count: CountEvent
}

/** Nodes whose clocks agree within a second order what they make closely enough. */
const WRONG_MS = 1_000
/** Lower, so that a clock at the bound is not reported again and again. */
const RIGHT_MS = 500

/** Returns a function that receives each measured offset. */
export function createClockWatch({ log, count }: ClockWatchOptions): (offsetMs: number) => void {
  let isWrong = false
  return (offsetMs) => {
    const distanceMs = Math.abs(offsetMs)
    if (isWrong ? distanceMs > RIGHT_MS : distanceMs <= WRONG_MS) return
    isWrong = !isWrong
    if (!isWrong) return log.info({ offsetMs }, 'the clock of this node agrees with that of PostgreSQL again')
    count('node_clock_differs')
    log.warn(
      { offsetMs },
      'the clock of this node differs from that of PostgreSQL by more than a second; set both by NTP',
    )
  }
}
