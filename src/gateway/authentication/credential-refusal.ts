/** Reason why the gateway refuses the credential of a call. */

import type { Caller } from '../../boundary/plan/caller.ts'
import type { Grant } from '../../boundary/plan/grant.ts'

export interface Refusal {
  readonly code: 'credential_missing' | 'credential_invalid' | 'subscription_required' | 'unavailable'
  /** Verified grant that the call is attributed to; null if the credential did not verify. */
  readonly grant: Grant | null
  /** Person that a verified token names besides its consumer; `''` if none. */
  readonly person: string
  readonly detail: string
}

/** A promise only if the credential must be verified or looked up first. */
export type AuthenticationResult = Caller | Refusal | Promise<Caller | Refusal>

export function createRefusal(code: Refusal['code'], detail: string, grant: Grant | null = null, person = ''): Refusal {
  return { code, grant, person, detail }
}

/** Refuses a credential that does not verify; the call is attributed to no consumer. */
export function refuseUnverified(detail: string): Refusal {
  return createRefusal('credential_invalid', detail)
}
