/** `/v1/users`: people who may sign in at the authorize endpoint. */

import { PASSWORD } from '../../control/access/people/password-rule.ts'
import type { Users } from '../../control/access/users.ts'
import type { Handlers, Operations } from './operation.ts'
import {
  eraseQuery,
  id,
  labelledQuery,
  labels,
  list,
  name,
  named,
  nullable,
  object,
  reference,
  text,
  time,
} from './schemas.ts'

export const assignmentFields = {
  role: reference,
  consumers: {
    type: 'array',
    maxItems: 100,
    uniqueItems: true,
    items: reference,
    description: 'The consumers that the scopes of the role with the own width cover.',
  },
} as const
const roleAssignments = {
  type: 'array',
  maxItems: 20,
  items: named('RoleAssignment', object(assignmentFields, ['role'])),
} as const
const identityProvider = {
  ...nullable(text),
  description: 'The identity provider that signs the person in and whose claims give the roles.',
} as const
const state = {
  type: 'string',
  enum: ['Active', 'Pending', 'Disabled'],
  description: '`Pending`: no password has been set.',
} as const
export const userFields = {
  id,
  username: text,
  name: text,
  state,
  roles: roleAssignments,
  identityProvider,
  labels,
  createdAt: time,
}
const identity = {
  ...object({
    provider: reference,
    subject: { type: 'string', minLength: 1, maxLength: 255, pattern: '^[^\\p{Cc}\\p{Cs}]+$' },
  }),
  description:
    'A person whom an identity provider signs in: its id, and the claim `sub`. Without `password` and `roles`.',
} as const
const user = named('User', object(userFields))
const invitation = {
  ...named('OneTimeLink', object({ url: text, expiresAt: time })),
  description: 'Opens a page that sets the password, once. Only this answer has it.',
}
const invited = named(
  'InvitedUser',
  object({ ...userFields, invitation }, [
    'id',
    'username',
    'name',
    'state',
    'roles',
    'identityProvider',
    'labels',
    'createdAt',
  ]),
)
export const password = {
  type: 'string',
  ...PASSWORD,
  writeOnly: true,
  description: 'Stored only as a hash, and never shown.',
} as const
const shared = { tag: 'Users', scope: 'users:write', status: 200, answer: user } as const
const reading = { ...shared, method: 'GET', scope: 'users:read' } as const
const writing = { ...shared, method: 'POST', problems: ['state_conflict', 'operation_forbidden'] } as const

export const USER_OPERATIONS = {
  createUser: {
    ...writing,
    path: '/v1/users',
    summary: 'Creates a user who may sign in; without a password the answer has a one-time link',
    body: named(
      'UserInput',
      object({ username: name, password, name, roles: roleAssignments, identity, labels }, ['username', 'name']),
    ),
    status: 201,
    answer: invited,
    problems: ['name_taken', 'state_conflict', 'operation_forbidden', 'unavailable'],
  },
  listUsers: {
    ...reading,
    path: '/v1/users',
    summary: 'Lists the users of the tenant',
    query: labelledQuery(),
    answer: list(user),
  },
  getUser: { ...reading, path: '/v1/users/:id', summary: 'Returns a user' },
  updateUser: {
    ...writing,
    method: 'PATCH',
    path: '/v1/users/:id',
    summary: 'Changes a user; a change of roles ends the access of earlier tokens before this call returns',
    body: named('UserChange', object({ username: name, name, roles: roleAssignments, labels }, [])),
    problems: ['name_taken', 'state_conflict', 'operation_forbidden'],
    changes: 'getUser',
  },
  deleteUser: {
    method: 'DELETE',
    path: '/v1/users/:id',
    summary: 'Removes a user; the tokens of the person are refused once this call returns',
    tag: 'Users',
    scope: 'users:write',
    query: eraseQuery,
    status: 204,
    problems: ['state_conflict', 'operation_forbidden'],
    changes: 'getUser',
  },
  disableUser: {
    ...writing,
    path: '/v1/users/:id/disable',
    summary: 'Disables a user; the tokens of the person are refused once this call returns',
    changes: 'getUser',
  },
  enableUser: {
    ...writing,
    path: '/v1/users/:id/enable',
    summary: 'Lets a disabled user sign in again',
    changes: 'getUser',
  },
  inviteUser: {
    ...writing,
    path: '/v1/users/:id/invite',
    summary: 'Makes a new one-time link for a user without a password; an earlier link stops working',
    answer: invited,
    changes: 'getUser',
  },
  resetPassword: {
    ...writing,
    path: '/v1/users/:id/resetPassword',
    summary: 'Removes the password and makes a one-time link for a new one; earlier tokens and links stop working',
    body: {
      ...named(
        'PasswordReset',
        object(
          {
            removeSecondFactor: {
              type: 'boolean',
              default: false,
              description: 'For a person who has lost the second factor and the recovery codes.',
            },
          },
          [],
        ),
      ),
      type: ['object', 'null'],
    },
    answer: invited,
    changes: 'getUser',
  },
} as const satisfies Operations

export function userHandlers({ users }: { readonly users: Users }): Handlers<typeof USER_OPERATIONS> {
  return {
    async createUser({ author, body, caller }, reply) {
      void reply.header('Cache-Control', 'no-store')
      return users.create(author, body, caller.scopes)
    },
    listUsers: async ({ author, query }) => users.list(author.tenant, query),
    getUser: async ({ author, params }) => users.get(author.tenant, params.id),
    updateUser: async ({ author, params, body, caller }) => users.update(author, params.id, body, caller.scopes),
    deleteUser: async ({ author, params, caller, query }) => users.remove(author, params.id, caller.scopes, query),
    disableUser: async ({ author, params, caller }) => users.disable(author, params.id, caller.scopes),
    enableUser: async ({ author, params, caller }) => users.enable(author, params.id, caller.scopes),
    async inviteUser({ author, params, caller }, reply) {
      void reply.header('Cache-Control', 'no-store')
      return users.invite(author, params.id, caller.scopes)
    },
    async resetPassword({ author, params, body, caller }, reply) {
      void reply.header('Cache-Control', 'no-store')
      return users.resetPassword(author, params.id, caller.scopes, body ?? {})
    },
  }
}
