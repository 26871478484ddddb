/** `/v1/apis`: APIs with their access policy, deprecation and retirement. */

import { CORS_HEADERS_MAX, CORS_ORIGINS_MAX, MAX_AGE_SECONDS, MAX_AGE_SECONDS_LIMIT } from '../../boundary/plan/cors.ts'
import type { ApiPolicies } from '../../control/publishing/api-policy.ts'
import type { ApiRemoval } from '../../control/publishing/api-removal.ts'
import type { Apis } from '../../control/publishing/apis.ts'
import type { ServedDocument } from '../../control/publishing/served-document.ts'
import type { Retirement } from '../../control/publishing/retirement.ts'
import type { ConsumerView } from '../../control/subscriptions/consumer-view.ts'
import type { Handlers, Operations } from './operation.ts'
import {
  id,
  instant,
  labelledQuery,
  labels,
  list,
  named,
  nullable,
  object,
  prose,
  reference,
  text,
  time,
} from './schemas.ts'

const state = { type: 'string', enum: ['Prospect', 'Active', 'Deprecated', 'Retired'] } as const
const api = named(
  'Api',
  object({
    id,
    title: text,
    major: { type: 'integer' },
    version: text,
    state,
    owner: id,
    complianceScore: { type: ['number', 'null'] },
    programme: nullable(id),
    retirementDate: nullable(time),
    successor: nullable(id),
    labels,
  }),
)
const origin = { type: 'string', pattern: '^[Hh][Tt][Tt][Pp][Ss]?://[^/?#\\s]+$', maxLength: 300 } as const
const headerNames = {
  type: 'array',
  maxItems: CORS_HEADERS_MAX,
  items: { type: 'string', pattern: "^[!#$%&'*+.^_`|~0-9A-Za-z-]+$", maxLength: 64 },
} as const
const cors = nullable(
  named(
    'Cors',
    object(
      {
        origins: {
          type: ['array', 'string'],
          maxItems: CORS_ORIGINS_MAX,
          items: origin,
          pattern: '^\\*$',
          maxLength: 1,
          description: 'Origins such as `https://app.example`, or `*` for all of them. An empty list allows none.',
        },
        headers: { ...headerNames, description: 'Request headers besides those of credentials and of the operations.' },
        exposeHeaders: {
          ...headerNames,
          description: 'Response headers that a page may read besides those of the gateway.',
        },
        credentials: { type: 'boolean', description: 'Whether a page may send cookies. Needs a list of origins.' },
        maxAge: {
          type: 'integer',
          minimum: 0,
          maximum: MAX_AGE_SECONDS_LIMIT,
          description: `Seconds for which a browser may keep the answer to a preflight request; ${MAX_AGE_SECONDS} by default.`,
        },
      },
      ['origins'],
    ),
  ),
)
const policy = named(
  'ApiPolicy',
  object({
    subscriptionApproval: { type: 'string', enum: ['Auto', 'Manual'] },
    exposure: { type: 'string', enum: ['Internal', 'Partner', 'Public'] },
    tokenAlgorithm: { type: 'string', enum: ['ES256', 'RS256'] },
    credentialLifetimeDays: { type: 'integer', minimum: 1, maximum: 3_650 },
    mcp: {
      type: 'boolean',
      description: 'Exposes all operations at `/{api}/mcp`, except for those with `x-tollgate-mcp: false`.',
    },
    cors,
  }),
)
const idPrefix = {
  type: 'string',
  minLength: 1,
  maxLength: 128,
  pattern: '^[a-z0-9-]+$',
  description: 'Only APIs whose technical name (`id`) begins with this text.',
} as const
const tag = 'Catalogue'

