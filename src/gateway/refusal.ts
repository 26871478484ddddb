/** Why a caller was not let in by its credential. */

import type { Grant } from '../catalogue/grant.ts'

export interface Refusal {
  readonly code: 'credential_missing' | 'credential_invalid' | 'subscription_required' | 'unavailable'
  /** The known party behind a refused credential, never one that is only claimed. */
  readonly grant: Grant | null
  readonly detail: string
}
