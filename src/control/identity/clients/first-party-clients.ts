/**
 * The clients of this service itself, which need no subscription: the command line and the console. Each tenant has them under names
 * of its own: `tollgate-cli.{tenant}` and `tollgate-console.{tenant}`, with the id or the name of the tenant.
 *
 * A tenant that is unknown or disabled has the same clients. No person belongs to them, so a sign-in fails like one with a
 * wrong password.
 */

import { toSharedClientGrant } from '../../../boundary/plan/grant.ts'
import type { RegisteredClient } from '../client-authentication.ts'

/** Returns the tenant of an organisation that a stranger names. */
export type TenantOf = (organisation: string) => Promise<string>

/** Returns null if the id is none of these clients. */
export type FindFirstPartyClient = (clientId: string) => Promise<RegisteredClient | null>

export interface FirstPartyClientsOptions {
  readonly tenantOf: TenantOf
  /** Address of the console. */
  readonly baseUrl: string
}

const COMMAND_LINE = 'tollgate-cli.'
const CONSOLE = 'tollgate-console.'
const ORGANISATION_LENGTH_MAX = 256

export function createFirstPartyClients({ tenantOf, baseUrl }: FirstPartyClientsOptions): FindFirstPartyClient {
  const find = async (clientId: string, prefix: string, name: string) => {
    const organisation = clientId.startsWith(prefix) ? clientId.slice(prefix.length) : ''
    if (organisation === '' || organisation.length > ORGANISATION_LENGTH_MAX) return null
    const grant = toSharedClientGrant(await tenantOf(organisation), name)
    return { grant, secretHash: '', mayRefresh: true }
  }
  return async (clientId) => {
    const commandLine = await find(clientId, COMMAND_LINE, 'The tollgate command line')
    if (commandLine !== null) return { ...commandLine, redirectUris: [], isLocal: true }
    const console = await find(clientId, CONSOLE, 'The tollgate console')
    return console === null ? null : { ...console, redirectUris: [callbackUri(baseUrl)], isOwnPage: true }
  }
}

export function consoleClientId(organisation: string): string {
  return CONSOLE + organisation
}

/** Returns where a sign-in to the console returns to. */
export function callbackUri(baseUrl: string): string {
  return `${baseUrl}/console/callback`
}
