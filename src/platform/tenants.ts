/** `/v1/tenants`: the tenants of this gateway; for the operator only. */

import { OPERATORS_SCOPE, type Tenants } from '../access/tenants.ts'
import type { Handlers, Operations } from './operation.ts'
import { id, list, name, named, object, pagedQuery, text, time } from './schemas.ts'

const fields = { id, name: text, createdAt: time }
const tenant = named('Tenant', object(fields))
const made = named('NewTenant', object({ ...fields, credential: object({ clientId: text, clientSecret: text }) }))
const tag = 'Tenants'

export const TENANT_OPERATIONS = {
  createTenant: {
    method: 'POST',
    path: '/v1/tenants',
    summary: 'Creates a tenant with its first admin credential, whose secret is shown only in this answer',
    tag,
    scope: OPERATORS_SCOPE,
    body: named('TenantInput', object({ name })),
    status: 201,
    answer: made,
    problems: ['name_taken', 'state_conflict'],
  },
  listTenants: {
    method: 'GET',
    path: '/v1/tenants',
    summary: 'Lists the tenants of this gateway',
    tag,
    scope: OPERATORS_SCOPE,
    query: pagedQuery(),
    status: 200,
    answer: list(tenant),
  },
  getTenant: {
    method: 'GET',
    path: '/v1/tenants/:id',
    summary: 'Returns a tenant',
    tag,
    scope: OPERATORS_SCOPE,
    status: 200,
    answer: tenant,
  },
} as const satisfies Operations

export function tenantHandlers({ tenants }: { readonly tenants: Tenants }): Handlers<typeof TENANT_OPERATIONS> {
  return {
    async createTenant({ author, body }, reply) {
      void reply.header('Cache-Control', 'no-store')
      return tenants.create(author, body.name)
    },
    getTenant: async ({ params }) => tenants.get(params.id),
    listTenants: async ({ query }) => tenants.list(query),
  }
}
