/**
 * Reads client, scopes and person from the claims of a federated token. The provider's registration names the claims.
 *
 * Each function returns null if its claim has the wrong form. Names go into records and headers, so their length is
 * bounded and lone surrogates, which no encoding can carry, are refused.
 */

import type { ProviderClaims } from '../../boundary/plan/provider-plan.ts'

type Claims = Readonly<Record<string, unknown>>

/** OpenID Connect Core, 2: a subject has at most 255 characters. */
const NAME_LENGTH_MAX = 255

export function readClient(claims: Claims, { clientId }: ProviderClaims): string | null {
  const value = clientId === '' ? (readOwn(claims, 'client_id') ?? readOwn(claims, 'azp')) : readOwn(claims, clientId)
  return isName(value) && value !== '' ? value : null
}

/** Takes names separated by spaces, or a list of names; no scopes if the claim is missing. */
export function readScopes(claims: Claims, { scope }: ProviderClaims): readonly string[] | null {
  const value = scope === '' ? (readOwn(claims, 'scope') ?? readOwn(claims, 'scp')) : readOwn(claims, scope)
  if (value === undefined) return []
  if (typeof value === 'string') return value.split(' ')
  return Array.isArray(value) && value.every((each) => typeof each === 'string') ? value : null
}

/** Returns `''` if the client calls for itself. */
export function readPerson(claims: Claims, { person }: ProviderClaims, clientId: string): string | null {
  const value = readOwn(claims, person === '' ? 'sub' : person) ?? ''
  if (!isName(value)) return null
  return person === '' && value === clientId ? '' : value
}

/** Ignores members that every object inherits. */
function readOwn(claims: Claims, name: string): unknown {
  return Object.hasOwn(claims, name) ? claims[name] : undefined
}

function isName(value: unknown): value is string {
  return typeof value === 'string' && value.length <= NAME_LENGTH_MAX && value.isWellFormed()
}
