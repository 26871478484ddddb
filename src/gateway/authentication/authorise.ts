/**
 * Whether a caller may call an operation: the alternatives of the operation's `security`, any of which
 * opens it; what one alternative names is needed together.
 *
 * A token needs the scopes of the alternative; a key needs a subscription that holds the scopes which
 * the operation asks of tokens. Neither opens more than the proxy allows: all that a token carries must
 * lie within that, and so must what is asked of a key. A product's credential opens only proxies that
 * are still members of the product. Runs on every call: nothing is allocated.
 */

import type { Caller } from '../../plan/caller.ts'
import type { SecurityAlternative } from '../../plan/route-plan.ts'

export interface AuthoriseScope {
  readonly allowedScopes: ReadonlySet<string>
  readonly plan: { readonly tenant: string; readonly memberOfProductIds: readonly string[] }
}

/** Null where the caller may. A call without a credential is decided before: `security` is empty or it is missing. */
export function authorise(
  security: readonly SecurityAlternative[],
  caller: Caller,
  scope: AuthoriseScope,
): 'operation_forbidden' | 'subscription_required' | null {
  if (!isSubscribed(caller, scope)) return 'subscription_required'
  // Whoever could call without a credential is not refused for having one.
  if (security.length === 0) return null
  if (caller.method === 'token') {
    for (const held of caller.scopes) if (!scope.allowedScopes.has(held)) return 'operation_forbidden'
  }
  for (let index = 0; index < security.length; index++) if (opens(security[index]!, caller, scope)) return null
  return 'operation_forbidden'
}

function isSubscribed({ grant }: Caller, { plan }: AuthoriseScope): boolean {
  if (grant.tenant !== plan.tenant) return false
  return grant.apiProductId === '' || plan.memberOfProductIds.includes(grant.apiProductId)
}

function opens(
  { tokenScopes, apiKey, keyScopes }: SecurityAlternative,
  caller: Caller,
  scope: AuthoriseScope,
): boolean {
  if (tokenScopes !== null && (caller.method !== 'token' || !holds(caller.scopes, tokenScopes))) return false
  if (!apiKey) return tokenScopes !== null
  const key = caller.method === 'key' ? caller : caller.key
  return (
    key !== undefined &&
    isSubscribed(key, scope) &&
    holds(key.scopes, keyScopes) &&
    holds(scope.allowedScopes, keyScopes)
  )
}

function holds(scopes: ReadonlySet<string>, needed: readonly string[]): boolean {
  for (let index = 0; index < needed.length; index++) if (!scopes.has(needed[index]!)) return false
  return true
}
