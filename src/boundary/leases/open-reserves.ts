/** Opens what was granted for calls, after the journal has been written. */

import type { NodeMoment } from './lease-cell.ts'
import type { LeaseCounter } from './lease-counter.ts'
import type { LeaseJournal } from './lease-journal.ts'

/** Writes the claims of all counters that differ from the journal, then opens what calls need. Throws if the journal cannot be written. */
export function openReserves(
  counters: readonly LeaseCounter[],
  journal: LeaseJournal,
  { monotonicMs }: NodeMoment,
): void {
  const openings = counters.map((counter) => ({ counter, calls: counter.openable }))
  const claims = openings.flatMap(({ counter, calls }) => counter.claimWith(calls) ?? [])
  const changed = claims.filter(({ key, startMs, claim }) => journal.claimIn(key, startMs) !== claim)
  journal.append(changed, monotonicMs)
  for (const { counter, calls } of openings) counter.open(calls)
}

/** Writes the claims of counters of which calls have used more than they leased. Throws if the journal cannot be written. */
export function claimOverdrafts(
  counters: Iterable<LeaseCounter>,
  journal: LeaseJournal,
  { monotonicMs }: NodeMoment,
): void {
  const claims = []
  for (const counter of counters) {
    const entry = counter.claimWith(0)
    if (entry !== null && entry.claim > journal.claimIn(entry.key, entry.startMs)) claims.push(entry)
  }
  journal.append(claims, monotonicMs)
}
