/** `/v1/me/sessions` and `/v1/users/{id}/sessions`: sign-ins from which a client still has access. */

import type { Sessions } from '../../control/access/people/sessions.ts'
import type { Users } from '../../control/access/users.ts'
import { personOf } from './me.ts'
import type { Handlers, Operations } from './operation.ts'
import { id, list, named, nullable, object, PAGE_LIMIT_DEFAULT, pagedQuery, text, time } from './schemas.ts'

const session = named(
  'Session',
  object({
    id,
    clientId: text,
    api: nullable(text),
    loggedInAt: time,
    lastUsedAt: { ...time, description: 'When the client last got an access token.' },
    expiresAt: {
      ...time,
      description: 'A client with a refresh token can extend it by use, up to 90 days after the sign-in.',
    },
  }),
)
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
    changes: 'listMySessions',
    changesWith: () => ({ limit: PAGE_LIMIT_DEFAULT }),
  },
  endMySession: {
    ...ending,
    path: '/v1/me/sessions/:id',
    summary: 'Ends one session of the person; its tokens are refused once this call returns',
    scope: 'me:write',
    problems: ['operation_forbidden'],
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
    changes: 'listSessions',
    changesWith: () => ({ limit: PAGE_LIMIT_DEFAULT }),
  },
  endSession: {
    ...ending,
    path: '/v1/users/:id/sessions/:session',
    summary: 'Ends one session of a user; its tokens are refused once this call returns',
    scope: 'users:write',
    problems: ['operation_forbidden'],
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
    async endMySession(call) {
      const author = personOf(call)
      await sessions.end(author, author.person, call.params.id)
    },
    async listSessions({ author, params, query }) {
      await users.get(author.tenant, params.id)
      return sessions.list(author.tenant, params.id, query)
    },
    endSessions: async ({ author, params, caller }) => users.endSessions(author, params.id, caller.scopes),
    async endSession({ author, params, caller }) {
      await users.checkRights(author, params.id, caller.scopes)
      await sessions.end(author, params.id, params.session)
    },
  }
}
