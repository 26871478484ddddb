/**
 * Who calls and with what, from the claims of a federated token, by the names that its provider is
 * registered with.
 *
 * Null where a claim has not the form that it should have. Names go into records and headers: they are
 * bounded, and text that no encoding can carry (half of a surrogate pair) is refused.
 */

import type { ProviderClaims } from '../../plan/provider-plan.ts'

type Claims = Readonly<Record<string, unknown>>

/** OpenID Connect Core, 2: a subject has at most 255 characters. */
const NAME_LENGTH_MAX = 255

export function readClient(claims: Claims, { clientId }: ProviderClaims): string | null {
  const value = clientId === '' ? (own(claims, 'client_id') ?? own(claims, 'azp')) : own(claims, clientId)
  return isName(value) && value !== '' ? value : null
}

/** Names parted by spaces, or a list of names; without the claim none. */
export function readScopes(claims: Claims, { scope }: ProviderClaims): readonly string[] | null {
  const value = scope === '' ? (own(claims, 'scope') ?? own(claims, 'scp')) : own(claims, scope)
  if (value === undefined) return []
  if (typeof value === 'string') return value.split(' ')
  return Array.isArray(value) && value.every((each) => typeof each === 'string') ? value : null
}

/** `''` where the client calls for itself. */
export function readPerson(claims: Claims, { person }: ProviderClaims, clientId: string): string | null {
  const value = own(claims, person === '' ? 'sub' : person) ?? ''
  if (!isName(value)) return null
  return person === '' && value === clientId ? '' : value
}

/** What the token itself says, nothing that every object inherits. */
function own(claims: Claims, name: string): unknown {
  return Object.hasOwn(claims, name) ? claims[name] : undefined
}

function isName(value: unknown): value is string {
  return typeof value === 'string' && value.length <= NAME_LENGTH_MAX && value.isWellFormed()
}
