/**
 * Finds the consumers that a caller acts for with scopes of the own width.
 *
 * A client covers its own consumer, and a user those of their roles, whichever client they use. A role that gives a scope for the
 * tenant also covers the consumer of the client, because it includes the own width. A person of an external identity provider has no
 * roles here, and a user that no longer exists covers none.
 */

import type { HeldScopes } from '../../control/access/held-scopes.ts'
import type { Entitlements } from '../../control/access/people/entitlements.ts'
import { isOwnScope, wideScope } from '../../foundation/domain/scope-width.ts'
import type { Caller } from '../../boundary/plan/caller.ts'

/** Chooses one of the consumers of a person. */
export const CONSUMER_HEADER = 'X-Consumer-Id'

type Party = Pick<Caller, 'grant' | 'person'>

/** Returns null if the caller covers no consumer, or not the wanted one; without `wanted`, the first one. */
export async function ownerOf(
  entitlements: Pick<Entitlements, 'ofUser'>,
  party: Party,
  scope: string,
  wanted: string | undefined,
): Promise<string | null> {
  const consumers = [...(await coverageOf(entitlements, party))(scope)]
  if (wanted === undefined) return consumers[0] ?? null
  return consumers.includes(wanted) ? wanted : null
}

/** Returns the scopes that the caller holds for one consumer: those for the tenant, and the own ones that cover the consumer. */
export async function scopesFor(
  entitlements: Pick<Entitlements, 'ofUser'>,
  caller: Party & Pick<Caller, 'scopes'>,
  consumer: string,
): Promise<NonNullable<HeldScopes>> {
  const covered = await coverageOf(entitlements, caller)
  return new Set([...caller.scopes].filter((scope) => !isOwnScope(scope) || covered(scope).has(consumer)))
}

/** Returns the consumers that each scope of the own width covers. */
async function coverageOf(
  entitlements: Pick<Entitlements, 'ofUser'>,
  { grant, person }: Party,
): Promise<(scope: string) => ReadonlySet<string>> {
  if (person === '' || grant.type === 'Federated') return () => new Set([grant.consumer])
  const entitlement = await entitlements.ofUser(grant.tenant, person)
  if (entitlement === null) return () => new Set()
  const { scopes, consumers } = entitlement
  return (scope) =>
    new Set([...(consumers.get(scope) ?? []), ...(scopes.has(wideScope(scope)) ? [grant.consumer] : [])])
}

/** Returns the consumers that any scope of the caller with the own width covers. */
export async function coveredConsumers(
  entitlements: Pick<Entitlements, 'ofUser'>,
  caller: Party & Pick<Caller, 'scopes'>,
): Promise<readonly string[]> {
  const covered = await coverageOf(entitlements, caller)
  const own = [...caller.scopes].filter(isOwnScope)
  return [...new Set(own.flatMap((scope) => [...covered(scope)]))]
}
