/** `/v1/openapispecs` and `/v1/openslaspecs`: published documents, byte for byte. */

import type { FastifyReply } from 'fastify'
import type { Content } from '../../control/publishing/published-content.ts'
import type { DeclarationRemoval } from '../../control/publishing/declaration-removal.ts'
import type { DeclaredPlans } from '../../control/publishing/declared-plans.ts'
import type { Specifications } from '../../control/publishing/specifications.ts'
import type { Handlers, Operation, Operations } from './operation.ts'
import { checkedDeclaration, openSlaPlan } from './declared-plan-shape.ts'
import {
  base64,
  DOCUMENT_BODY_BYTES_MAX,
  finding,
  id,
  labelledQuery,
  labels,
  list,
  named,
  object,
  PAGE_LIMIT_MAX,
  reference,
  text,
  time,
} from './schemas.ts'

const openApi = named('OpenApiSpec', object({ id, api: id, version: text, mediaType: text, labels, createdAt: time }))
const openSlaFields = {
  id,
  api: id,
  variant: text,
  version: text,
  inForce: { type: 'boolean' },
  labels,
  createdAt: time,
} as const
const openSla = named('OpenSlaSpec', object(openSlaFields))
const declared = named('DeclaredOpenSla', object({ ...openSlaFields, warnings: { type: 'array', items: finding } }))
const tag = 'Specifications'
const openApis = { tag, method: 'GET', scope: 'openapispecs:read', status: 200 } as const satisfies Partial<Operation>
const openSlas = { tag, method: 'GET', scope: 'openslaspecs:read', status: 200 } as const satisfies Partial<Operation>
const labelling = {
  tag,
  method: 'PATCH',
  body: named('SpecificationChange', object({ labels }, [])),
  status: 200,
  problems: ['state_conflict'],
} as const satisfies Partial<Operation>
const mediaTypes = ['application/json', 'application/yaml'] as const

