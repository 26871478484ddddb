/** Computes the roles of a person from the claims of an identity provider. */

import type { RoleMapping } from '../identity-provider-document.ts'
import type { RoleAssignment } from './user-document.ts'

export type Claims = Readonly<Record<string, unknown>>

/** Returns each role once, with the consumers of all mappings that apply. */
export function mappedRoles(mappings: readonly RoleMapping[], claims: Claims): readonly RoleAssignment[] {
  const consumersOf = new Map<string, Set<string>>()
  for (const { claim, value, role, consumers = [] } of mappings) {
    if (!hasValue(claims, claim, value)) continue
    consumersOf.set(role, new Set([...(consumersOf.get(role) ?? []), ...consumers]))
  }
  return [...consumersOf]
    .map(([role, consumers]) => ({ role, ...(consumers.size > 0 && { consumers: [...consumers].sort() }) }))
    .sort((one, other) => (one.role < other.role ? -1 : 1))
}

/** Compares texts, numbers and truth values by their JSON; the value of a list is any of its items. */
function hasValue(claims: Claims, name: string, value: string): boolean {
  const claim = Object.hasOwn(claims, name) ? claims[name] : undefined
  return (Array.isArray(claim) ? claim : [claim]).some((item) => textOf(item) === value)
}

function textOf(item: unknown): string | null {
  if (typeof item === 'string') return item
  return typeof item === 'number' || typeof item === 'boolean' ? String(item) : null
}
