/**
 * Decides whether a canary fails clearly more often than the active revision.
 *
 * Few calls decide nothing, and neither does a difference that chance makes: while both fail as often, less than one of a thousand
 * comparisons finds a failure. A canary that fails counts as failing until it is half as bad, so that a share that varies around a
 * threshold is one failure.
 */

import type { RevisionMeasure } from '../../storage/store/service-level-store.ts'

export type CountedCalls = Pick<RevisionMeasure, 'calls' | 'unanswered' | 'errors'>

/** Calls of a revision below which its share of failed calls is not known. */
export const CALLS_MIN = 20
/** Calls of the canary that failed. */
const FAILURES_MIN = 5
/** By how much its share of failed calls is higher. */
const DIFFERENCE_MIN = 0.05
const DIFFERENCE_KEPT = 0.025
/** The same in standard errors of the difference. */
const STANDARD_ERRORS_MIN = 4

/** `active`: null if nothing is known about the active revision; it does not fail then. */
export function isCanaryFailing(canary: CountedCalls, active: CountedCalls | null, wasFailing: boolean): boolean {
  if (canary.calls < CALLS_MIN) return false
  const difference = shareOf(canary) - (active === null ? 0 : shareOf(active))
  if (wasFailing) return difference >= DIFFERENCE_KEPT
  if (failuresOf(canary) < FAILURES_MIN || difference < DIFFERENCE_MIN) return false
  return active === null || difference >= STANDARD_ERRORS_MIN * standardErrorOf(canary, active)
}

/** Standard error of the difference between two shares if both revisions failed equally. */
function standardErrorOf(canary: CountedCalls, active: CountedCalls): number {
  const share = (failuresOf(canary) + failuresOf(active)) / (canary.calls + active.calls)
  return Math.sqrt(share * (1 - share) * (1 / canary.calls + 1 / active.calls))
}

function failuresOf({ unanswered, errors }: CountedCalls): number {
  return unanswered + errors
}

function shareOf(counted: CountedCalls): number {
  return failuresOf(counted) / counted.calls
}
