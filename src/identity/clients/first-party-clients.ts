/**
 * The clients of this service itself, which need no subscription. Each tenant has them under a name of its own:
 * `tollgate-cli.{tenant}`, with the id or the name of the tenant.
 *
 * A tenant that is unknown or disabled gets the same client. Its people do not exist, so a login fails like one with a
 * wrong password, after the same look-ups.
 */

import { toSharedClientGrant } from '../../plan/grant.ts'
import type { RegisteredClient } from '../client-authentication.ts'

export interface FirstPartyClientsOptions {
  /** Returns the id of a tenant with this id or name; null if there is none that may call. */
  readonly tenantNamed: (organisation: string) => Promise<string | null>
}

/** Returns null if the id is none of these clients. */
export type FindFirstPartyClient = (clientId: string) => Promise<RegisteredClient | null>

const COMMAND_LINE = 'tollgate-cli.'
const ORGANISATION_LENGTH_MAX = 256

export function createFirstPartyClients({ tenantNamed }: FirstPartyClientsOptions): FindFirstPartyClient {
  return async (clientId) => {
    const organisation = clientId.startsWith(COMMAND_LINE) ? clientId.slice(COMMAND_LINE.length) : ''
    if (organisation === '' || organisation.length > ORGANISATION_LENGTH_MAX) return null
    const tenant = (await tenantNamed(organisation)) ?? unknownTenant(organisation)
    const grant = toSharedClientGrant(tenant, 'The tollgate command line')
    return { grant, secretHash: '', redirectUris: [], mayRefresh: true, isLocal: true }
  }
}

/**
 * Returns an id that no tenant has. Each unknown organisation has its own, so that attempts to log in are throttled as if it existed.
 */
function unknownTenant(organisation: string): string {
  return `unknown ${organisation}`
}
