/** Why a caller was not let in by its credential. */

import type { Grant } from '../../plan/grant.ts'

export interface Refusal {
  readonly code: 'credential_missing' | 'credential_invalid' | 'subscription_required' | 'unavailable'
  /** The known party behind a refused credential, never one that is only claimed. */
  readonly grant: Grant | null
  /** The person that a verified token names beside that party; `''` when none. */
  readonly person: string
  readonly detail: string
}

export function refusal(code: Refusal['code'], detail: string, grant: Grant | null = null, person = ''): Refusal {
  return { code, grant, person, detail }
}

/** Nobody is known by a credential that does not verify. */
export function invalid(detail: string): Refusal {
  return refusal('credential_invalid', detail)
}
