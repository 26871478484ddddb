/** `/v1/users`: users who may log in at the authorize endpoint. */

import type { Users } from '../access/users.ts'
import type { Handlers, Operations } from './operation.ts'
import { id, list, name, named, object, pagedQuery, text, time } from './schemas.ts'

const user = named('User', object({ id, username: text, name: text, createdAt: time }))
const password = {
  type: 'string',
  minLength: 12,
  maxLength: 256,
  pattern: '^[^\\p{Cc}\\p{Cs}]+$',
  writeOnly: true,
  description: 'Stored only as a hash, and never shown.',
} as const
const tag = 'Users'

export const USER_OPERATIONS = {
  createUser: {
    method: 'POST',
    path: '/v1/users',
    summary: 'Creates a user who may log in',
    tag,
    scope: 'users:write',
    body: named('UserInput', object({ username: name, password, name })),
    status: 201,
    answer: user,
    problems: ['name_taken', 'unavailable'],
  },
  listUsers: {
    method: 'GET',
    path: '/v1/users',
    summary: 'Lists the users of the tenant',
    tag,
    scope: 'users:read',
    query: pagedQuery(),
    status: 200,
    answer: list(user),
  },
  getUser: {
    method: 'GET',
    path: '/v1/users/:id',
    summary: 'Returns a user',
    tag,
    scope: 'users:read',
    status: 200,
    answer: user,
  },
} as const satisfies Operations

export function userHandlers({ users }: { readonly users: Users }): Handlers<typeof USER_OPERATIONS> {
  return {
    createUser: async ({ author, body }) => users.create(author, body),
    listUsers: async ({ author, query }) => users.list(author.tenant, query),
    getUser: async ({ author, params }) => users.get(author.tenant, params.id),
  }
}
