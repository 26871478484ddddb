/**
 * Grants of credentials: looks up those of new credentials, and applies changed ones to callers that verified
 * before.
 */

import type { CountEvent } from '../../foundation/runtime/event-reasons.ts'
import type { CredentialName, Grant } from '../../boundary/plan/grant.ts'
import type { CallerCache } from './caller-cache.ts'
import { createRefusal, type AuthenticationResult, type Refusal } from './credential-refusal.ts'
import { GrantsBusy, type GrantCache } from './grant-cache.ts'
import { withGrant, type KnownCaller } from './known-caller.ts'

export class GrantLookup {
  readonly #grants: GrantCache
  readonly #count: CountEvent

  constructor(grants: GrantCache, count: CountEvent) {
    this.#grants = grants
    this.#count = count
  }

  /** Returns the result of `use` on the grant, or `unknown` if no credential has this name. */
  find(name: CredentialName, unknown: Refusal, use: (grant: Grant) => AuthenticationResult): AuthenticationResult {
    const grants = this.#grants
    const cached = grants.cached(name)
    if (cached !== undefined) return cached === null ? unknown : use(cached)
    return grants.fetch(name).then(
      (grant) => (grant === null ? unknown : use(grants.latest(grant.credential) ?? grant)),
      (cause: unknown): Refusal => {
        this.#count(cause instanceof GrantsBusy ? 'lookups_busy' : 'lookup_failed')
        return createRefusal('unavailable', 'The credential cannot be looked up at the moment.')
      },
    )
  }

  /** Returns the cached caller with the latest version of its grant; `undefined` if either is not cached. */
  recall(callers: CallerCache<KnownCaller>, text: string): KnownCaller | undefined {
    const caller = callers.get(text)
    if (caller === undefined) return undefined
    const latest = this.#grants.latest(caller.grant.credential)
    if (latest === caller.grant) return caller
    if (latest === undefined) return undefined
    const updated = withGrant(caller, latest)
    callers.set(text, updated)
    return updated
  }
}
