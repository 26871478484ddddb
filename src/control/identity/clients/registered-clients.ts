/**
 * Finds a client by its id: one with a subscription, one of this service, one that registered itself, or one that is known
 * by a metadata document.
 *
 * An organisation that is unknown or disabled counts as a tenant without people, which has an id of its own. So attempts to
 * sign in are answered and throttled as if it existed.
 */

import type { RegisteredClient } from '../client-authentication.ts'
import { createFirstPartyClients } from './first-party-clients.ts'
import type { FindMetadataClient } from './metadata-clients.ts'

export interface RegisteredClientsOptions {
  /** Finds the clients of subscriptions. */
  readonly subscribed: (clientId: string) => Promise<RegisteredClient | null>
  /** Returns the id of a tenant with this id or name; null if there is none that may call. */
  readonly tenantNamed: (organisation: string) => Promise<string | null>
  readonly selfRegistered: (clientId: string) => Promise<RegisteredClient | null>
  readonly findMetadataClient: FindMetadataClient
  readonly baseUrl: string
}

/** `organisation` is what the person has named, for a client that belongs to none. */
export type FindClient = (clientId: string, organisation?: string) => Promise<RegisteredClient | null>

export function createRegisteredClients(options: RegisteredClientsOptions): FindClient {
  const { subscribed, tenantNamed, selfRegistered, findMetadataClient, baseUrl } = options
  const tenantOf = async (organisation: string): Promise<string> =>
    (await tenantNamed(organisation)) ?? `unknown ${organisation}`
  const findFirstParty = createFirstPartyClients({ tenantOf, baseUrl })

  return async (clientId, organisation) => {
    const known = (await subscribed(clientId)) ?? (await findFirstParty(clientId)) ?? (await selfRegistered(clientId))
    if (known !== null) return known
    const tenant = organisation === undefined ? '' : await tenantOf(organisation)
    return findMetadataClient(clientId, tenant)
  }
}
