/** `/v1/tenants`: the tenants of this gateway; for the operator only. */

import { Readable } from 'node:stream'
import { OPERATORS_SCOPE } from '../../control/access/platform-access.ts'
import type { Tenants } from '../../control/access/tenants.ts'
import type { Handlers, Operations } from './operation.ts'
import { PORTAL_BODY_BYTES_MAX, portal, portalChange } from './portal.ts'
import { id, labelledQuery, labels, list, name, named, object, text, time } from './schemas.ts'

const state = { type: 'string', enum: ['Active', 'Disabled'] } as const
const fields = { id, name: text, state, portal, labels, createdAt: time }
const tenant = named('Tenant', object(fields))
const made = named('NewTenant', object({ ...fields, credential: object({ clientId: text, clientSecret: text }) }))
const tag = 'Tenants'
const changing = { tag, scope: OPERATORS_SCOPE, problems: ['state_conflict'], changes: 'getTenant' } as const

export const TENANT_OPERATIONS = {
  createTenant: {
    method: 'POST',
    path: '/v1/tenants',
    summary: 'Creates a tenant with its first admin credential, whose secret is shown only in this answer',
    tag,
    scope: OPERATORS_SCOPE,
    body: named('TenantInput', object({ name, labels }, ['name'])),
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
    query: labelledQuery(),
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
  updateTenant: {
    ...changing,
    method: 'PATCH',
    path: '/v1/tenants/:id',
    summary: 'Changes the name, the portal or the labels of a tenant',
    body: named('TenantChange', object({ name, portal: portalChange, labels }, [])),
    bodyBytesMax: PORTAL_BODY_BYTES_MAX,
    status: 200,
    answer: tenant,
    problems: ['name_taken', 'state_conflict'],
  },
  disableTenant: {
    ...changing,
    method: 'POST',
    path: '/v1/tenants/:id/disable',
    summary: 'Disables a tenant; all its credentials and tokens are refused once this call returns',
    status: 200,
    answer: tenant,
  },
  enableTenant: {
    ...changing,
    method: 'POST',
    path: '/v1/tenants/:id/enable',
    summary: 'Enables a disabled tenant',
    status: 200,
    answer: tenant,
  },
  exportTenant: {
    method: 'GET',
    path: '/v1/tenants/:id/export',
    summary: 'Returns all documents of a tenant without secrets, one JSON text per line',
    description:
      'The last line is `{"end": true, "documents": …}`; without it the export is incomplete. A disabled tenant can be deleted ' +
      'after a complete export.',
    tag,
    scope: OPERATORS_SCOPE,
    status: 200,
    mediaTypes: ['application/x-ndjson'],
    endless: true,
  },
  removeTenant: {
    ...changing,
    method: 'DELETE',
    path: '/v1/tenants/:id',
    summary: 'Deletes a tenant that is disabled and exported; its usage and the audit log stay',
    status: 204,
  },
} as const satisfies Operations

export interface TenantHandlersOptions {
  readonly tenants: Tenants
}

export function tenantHandlers({ tenants }: TenantHandlersOptions): Handlers<typeof TENANT_OPERATIONS> {
  return {
    async createTenant({ author, body }, reply) {
      void reply.header('Cache-Control', 'no-store')
      return tenants.create(author, body)
    },
    getTenant: async ({ params }) => tenants.get(params.id),
    updateTenant: async ({ author, params, body }) =>
      Object.keys(body).length === 0 ? tenants.get(params.id) : tenants.update(author, params.id, body),
    disableTenant: async ({ author, params }) => tenants.disable(author, params.id),
    enableTenant: async ({ author, params }) => tenants.enable(author, params.id),
    exportTenant: async ({ author, params }, reply) => {
      const lines = await tenants.export(author, params.id)
      return reply.header('Cache-Control', 'no-store').type('application/x-ndjson').send(Readable.from(lines))
    },
    removeTenant: async ({ author, params }) => tenants.remove(author, params.id),
    listTenants: async ({ query }) => tenants.list(query),
  }
}
