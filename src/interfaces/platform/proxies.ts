/** `/v1/proxies`: deployments of APIs with their staging and active revisions. */

import type { Proxies } from '../../control/publishing/proxies.ts'
import { pageOf } from '../../control/command/page.ts'
import { backendInput, balance, ca, certificate, connections, waitMs, weight } from './backend-input.ts'
import { transform } from './transform-input.ts'
import type { Handlers, Operation, Operations } from './operation.ts'
import {
  base64,
  DOCUMENT_BODY_BYTES_MAX,
  id,
  labelledQuery,
  labels,
  list,
  named,
  nullable,
  object,
  pagedQuery,
  reference,
  scopeNames,
  scopes,
  text,
  time,
} from './schemas.ts'

const hasStaging = { type: 'boolean', description: 'Whether a staged revision waits for its activation.' } as const
const revisionNumber = { type: ['integer', 'null'] } as const
const targets = {
  type: 'array',
  items: object({ url: text, weight }, ['url']),
  description: 'Missing if the backend was given by its `url`, which is missing otherwise.',
} as const
const backend = object(
  {
    url: text,
    timeoutMs: { type: 'integer' },
    health: text,
    connections,
    waitMs,
    targets,
    balance,
    tls: object({ certificate, ca, hasKey: { type: 'boolean' } }, ['hasKey']),
    secretHeaders: { type: 'array', items: object({ name: text }) },
  },
  ['timeoutMs'],
)
const backendSource = {
  type: ['string', 'null'],
  enum: ['request', 'activeRevision', 'document', null],
  description:
    'Source of the backend: the request, the active revision, or `servers[0]` of the document; null: staged by an earlier version.',
} as const
const percent = {
  type: 'integer',
  minimum: 1,
  maximum: 99,
  description: 'Share of the subscriptions. A higher one only adds to those that a lower one chooses.',
} as const
const canary = nullable(
  object(
    {
      revision: { type: 'integer' },
      percent,
      consumers: { type: 'array', items: id },
      since: { ...time, description: 'When the revision began to serve some of the callers.' },
    },
    ['revision', 'since'],
  ),
)
const proxy = named(
  'Proxy',
  object({
    id,
    api: id,
    state: { type: 'string', enum: ['none', 'staging', 'active'] },
    revision: revisionNumber,
    activeRevision: revisionNumber,
    stagingRevision: revisionNumber,
    hasStaging,
    allowedScopes: scopeNames,
    declaredScopes: { ...scopeNames, description: 'The scopes that the document declares.' },
    MemberOfProductIds: { type: 'array', items: id },
    backend,
    transform,
    backendSource,
    staging: nullable(object({ revision: { type: 'integer' }, backend, transform, backendSource })),
    canary,
    labels,
  }),
)
/** Answer of staging and activation. */
const deployed = named(
  'DeployedProxy',
  object({
    ...proxy.properties,
    warnings: {
      type: 'array',
      items: text,
      description:
        'Reports that a backend from the document differs from the active one, that operations that write are public, that units are not counted without a declaration ' +
        'and, to the operator, that the backend is unreachable.',
    },
  }),
)
const revision = named(
  'Revision',
  object({ revision: { type: 'integer' }, fate: text, time, version: text, specification: id }),
)
const tag = 'Proxies'

/** Shared by activation and discarding. */
const change = {
  method: 'POST',
  tag,
  scope: 'proxies:write',
  status: 200,
  answer: proxy,
  problems: ['no_staging_revision', 'state_conflict', 'specification_invalid'],
  changes: 'getProxy',
} as const satisfies Partial<Operation>

