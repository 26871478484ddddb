/** `/v1/openapispecs` and `/v1/openslaspecs`: documents as they were published, byte for byte. */

import type { Specifications } from '../catalogue/specifications.ts'
import { content, created, texts, toPageQuery } from './replies.ts'
import type { DeclareRoute } from './routes.ts'
import { base64, id, list, object, query, text, time } from './schemas.ts'

const SPECIFICATION_BYTES_MAX = 15 * 1024 * 1024
const openApi = object({ id, api: id, version: text, mediaType: text, createdAt: time })
const openSla = object({ id, api: id, variant: text, version: text, inForce: { type: 'boolean' }, createdAt: time })
const CONTENT_TYPES = ['application/json', 'application/yaml']

export function specificationRoutes(declare: DeclareRoute, specifications: Specifications): void {
  const tag = 'Specifications'
  declare(
    {
      operationId: 'listOpenApiSpecs',
      method: 'GET',
      path: '/v1/openapispecs',
      summary: 'OpenAPI documents',
      tag,
      scope: 'openapispecs:read',
      query: query({ api: id }),
      status: 200,
      answer: list(openApi),
      problems: ['cursor_invalid'],
    },
    async ({ author, query: all }) =>
      specifications.openApis(author.tenant, { ...toPageQuery(all), ...texts(all, 'api') }),
  )
  declare(
    {
      operationId: 'getOpenApiSpec',
      method: 'GET',
      path: '/v1/openapispecs/:id',
      summary: 'One OpenAPI document',
      tag,
      scope: 'openapispecs:read',
      status: 200,
      answer: openApi,
    },
    async ({ author, params }) => specifications.openApi(author.tenant, params['id'] ?? ''),
  )
  declare(
    {
      operationId: 'getOpenApiContent',
      method: 'GET',
      path: '/v1/openapispecs/:id/content',
      summary: 'The document as it was published',
      tag,
      scope: 'openapispecs:read',
      status: 200,
      mediaTypes: CONTENT_TYPES,
    },
    async ({ author, params }, reply) =>
      content(reply, await specifications.openApiContent(author.tenant, params['id'] ?? '')),
  )
  declare(
    {
      operationId: 'createOpenSlaSpec',
      method: 'POST',
      path: '/v1/openslaspecs',
      summary: 'Takes a declaration into force, for running subscriptions too',
      tag,
      scope: 'openslaspecs:write',
      body: object({ api: id, specification: base64 }),
      bodyBytesMax: SPECIFICATION_BYTES_MAX,
      status: 201,
      answer: openSla,
      problems: ['specification_invalid', 'state_conflict'],
    },
    async ({ author, body }, reply) =>
      created(
        reply,
        '/v1/openslaspecs',
        await specifications.createOpenSla(author, body as { api: string; specification: string }),
      ),
  )
  declare(
    {
      operationId: 'listOpenSlaSpecs',
      method: 'GET',
      path: '/v1/openslaspecs',
      summary: 'Declarations',
      tag,
      scope: 'openslaspecs:read',
      query: query({ api: id }),
      status: 200,
      answer: list(openSla),
      problems: ['cursor_invalid'],
    },
    async ({ author, query: all }) =>
      specifications.openSlas(author.tenant, { ...toPageQuery(all), ...texts(all, 'api') }),
  )
  declare(
    {
      operationId: 'getOpenSlaSpec',
      method: 'GET',
      path: '/v1/openslaspecs/:id',
      summary: 'One declaration',
      tag,
      scope: 'openslaspecs:read',
      status: 200,
      answer: openSla,
    },
    async ({ author, params }) => specifications.openSla(author.tenant, params['id'] ?? ''),
  )
  declare(
    {
      operationId: 'getOpenSlaContent',
      method: 'GET',
      path: '/v1/openslaspecs/:id/content',
      summary: 'The declaration as it was published',
      tag,
      scope: 'openslaspecs:read',
      status: 200,
      mediaTypes: CONTENT_TYPES,
    },
    async ({ author, params }, reply) =>
      content(reply, await specifications.openSlaContent(author.tenant, params['id'] ?? '')),
  )
}
