/**
 * The clients of this service itself, which need no subscription. Each tenant has them under a name of its own:
 * `tollgate-cli.{tenant}`, with the id or the name of the tenant.
 *
 * A tenant that is unknown or disabled has the same client. No person belongs to it, so a login fails like one with a
 * wrong password.
 */

import { toSharedClientGrant } from '../../plan/grant.ts'
import type { RegisteredClient } from '../client-authentication.ts'

/** Returns the tenant of an organisation that a stranger names. */
export type TenantOf = (organisation: string) => Promise<string>

/** Returns null if the id is none of these clients. */
export type FindFirstPartyClient = (clientId: string) => Promise<RegisteredClient | null>

const COMMAND_LINE = 'tollgate-cli.'
const ORGANISATION_LENGTH_MAX = 256

export function createFirstPartyClients({ tenantOf }: { readonly tenantOf: TenantOf }): FindFirstPartyClient {
  return async (clientId) => {
    const organisation = clientId.startsWith(COMMAND_LINE) ? clientId.slice(COMMAND_LINE.length) : ''
    if (organisation === '' || organisation.length > ORGANISATION_LENGTH_MAX) return null
    const grant = toSharedClientGrant(await tenantOf(organisation), 'The tollgate command line')
    return { grant, secretHash: '', redirectUris: [], mayRefresh: true, isLocal: true }
  }
}
