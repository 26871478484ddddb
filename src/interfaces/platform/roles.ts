/** `/v1/roles`: named sets of platform scopes, which people hold. */

import type { Roles } from '../../control/access/roles.ts'
import type { Handlers, Operations } from './operation.ts'
import { labelledQuery, labels, list, named, object, scopeNames, scopes, text } from './schemas.ts'

const name = {
  type: 'string',
  minLength: 1,
  maxLength: 64,
  pattern: '^[A-Za-z][A-Za-z0-9_.-]*$',
} as const
const description = { type: 'string', maxLength: 256, pattern: '^[^\\p{Cc}\\p{Cs}]*$' } as const
const role = named(
  'Role',
  object({ name: text, description: text, scopes: scopeNames, builtIn: { type: 'boolean' }, labels }),
)
const reading = { method: 'GET', tag: 'Users', scope: 'roles:read', status: 200 } as const
const writing = { tag: 'Users', scope: 'roles:write' } as const

export const ROLE_OPERATIONS = {
  listRoles: {
    ...reading,
    path: '/v1/roles',
    summary: 'Lists the roles of the tenant: the built-in ones and its own',
    query: labelledQuery(),
    answer: list(role),
  },
  getRole: { ...reading, path: '/v1/roles/:name', summary: 'Returns a role', answer: role },
  createRole: {
    ...writing,
    method: 'POST',
    path: '/v1/roles',
    summary: 'Defines a role with scopes that the caller holds',
    body: named('RoleInput', object({ name, description, scopes, labels }, ['name', 'scopes'])),
    status: 201,
    answer: role,
    location: '/v1/roles/:name',
    problems: ['name_taken', 'state_conflict', 'operation_forbidden'],
  },
  replaceRole: {
    ...writing,
    method: 'PUT',
    path: '/v1/roles/:name',
    summary: 'Replaces the scopes of a role; earlier tokens of its holders are refused once this call returns',
    description: 'A scope that is added must be held by the caller.',
    body: named('RoleReplacement', object({ description, scopes, labels }, ['scopes'])),
    status: 200,
    answer: role,
    problems: ['state_conflict', 'operation_forbidden'],
    changes: 'getRole',
  },
  updateRole: {
    ...writing,
    method: 'PATCH',
    path: '/v1/roles/:name',
    summary: 'Changes a role; with `scopes`, earlier tokens of its holders are refused once this call returns',
    description: 'A scope that is added must be held by the caller. Members that are left out stay as they are.',
    body: named('RoleChange', object({ description, scopes, labels }, [])),
    status: 200,
    answer: role,
    problems: ['state_conflict', 'operation_forbidden'],
    changes: 'getRole',
  },
  deleteRole: {
    ...writing,
    method: 'DELETE',
    path: '/v1/roles/:name',
    summary: 'Removes a role that no user holds',
    status: 204,
    problems: ['state_conflict'],
    changes: 'getRole',
  },
} as const satisfies Operations

export function roleHandlers({ roles }: { readonly roles: Roles }): Handlers<typeof ROLE_OPERATIONS> {
  return {
    listRoles: async ({ author, query }) => roles.list(author.tenant, query),
    getRole: async ({ author, params }) => roles.get(author.tenant, params.name),
    createRole: async ({ author, body, caller }) => roles.create(author, body, caller.scopes),
    replaceRole: async ({ author, params, body, caller }) => roles.replace(author, params.name, body, caller.scopes),
    updateRole: async ({ author, params, body, caller }) => roles.update(author, params.name, body, caller.scopes),
    deleteRole: async ({ author, params }) => roles.remove(author, params.name),
  }
}
