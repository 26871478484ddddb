/** Decides which revision serves a call while an API has a canary. */

import type { Caller } from '../plan/caller.ts'
import type { Refusal } from './authentication/authenticate.ts'
import { authorise } from './authentication/authorise.ts'
import type { CompiledCanary, CompiledRevision } from './call/revision.ts'

/** Returns the canary for the callers that it serves. A call without a valid credential or a subscription is the active revision's. */
export function chooseRevision(
  active: CompiledRevision,
  canary: CompiledCanary,
  result: Caller | Refusal,
): CompiledRevision {
  if ('code' in result || authorise([], result, active) !== null) return active
  return canary.matches(result.grant) ? canary.revision : active
}
