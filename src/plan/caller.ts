/** Who stands behind a verified credential: what the stations after authentication know of the caller. */

import type { Grant } from './grant.ts'

export interface Caller {
  readonly grant: Grant
  readonly method: 'token' | 'key'
  /** The API the credential is good for: `aud` of a token of ours; for others and for keys the API that was called. */
  readonly api: string
  /** Scopes of the token, or those of the key's subscription. */
  readonly scopes: ReadonlySet<string>
  /** The id of the agent that calls; `''` when no agent is involved. */
  readonly agent: string
  /** The person in whose name the consumer calls, itself or through an agent; `''` when none. */
  readonly person: string
  /** When the token ends; `Infinity` for a key that does not. */
  readonly expiresAtMs: number
  /** The caller of the key that came with the token and verified as well. The token names the party. */
  readonly key?: Caller
}
