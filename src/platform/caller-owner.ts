/** Finds the consumer that a caller acts for with a scope of the own width. */

import type { Entitlements } from '../access/people/entitlements.ts'
import type { Caller } from '../plan/caller.ts'

/** Chooses one of the consumers of a person. */
export const CONSUMER_HEADER = 'X-Consumer-Id'

/**
 * Returns null if the caller covers no consumer, or not the wanted one.
 *
 * A client acts for its own consumer. A user covers the consumers of their roles, whichever client they use; without `wanted` the
 * first of them. A person of an external identity provider has no roles here.
 */
export async function ownerOf(
  entitlements: Pick<Entitlements, 'ofUser'>,
  { grant, person }: Pick<Caller, 'grant' | 'person'>,
  scope: string,
  wanted: string | undefined,
): Promise<string | null> {
  const isUser = person !== '' && grant.type !== 'Federated'
  // A user that no longer exists covers none.
  const covered = isUser ? (await entitlements.ofUser(grant.tenant, person))?.consumers.get(scope) : [grant.consumer]
  const consumers = [...(covered ?? [])]
  if (wanted === undefined) return consumers[0] ?? null
  return consumers.includes(wanted) ? wanted : null
}
