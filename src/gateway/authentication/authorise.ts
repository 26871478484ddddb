/**
 * Decides whether a caller may call an operation, by the alternatives of the operation's `security`. One alternative
 * suffices; all credentials of an alternative are required together.
 *
 * A token needs the scopes of the alternative. A key needs a subscription with the scopes that the operation requires
 * of tokens. The proxy limits both: its allowed scopes must include all scopes of a token, and the scopes that are
 * required of a key. While the API has a canary, a token may have the scopes of either revision, but opens only what
 * the revision that serves the call allows. A product's credential is valid only at proxies that are still members of
 * the product. This code runs on every call and allocates nothing.
 */

import type { Caller } from '../../boundary/plan/caller.ts'
import type { SecurityAlternative } from '../../boundary/plan/route-plan.ts'

export interface AuthoriseScope {
  readonly allowedScopes: ReadonlySet<string>
  /** Scopes that a token may have: the same set, unless the API has a canary. */
  readonly heldScopes: ReadonlySet<string>
  readonly plan: { readonly tenant: string; readonly memberOfProductIds: readonly string[] }
}

/** Returns null if the caller may call. `handle-call.ts` decides calls without a credential. */
export function authorise(
  security: readonly SecurityAlternative[],
  caller: Caller,
  scope: AuthoriseScope,
): 'operation_forbidden' | 'subscription_required' | null {
  if (!isSubscribed(caller, scope)) return 'subscription_required'
  // An operation that needs no credential does not refuse a caller that sends one.
  if (security.length === 0) return null
  if (caller.method === 'token') {
    for (const held of caller.scopes) if (!scope.heldScopes.has(held)) return 'operation_forbidden'
  }
  for (let index = 0; index < security.length; index++) if (satisfies(security[index]!, caller, scope)) return null
  return 'operation_forbidden'
}

function isSubscribed({ grant }: Caller, { plan }: AuthoriseScope): boolean {
  if (grant.tenant !== plan.tenant) return false
  return grant.apiProductId === '' || plan.memberOfProductIds.includes(grant.apiProductId)
}

function satisfies(
  { tokenScopes, apiKey, keyScopes }: SecurityAlternative,
  caller: Caller,
  scope: AuthoriseScope,
): boolean {
  if (tokenScopes !== null && (caller.method !== 'token' || !opens(caller, tokenScopes, scope))) return false
  if (!apiKey) return tokenScopes !== null
  const key = caller.method === 'key' ? caller : caller.key
  return (
    key !== undefined &&
    isSubscribed(key, scope) &&
    holds(key.scopes, keyScopes) &&
    holds(scope.allowedScopes, keyScopes)
  )
}

function opens(caller: Caller, needed: readonly string[], { allowedScopes, heldScopes }: AuthoriseScope): boolean {
  if (!holds(caller.scopes, needed)) return false
  // Otherwise all scopes of the token are allowed.
  return heldScopes === allowedScopes || holds(allowedScopes, needed)
}

function holds(scopes: ReadonlySet<string>, needed: readonly string[]): boolean {
  for (let index = 0; index < needed.length; index++) if (!scopes.has(needed[index]!)) return false
  return true
}
