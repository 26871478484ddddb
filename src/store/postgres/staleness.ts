/**
 * How long ago a node was up to date.
 *
 * Each report returns the end of the change feed at that time. Once the node serves that position, it was up to date when it sent the
 * report, so that a node which reports and makes no progress becomes stale, too. Time is that of the monotonic clock, which stands
 * still while a machine is suspended, or of the system clock, whichever says more.
 */

import type { Clock } from '../../runtime/clock.ts'

export interface Staleness {
  /** Returns a mark for a report that is about to be sent. */
  now(): Mark
  /** A report was answered with the end of the feed. */
  reported(sentAt: Mark, end: number): void
  serve(position: number): void
  /** Infinite before the first report. */
  staleMs(): number
}

interface Mark {
  readonly at: number
  readonly systemMs: number
}

/** Reports of a node that makes no progress; later ones are not needed, because another report follows. */
const WAITING_MAX = 100

export function createStaleness(clock: Pick<Clock, 'nowMs'>): Staleness {
  let position = 0
  let fresh: Mark | null = null
  let waiting: { readonly sentAt: Mark; readonly end: number }[] = []

  return {
    now: () => ({ at: performance.now(), systemMs: clock.nowMs() }),
    reported(sentAt, end) {
      if (end <= position) fresh = sentAt
      else if (waiting.length < WAITING_MAX) waiting.push({ sentAt, end })
    },
    serve(next) {
      position = next
      const reached = waiting.filter(({ end }) => end <= position)
      waiting = waiting.filter(({ end }) => end > position)
      const last = reached.at(-1)
      if (last !== undefined && (fresh === null || last.sentAt.at > fresh.at)) fresh = last.sentAt
    },
    staleMs() {
      if (fresh === null) return Infinity
      return Math.max(0, performance.now() - fresh.at, clock.nowMs() - fresh.systemMs)
    },
  }
}
