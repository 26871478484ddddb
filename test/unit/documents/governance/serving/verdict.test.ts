/** A document with one wrong value has one fault, at that value. */

import { expect, it } from 'vitest'
import { judge } from '../../../../../src/documents/governance/serving/verdict.ts'
import { DEFECTS, VERSIONS, type Defect } from './defects.ts'

type Members = Record<string, unknown>

/** Uses each kind of object at least once; correct in 3.0, 3.1 and 3.2. */
function sound(): Members {
  return {
    info: { title: 'Orders', version: '1.0.0' },
    servers: [{ url: 'https://{region}.orders.example', variables: { region: { default: 'eu' } } }],
    tags: [{ name: 'orders' }],
    security: [{ key: [] }],
    paths: {
      '/orders/{id}': {
        parameters: [{ name: 'id', in: 'path', required: true, schema: { type: 'string', maxLength: 20 } }],
        get: {
          operationId: 'readOrder',
          parameters: [
            { $ref: '#/components/parameters/Fields' },
            {
              name: 'sort',
              in: 'query',
              style: 'form',
              explode: false,
              schema: { type: 'array', items: { type: 'string' } },
            },
            { name: 'filter', in: 'query', content: { 'application/json': { schema: { type: 'object' } } } },
          ],
          responses: {
            200: {
              description: 'The order',
              headers: { ETag: { schema: { type: 'string' } } },
              content: { 'application/json': { schema: { $ref: '#/components/schemas/Order' } } },
              links: { self: { operationId: 'readOrder' } },
            },
            404: { $ref: '#/components/responses/Missing' },
          },
        },
        put: {
          operationId: 'writeOrder',
          security: [{ oauth: ['orders:write'] }],
          requestBody: {
            required: true,
            content: {
              'application/json': { schema: { $ref: '#/components/schemas/Order' } },
              'multipart/form-data': {
                schema: { type: 'object', properties: { file: { type: 'string' } } },
                encoding: { file: { contentType: 'text/csv' } },
              },
            },
          },
          responses: { 204: { description: 'Written' } },
          callbacks: {
            written: { '{$request.body#/url}': { post: { responses: { 200: { description: 'Seen' } } } } },
          },
        },
      },
      '/orders': { $ref: '#/paths/~1list' },
      '/list': { get: { responses: { 200: { description: 'All' } } } },
    },
    components: {
      parameters: { Fields: { name: 'fields', in: 'query', schema: { type: 'string' } } },
      responses: { Missing: { description: 'No such order' } },
      schemas: {
        Order: {
          type: 'object',
          required: ['id'],
          properties: {
            id: { type: 'string', pattern: '^[a-z]+$' },
            parent: { $ref: '#/components/schemas/Order' },
            lines: { type: 'array', items: { $ref: '#/components/schemas/Line' } },
            state: { enum: ['open', 'closed'] },
          },
        },
        Line: { type: 'object', properties: { count: { type: 'integer', minimum: 1, default: 1 } } },
      },
      securitySchemes: {
        key: { type: 'apiKey', in: 'header', name: 'x-api-key' },
        oauth: {
          type: 'oauth2',
          flows: { clientCredentials: { tokenUrl: 'https://id.example/token', scopes: { 'orders:write': 'Writes' } } },
        },
      },
    },
  }
}

function withDefect(openapi: string, { at, value }: Defect): Members {
  const document: Members = { openapi, ...sound() }
  const parts = at
    .slice(1)
    .split('/')
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'))
  const last = parts.pop() ?? ''
  let parent = document
  for (const part of parts) parent = parent[part] as Members
  if (value === undefined) delete parent[last]
  else parent[last] = value
  return document
}

function faultsOf(document: Members) {
  return judge(Buffer.from(JSON.stringify(document))).faults
}

it.each(VERSIONS)('finds no fault in a sound document of version %s', (openapi) => {
  expect(faultsOf({ openapi, ...sound() })).toEqual([])
})

it.each(Object.entries(DEFECTS))('reports one fault for a %s', (_name, defect) => {
  for (const openapi of defect.versions ?? VERSIONS) {
    const faults = faultsOf(withDefect(openapi, defect))
    expect(
      faults.map(({ pointer }) => pointer),
      `${openapi}: ${JSON.stringify(faults)}`,
    ).toEqual([defect.fault ?? defect.at])
  }
})