export const SPECIFICATION_OPERATIONS = {
  listOpenApiSpecs: {
    ...openApis,
    path: '/v1/openapispecs',
    summary: 'Lists the OpenAPI documents of the tenant',
    query: labelledQuery({ api: reference }),
    answer: list(openApi),
  },
  getOpenApiSpec: {
    ...openApis,
    path: '/v1/openapispecs/:id',
    summary: 'Returns the metadata of an OpenAPI document',
    answer: openApi,
  },
  updateOpenApiSpec: {
    ...labelling,
    path: '/v1/openapispecs/:id',
    summary: 'Changes the labels of an OpenAPI document',
    scope: 'proxies:write',
    answer: openApi,
    changes: 'getOpenApiSpec',
  },
  getOpenApiContent: {
    ...openApis,
    path: '/v1/openapispecs/:id/content',
    summary: 'Returns an OpenAPI document as published, byte for byte',
    mediaTypes,
  },
  createOpenSlaSpec: {
    tag,
    method: 'POST',
    path: '/v1/openslaspecs',
    summary: 'Publishes an OpenSLA declaration; it takes effect immediately, also for existing subscriptions',
    description:
      'It replaces the declaration in force for the same API and variant, which is retained. `warnings` list members of the ' +
      'declaration that have no effect or are probably mistakes. `If-Match` is compared with the ETag of ' +
      '`GET /v1/openslaspecs?api={api}&inForce=true&limit=500`.',
    scope: 'openslaspecs:write',
    body: named(
      'OpenSlaSpecInput',
      object({ api: reference, specification: base64, labels }, ['api', 'specification']),
    ),
    bodyBytesMax: DOCUMENT_BODY_BYTES_MAX,
    status: 201,
    answer: declared,
    problems: ['specification_invalid', 'state_conflict'],
    changes: 'listOpenSlaSpecs',
    changesWith: ({ api }: { readonly api: string }) => ({ api, inForce: true, limit: PAGE_LIMIT_MAX }),
  },
  validateOpenSlaSpec: {
    tag,
    method: 'POST',
    path: '/v1/openslaspecs/validate',
    summary: 'Checks an OpenSLA declaration and returns the plan that it compiles to',
    description: 'Nothing is stored. A declaration that cannot be used has errors in `findings`, and no plan.',
    scope: 'openslaspecs:write',
    body: named('OpenSlaValidation', object({ api: reference, specification: base64 })),
    bodyBytesMax: DOCUMENT_BODY_BYTES_MAX,
    status: 200,
    answer: checkedDeclaration,
  },
  listOpenSlaSpecs: {
    ...openSlas,
    path: '/v1/openslaspecs',
    summary: 'Lists the OpenSLA declarations of the tenant',
    query: labelledQuery({
      api: reference,
      inForce: {
        type: 'boolean',
        description: 'True: the declaration in force of each variant; false: replaced ones.',
      },
    }),
    answer: list(openSla),
  },
  getOpenSlaSpec: {
    ...openSlas,
    path: '/v1/openslaspecs/:id',
    summary: 'Returns the metadata of an OpenSLA declaration',
    answer: openSla,
  },
  updateOpenSlaSpec: {
    ...labelling,
    path: '/v1/openslaspecs/:id',
    summary: 'Changes the labels of an OpenSLA declaration',
    scope: 'openslaspecs:write',
    answer: openSla,
    changes: 'getOpenSlaSpec',
  },
  getOpenSlaContent: {
    ...openSlas,
    path: '/v1/openslaspecs/:id/content',
    summary: 'Returns an OpenSLA declaration as published, byte for byte',
    mediaTypes,
  },
  getOpenSlaPlan: {
    ...openSlas,
    path: '/v1/openslaspecs/:id/plan',
    summary: 'Returns the plan that an OpenSLA declaration compiles to: limits, quota, units, price, promises',
    answer: openSlaPlan,
  },
  removeOpenSlaSpec: {
    method: 'DELETE',
    tag: openSlas.tag,
    path: '/v1/openslaspecs/:id',
    summary: 'Deletes an OpenSLA declaration that was never in force, because no revision of its API has served yet',
    scope: 'openslaspecs:write',
    status: 204,
    problems: ['state_conflict'],
    changes: 'getOpenSlaSpec',
  },
} as const satisfies Operations

export interface SpecificationHandlersOptions {
  readonly specifications: Specifications
  readonly declarationRemoval: DeclarationRemoval
  readonly declaredPlans: DeclaredPlans
}

export function specificationHandlers({
  specifications,
  declarationRemoval,
  declaredPlans,
}: SpecificationHandlersOptions): Handlers<typeof SPECIFICATION_OPERATIONS> {
  return {
    listOpenApiSpecs: async ({ author, query }) => specifications.openApis(author.tenant, query),
    getOpenApiSpec: async ({ author, params }) => specifications.openApi(author.tenant, params.id),
    updateOpenApiSpec: async ({ author, params, body }) => specifications.updateOpenApi(author, params.id, body),
    getOpenApiContent: async ({ author, params }, reply) =>
      sendContent(reply, await specifications.openApiContent(author.tenant, params.id)),
    createOpenSlaSpec: async ({ author, body }) => specifications.createOpenSla(author, body),
    validateOpenSlaSpec: async ({ author, body }) => declaredPlans.check(author.tenant, body),
    getOpenSlaPlan: async ({ author, params }) => declaredPlans.of(author.tenant, params.id),
    listOpenSlaSpecs: async ({ author, query }) => specifications.openSlas(author.tenant, query),
    getOpenSlaSpec: async ({ author, params }) => specifications.openSla(author.tenant, params.id),
    updateOpenSlaSpec: async ({ author, params, body }) => specifications.updateOpenSla(author, params.id, body),
    removeOpenSlaSpec: async ({ author, params }) => declarationRemoval.remove(author, params.id),
    getOpenSlaContent: async ({ author, params }, reply) =>
      sendContent(reply, await specifications.openSlaContent(author.tenant, params.id)),
  }
}

function sendContent(reply: FastifyReply, { bytes, mediaType }: Content): FastifyReply {
  return reply.type(mediaType).send(bytes)
}