export const PROXY_OPERATIONS = {
  stageRevision: {
    method: 'POST',
    path: '/v1/proxies',
    summary: 'Creates a staging revision of the proxy of an API; the active revision keeps serving',
    description:
      'Give either `specification` (base64; OpenAPI 3.0, 3.1 or 3.2, YAML or JSON) or `fromRevision`. `api` is the name that the ' +
      'document gives. A second call replaces the staging revision under a new number. Without `backend`, that of the active ' +
      'revision stays if the document keeps its `servers[0]` or names no absolute one; else, or if it is null, `servers[0]` is the backend. ' +
      'Without `transform`, that of the active revision stays; null removes it. `If-Match` is compared with the ETag of the proxy ' +
      'of the API.',
    tag,
    scope: 'proxies:write',
    body: named(
      'ProxyInput',
      object(
        {
          api: reference,
          specification: base64,
          fromRevision: { type: 'integer', minimum: 0, maximum: 2_147_483_647 },
          backend: nullable(backendInput),
          transform,
          allowedScopes: scopes,
        },
        ['api'],
      ),
    ),
    bodyBytesMax: DOCUMENT_BODY_BYTES_MAX,
    status: 201,
    answer: deployed,
    problems: ['specification_invalid', 'name_taken', 'state_conflict'],
    changes: 'getProxy',
    changesOnly: { list: 'listProxies', query: ({ api }: { readonly api: string }) => ({ api, limit: 1 }) },
  },
  listProxies: {
    method: 'GET',
    path: '/v1/proxies',
    summary: 'Lists the proxies of the tenant',
    tag,
    scope: 'proxies:read',
    query: labelledQuery({ api: reference, hasStaging }),
    status: 200,
    answer: list(proxy),
  },
  getProxy: {
    method: 'GET',
    path: '/v1/proxies/:id',
    summary: 'Returns a proxy',
    tag,
    scope: 'proxies:read',
    status: 200,
    answer: proxy,
  },
  updateProxy: {
    ...change,
    method: 'PATCH',
    path: '/v1/proxies/:id',
    summary: 'Changes the labels of a proxy',
    body: named('ProxyChange', object({ labels }, [])),
    problems: ['state_conflict'],
  },
  listRevisions: {
    method: 'GET',
    path: '/v1/proxies/:id/revisions',
    summary: 'Lists the retained revisions of a proxy',
    tag,
    scope: 'proxies:read',
    query: pagedQuery(),
    status: 200,
    answer: list(revision),
  },
  activateRevision: {
    ...change,
    path: '/v1/proxies/:id/activate',
    answer: deployed,
    summary: 'Activates the staging revision on every thread before this call returns',
    description:
      'Without `percent` and `consumers`, it serves all callers. With one of them it serves the chosen callers, and the active ' +
      'revision the others, until it is activated for all or discarded. Meanwhile no other revision can be staged; another ' +
      'activation with `percent` or `consumers` changes the choice.',
    body: {
      ...named(
        'Activation',
        object(
          {
            percent,
            consumers: {
              type: 'array',
              minItems: 1,
              maxItems: 1_000,
              uniqueItems: true,
              items: reference,
              description: 'Ids of consumers of the tenant.',
            },
          },
          [],
        ),
      ),
      type: ['object', 'null'],
    },
    problems: [...change.problems, 'revision_unavailable'],
  },
  discardRevision: {
    ...change,
    path: '/v1/proxies/:id/discard',
    summary: 'Deletes the staging revision; a canary serves no call that begins after this one returns',
  },
} as const satisfies Operations

export function proxyHandlers({ proxies }: { readonly proxies: Proxies }): Handlers<typeof PROXY_OPERATIONS> {
  return {
    stageRevision: async ({ author, body }) => proxies.stage(author, body),
    listProxies: async ({ author, query }) => proxies.list(author.tenant, query),
    getProxy: async ({ author, params }) => proxies.get(author.tenant, params.id),
    updateProxy: async ({ author, params, body }) => proxies.update(author, params.id, body),
    listRevisions: async ({ author, params, query }) =>
      pageOf((await proxies.revisions(author.tenant, params.id)).items, query),
    activateRevision: async ({ author, params, body }) => proxies.activate(author, params.id, body ?? {}),
    discardRevision: async ({ author, params }) => proxies.discard(author, params.id),
  }
}
