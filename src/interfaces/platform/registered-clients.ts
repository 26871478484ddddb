/** `/v1/registeredclients`: clients that registered themselves (RFC 7591). */

import type { RegisteredClients } from '../../control/access/people/registered-clients.ts'
import type { Handlers, Operations } from './operation.ts'
import { id, list, named, nullable, object, pagedQuery, text, time } from './schemas.ts'

const client = named(
  'RegisteredClient',
  object({
    id: { ...id, description: 'The client id.' },
    name: { ...text, description: 'The name that the client gave itself; empty if it gave none.' },
    api: { ...text, description: 'The API at whose authorization server the client registered.' },
    redirectUris: { type: 'array', items: text },
    registeredAt: time,
    lastUsedAt: { ...nullable(time), description: 'When a person last allowed the client access, to the day.' },
    expiresAt: { ...time, description: 'A client that is used stays for 30 days more.' },
  }),
)
const tag = 'Users'

export const REGISTERED_CLIENT_OPERATIONS = {
  listRegisteredClients: {
    method: 'GET',
    path: '/v1/registeredclients',
    summary: 'Lists the clients that registered themselves',
    tag,
    scope: 'users:read',
    status: 200,
    query: pagedQuery(),
    answer: list(client),
  },
  removeRegisteredClient: {
    method: 'DELETE',
    path: '/v1/registeredclients/:id',
    summary: 'Removes a client that registered itself; its tokens are refused once this call returns',
    tag,
    scope: 'users:write',
    status: 204,
    problems: ['state_conflict'],
  },
} as const satisfies Operations

export interface RegisteredClientHandlersOptions {
  readonly registeredClients: RegisteredClients
}

export function registeredClientHandlers({
  registeredClients,
}: RegisteredClientHandlersOptions): Handlers<typeof REGISTERED_CLIENT_OPERATIONS> {
  return {
    listRegisteredClients: async ({ author, query }) => registeredClients.list(author.tenant, query),
    removeRegisteredClient: async ({ author, params }) => registeredClients.remove(author, params.id),
  }
}