export const API_OPERATIONS = {
  listApis: {
    method: 'GET',
    path: '/v1/apis',
    summary: 'Lists the APIs of the tenant',
    tag,
    scope: 'apis:read',
    own: 'filtered',
    query: labelledQuery({ state, id: idPrefix }),
    status: 200,
    answer: list(api),
  },
  getApi: {
    method: 'GET',
    path: '/v1/apis/:name',
    summary: 'Returns an API by its technical name',
    tag,
    scope: 'apis:read',
    own: 'filtered',
    status: 200,
    answer: api,
  },
  getApiPolicy: {
    method: 'GET',
    path: '/v1/apis/:name/policy',
    summary: 'Returns the access policy of an API',
    tag,
    scope: 'apis:read',
    status: 200,
    answer: policy,
  },
  putApiPolicy: {
    method: 'PUT',
    path: '/v1/apis/:name/policy',
    summary: 'Replaces the access policy of an API; it applies to new subscriptions, credentials and tokens',
    description:
      'Members that are left out get their defaults; PATCH keeps them. ' +
      'A change of `mcp` or `cors` applies to the active revision before the response.',
    tag,
    scope: 'apis:write',
    body: { ...policy, title: 'ApiPolicyInput', required: [] },
    status: 200,
    answer: policy,
    problems: ['state_conflict', 'specification_invalid'],
    changes: 'getApiPolicy',
  },
  updateApiPolicy: {
    method: 'PATCH',
    path: '/v1/apis/:name/policy',
    summary: 'Changes the access policy of an API; it applies to new subscriptions, credentials and tokens',
    description:
      'Members that are left out stay as they are. ' +
      'A change of `mcp` or `cors` applies to the active revision before the response.',
    tag,
    scope: 'apis:write',
    body: { ...policy, title: 'ApiPolicyChange', required: [] },
    status: 200,
    answer: policy,
    problems: ['state_conflict', 'specification_invalid'],
    changes: 'getApiPolicy',
  },
  updateApi: {
    method: 'PATCH',
    path: '/v1/apis/:name',
    summary: 'Changes the labels of an API',
    tag,
    scope: 'apis:write',
    body: named('ApiChange', object({ labels }, [])),
    status: 200,
    answer: api,
    problems: ['state_conflict'],
    changes: 'getApi',
  },
  getApiDocument: {
    method: 'GET',
    path: '/v1/apis/:name/document',
    summary: 'Returns the OpenAPI document of the revision that serves, for consumers',
    description:
      'JSON, without servers, extensions and `$comment`. Names that the document chooses may begin with `x-`: headers, properties, security schemes.',
    tag,
    scope: 'apis:read',
    own: 'filtered',
    status: 200,
    answer: { type: 'object' },
  },
  deprecateApi: {
    method: 'POST',
    path: '/v1/apis/:name/deprecate',
    summary: 'Deprecates an API; it keeps serving, and every answer carries a deprecation notice',
    tag,
    scope: 'apis:write',
    body: named(
      'Deprecation',
      object({ retirementDate: instant, successor: reference, note: prose }, ['retirementDate']),
    ),
    status: 200,
    answer: api,
    problems: ['state_conflict'],
    changes: 'getApi',
  },
  retireApi: {
    method: 'POST',
    path: '/v1/apis/:name/retire',
    summary: 'Retires an API; every thread answers 410 before this call returns',
    tag,
    scope: 'apis:write',
    body: {
      ...named('Retirement', object({ force: { type: 'boolean', default: false } }, [])),
      type: ['object', 'null'],
    },
    status: 200,
    answer: api,
    problems: ['state_conflict', 'subscriptions_active'],
    changes: 'getApi',
  },
  removeApi: {
    method: 'DELETE',
    path: '/v1/apis/:name',
    summary: 'Deletes an API without subscriptions; no thread serves it, and its name is free, once this call returns',
    tag,
    scope: 'apis:write',
    status: 204,
    problems: ['state_conflict', 'subscriptions_active'],
    changes: 'getApi',
  },
} as const satisfies Operations

export interface ApiHandlersOptions {
  readonly apis: Apis
  readonly apiRemoval: ApiRemoval
  readonly apiPolicies: ApiPolicies
  readonly retirement: Retirement
  readonly consumerView: ConsumerView
  readonly servedDocument: ServedDocument
}

export function apiHandlers(options: ApiHandlersOptions): Handlers<typeof API_OPERATIONS> {
  const { apis, apiRemoval, apiPolicies: policies, retirement, consumerView: view, servedDocument } = options
  return {
    listApis: async ({ author: { tenant }, owner, query }) =>
      owner === null ? apis.list(tenant, query) : view.apis(tenant, owner, query),
    getApi: async ({ author: { tenant }, owner, params }) =>
      owner === null ? apis.get(tenant, params.name) : view.api(tenant, owner, params.name),
    async getApiDocument({ author: { tenant }, owner, params }, reply) {
      if (owner !== null) await view.api(tenant, owner, params.name)
      return reply.type('application/json').send(await servedDocument.read(tenant, params.name))
    },
    updateApi: async ({ author, params, body }) => apis.update(author, params.name, body),
    getApiPolicy: async ({ author, params }) => policies.get(author.tenant, params.name),
    putApiPolicy: async ({ author, params, body }) => policies.put(author, params.name, body),
    updateApiPolicy: async ({ author, params, body }) => policies.update(author, params.name, body),
    deprecateApi: async ({ author, params, body }) => retirement.deprecate(author, params.name, body),
    removeApi: async ({ author, params }) => apiRemoval.remove(author, params.name),
    retireApi: async ({ author, params, body }) => {
      return retirement.retire(author, params.name, body?.force ?? false)
    },
  }
}
