/**
 * How long ago a node was up to date.
 *
 * Each report returns the end of the change feed at that time. Once the node serves that position, it was up to date when it sent the
 * report, so that a node which reports and makes no progress becomes stale, too. Time is that of the monotonic clock, which stands
 * still while a machine is suspended, or of the system clock, whichever says more.
 */

import { readMoment, type Moment, type ReadMoment } from '../../../foundation/runtime/freshness.ts'

export interface Staleness {
  /** Returns a mark for a report that is about to be sent. */
  now(): Moment
  /** A report was answered with the end of the feed. */
  reported(sentAt: Moment, end: number): void
  serve(position: number): void
  /** Infinite before the first report. */
  staleMs(): number
}

export interface StalenessOptions {
  readonly read?: ReadMoment
  /** The node was up to date at this moment; later than the one before. */
  readonly onFresh?: (since: Moment) => void
}

/** Reports of a node that makes no progress; later ones are not needed, because another report follows. */
const WAITING_MAX = 100

export function createStaleness({ read = readMoment, onFresh = () => {} }: StalenessOptions = {}): Staleness {
  let position = 0
  let fresh: Moment | null = null
  let waiting: { readonly sentAt: Moment; readonly end: number }[] = []

  function refresh(sentAt: Moment): void {
    if (fresh !== null && sentAt.monotonicMs <= fresh.monotonicMs) return
    fresh = sentAt
    onFresh(sentAt)
  }

  return {
    now: read,
    reported(sentAt, end) {
      if (end <= position) refresh(sentAt)
      else if (waiting.length < WAITING_MAX) waiting.push({ sentAt, end })
    },
    serve(next) {
      position = next
      const last = waiting.findLast(({ end }) => end <= position)
      waiting = waiting.filter(({ end }) => end > position)
      if (last !== undefined) refresh(last.sentAt)
    },
    staleMs() {
      if (fresh === null) return Infinity
      const { monotonicMs, systemMs } = read()
      return Math.max(0, monotonicMs - fresh.monotonicMs, systemMs - fresh.systemMs)
    },
  }
}
