/** Applies the grants of a reply to the counters of a node, and reads the calls with which a counter begins. */

import { LEASE_CELL, type NodeMoment } from './lease-cell.ts'
import type { LeaseCounter } from './lease-counter.ts'
import type { LeaseJournal } from './lease-journal.ts'
import type { GrantedReply, LeaseItem, LeaseMessage } from './lease-messages.ts'
import type { LeasePlace } from './lease-place.ts'
import type { LeaseMoment } from './server-clock.ts'

export interface UnderWay {
  readonly message: LeaseMessage
  readonly sent: LeaseMoment
  /** The counter of each item and its version; null for an item of an earlier window. */
  readonly counters: readonly ({ readonly counter: LeaseCounter; readonly version: number } | null)[]
}

/** Adds the grants to their counters, unless a lease was lowered since the request. Returns those counters. */
export function applyGrants(
  items: readonly LeaseItem[],
  { sent, counters }: UnderWay,
  { grants }: GrantedReply,
  now: NodeMoment,
): readonly LeaseCounter[] {
  return items.flatMap((item, index) => {
    const { counter, version } = counters[index] ?? { counter: null, version: 0 }
    const grant = grants[index]
    if (counter?.version !== version || grant === undefined) return []
    counter.confirm(item, sent, now)
    counter.apply(item, grant, sent, now)
    return [counter]
  })
}

/** Returns the calls that were admitted in a window: those of the cell if a dropped counter had it, otherwise those of the journal. */
export function admittedIn({ cell, at }: LeasePlace, journal: LeaseJournal): Pick<LeaseJournal, 'claimIn'> {
  const window = cell[at + LEASE_CELL.window]
  return {
    // The journal also claims what was returned. A clear cell has no window.
    claimIn: (key, startMs) =>
      window !== 0 && window === startMs ? cell[at + LEASE_CELL.used]! : journal.claimIn(key, startMs),
  }
}
