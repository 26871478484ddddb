/** `/v1/proxies`: deployments, staged and activated. */

import type { StageInput } from '../catalogue/deployment.ts'
import type { Proxies } from '../catalogue/proxies.ts'
import { created, texts, toPageQuery } from './replies.ts'
import type { DeclareRoute, RouteDeclaration } from './routes.ts'
import { base64, id, list, object, query, scopes, text, time } from './schemas.ts'

const SPECIFICATION_BYTES_MAX = 15 * 1024 * 1024
const revisionNumber = { type: ['integer', 'null'] }
const backend = object(
  {
    url: { type: 'string', minLength: 1, maxLength: 2_048 },
    timeoutMs: { type: 'integer', minimum: 1, maximum: 600_000 },
    health: { type: 'string', pattern: '^/', maxLength: 1_024 },
  },
  ['url'],
)
const proxy = object({
  id,
  api: id,
  state: { type: 'string' },
  revision: revisionNumber,
  activeRevision: revisionNumber,
  stagingRevision: revisionNumber,
  allowedScopes: scopes,
  MemberOfProductIds: { type: 'array', items: id },
  backend,
})
const revision = object({ revision: { type: 'integer' }, fate: text, time, version: text, specification: id })

export function proxyRoutes(declare: DeclareRoute, proxies: Proxies): void {
  const shared = { tag: 'Proxies' } as const
  declare(
    {
      ...shared,
      operationId: 'stageRevision',
      method: 'POST',
      path: '/v1/proxies',
      summary: 'Makes a staging revision of the one proxy of an API; the active one goes on serving',
      scope: 'proxies:write',
      body: object(
        {
          api: id,
          specification: base64,
          fromRevision: { type: 'integer', minimum: 0 },
          backend,
          allowedScopes: scopes,
        },
        ['api'],
      ),
      bodyBytesMax: SPECIFICATION_BYTES_MAX,
      status: 201,
      answer: proxy,
      problems: ['specification_invalid', 'name_taken', 'state_conflict'],
    },
    async ({ author, body }, reply) => created(reply, '/v1/proxies', await proxies.stage(author, body as StageInput)),
  )
  declare(
    {
      ...shared,
      operationId: 'listProxies',
      method: 'GET',
      path: '/v1/proxies',
      summary: 'Proxies of the tenant',
      scope: 'proxies:read',
      query: query({ api: id }),
      status: 200,
      answer: list(proxy),
      problems: ['cursor_invalid'],
    },
    async ({ author, query: all }) => proxies.list(author.tenant, { ...toPageQuery(all), ...texts(all, 'api') }),
  )
  declare(
    {
      ...shared,
      operationId: 'getProxy',
      method: 'GET',
      path: '/v1/proxies/:id',
      summary: 'One proxy',
      scope: 'proxies:read',
      status: 200,
      answer: proxy,
    },
    async ({ author, params }) => proxies.get(author.tenant, params['id'] ?? ''),
  )
  declare(
    {
      ...shared,
      operationId: 'listRevisions',
      method: 'GET',
      path: '/v1/proxies/:id/revisions',
      summary: 'Every kept revision and its fate',
      scope: 'proxies:read',
      status: 200,
      answer: list(revision),
    },
    async ({ author, params }) => proxies.revisions(author.tenant, params['id'] ?? ''),
  )
  const change: Pick<RouteDeclaration, 'method' | 'scope' | 'status' | 'answer' | 'problems' | 'tag'> = {
    ...shared,
    method: 'POST',
    scope: 'proxies:write',
    status: 200,
    answer: proxy,
    problems: ['no_staging_revision', 'state_conflict', 'specification_invalid'],
  }
  declare(
    {
      ...change,
      operationId: 'activateRevision',
      path: '/v1/proxies/:id/activate',
      summary: 'Promotes staging to active, on every thread when this answers',
    },
    async ({ author, params }) => proxies.activate(author, params['id'] ?? ''),
  )
  declare(
    {
      ...change,
      operationId: 'discardRevision',
      path: '/v1/proxies/:id/discard',
      summary: 'Deletes the staging revision',
    },
    async ({ author, params }) => proxies.discard(author, params['id'] ?? ''),
  )
}
