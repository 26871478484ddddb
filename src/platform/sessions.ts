/** `/v1/me/sessions` and `/v1/users/{id}/sessions`: logins whose tokens are still accepted. */

import type { Sessions } from '../access/people/sessions.ts'
import type { Users } from '../access/users.ts'
import { personOf } from './me.ts'
import type { Handlers, Operations } from './operation.ts'
import { id, list, named, nullable, object, pagedQuery, text, time } from './schemas.ts'

const session = named('Session', object({ id, clientId: text, api: nullable(text), loggedInAt: time, expiresAt: time }))
const listing = { method: 'GET', tag: 'Users', status: 200, query: pagedQuery(), answer: list(session) } as const
const ending = { method: 'DELETE', tag: 'Users', status: 204 } as const

export const SESSION_OPERATIONS = {
  listMySessions: {
    ...listing,
    path: '/v1/me/sessions',
    summary: 'Lists the sessions of the person in whose name the token was issued',
    scope: 'me:read',
    problems: ['operation_forbidden', 'not_found'],
  },
  endMySessions: {
    ...ending,
    path: '/v1/me/sessions',
    summary: 'Ends all sessions of the person, also that of this call',
    scope: 'me:write',
    problems: ['operation_forbidden', 'not_found', 'state_conflict'],
  },
  listSessions: {
    ...listing,
    path: '/v1/users/:id/sessions',
    summary: 'Lists the sessions of a user',
    scope: 'users:read',
  },
  endSessions: {
    ...ending,
    path: '/v1/users/:id/sessions',
    summary: 'Ends all sessions of a user; their tokens are refused once this call returns',
    scope: 'users:write',
    problems: ['operation_forbidden', 'state_conflict'],
  },
} as const satisfies Operations

export interface SessionHandlersOptions {
  readonly sessions: Sessions
  readonly users: Users
}

export function sessionHandlers({ sessions, users }: SessionHandlersOptions): Handlers<typeof SESSION_OPERATIONS> {
  return {
    async listMySessions(call) {
      const { tenant, person } = personOf(call)
      await users.get(tenant, person)
      return sessions.list(tenant, person, call.query)
    },
    async endMySessions(call) {
      const author = personOf(call)
      await users.endSessions(author, author.person)
    },
    async listSessions({ author, params, query }) {
      await users.get(author.tenant, params.id)
      return sessions.list(author.tenant, params.id, query)
    },
    endSessions: async ({ author, params, caller }) => users.endSessions(author, params.id, caller.scopes),
  }
}
