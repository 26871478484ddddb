/** Decides which revision serves a call while an API has a canary. */

import type { Caller } from '../boundary/plan/caller.ts'
import type { Authenticator, Refusal } from './authentication/authenticate.ts'
import { authorise } from './authentication/authorise.ts'
import { createRefusal, type AuthenticationResult } from './authentication/credential-refusal.ts'
import type { CompiledRevision } from './call/revision.ts'
import type { RequestHeaders } from './headers/upstream-request.ts'

/** Returns the canary for the callers that it serves. A call without a valid credential or a subscription is the active revision's. */
export function chooseRevision(active: CompiledRevision, result: Caller | Refusal): CompiledRevision {
  const { canary } = active
  if (canary === null || 'code' in result || authorise([], result, active) !== null) return active
  return canary.matches(result.grant) ? canary.revision : active
}

/** Authenticates a call before its revision is chosen. A fault is reported; the credential cannot be verified then. */
export function authenticateFirst(
  authenticator: Pick<Authenticator, 'authenticate'>,
  { authorization, apiKey }: RequestHeaders,
  api: string,
  onFault: (cause: unknown) => void,
): AuthenticationResult {
  const fail = (cause: unknown): Refusal => {
    onFault(cause)
    return createRefusal('unavailable', 'The credential cannot be verified at the moment.')
  }
  try {
    const result = authenticator.authenticate(authorization, apiKey, api)
    return result instanceof Promise ? result.catch(fail) : result
  } catch (cause) {
    return fail(cause)
  }
}
