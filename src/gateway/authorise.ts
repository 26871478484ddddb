/**
 * Whether a caller may call an operation: the alternatives of the operation's `security`, any of which
 * opens it.
 *
 * A token needs the scopes of the alternative; a key needs a subscription that holds the scopes which
 * the operation asks of tokens. Whatever a token carries must lie within what the proxy allows, and a
 * product's credential opens only proxies that are still members of the product.
 */

import type { Caller } from '../catalogue/caller.ts'
import type { SecurityAlternative } from '../catalogue/route-plan.ts'

export interface AuthoriseScope {
  readonly allowedScopes: ReadonlySet<string>
  readonly plan: { readonly tenant: string; readonly memberOfProductIds: readonly string[] }
}

export function authorise(
  security: readonly SecurityAlternative[],
  caller: Caller,
  { allowedScopes, plan }: AuthoriseScope,
  /** A key was sent beside the token, and verified. */
  hasKey: boolean,
): 'operation_forbidden' | 'subscription_required' | null {
  const { grant, method, scopes } = caller
  if (grant.tenant !== plan.tenant) return 'subscription_required'
  if (grant.apiProductId !== '' && !plan.memberOfProductIds.includes(grant.apiProductId)) return 'subscription_required'
  if (method === 'token') for (const scope of scopes) if (!allowedScopes.has(scope)) return 'operation_forbidden'
  if (security.length === 0) return null
  for (let index = 0; index < security.length; index++) {
    if (opens(security[index]!, method, scopes, hasKey)) return null
  }
  return 'operation_forbidden'
}

function opens(
  alternative: SecurityAlternative,
  method: Caller['method'],
  scopes: ReadonlySet<string>,
  hasKey: boolean,
): boolean {
  if (method === 'token') {
    return alternative.tokenScopes !== null && (!alternative.apiKey || hasKey) && holds(scopes, alternative.tokenScopes)
  }
  return alternative.apiKey && alternative.tokenScopes === null && holds(scopes, alternative.keyScopes)
}

function holds(scopes: ReadonlySet<string>, needed: readonly string[]): boolean {
  for (let index = 0; index < needed.length; index++) if (!scopes.has(needed[index]!)) return false
  return true
}
