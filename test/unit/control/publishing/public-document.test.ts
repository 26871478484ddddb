import { expect, it } from 'vitest'
import { toPublicDocument } from '../../../../src/control/publishing/public-document.ts'

const publicOf = async (document: object): Promise<unknown> =>
  JSON.parse(Buffer.from(await toPublicDocument(Buffer.from(JSON.stringify(document)))).toString())

it('leaves out servers and extensions everywhere, and keeps members that the document itself names so', async () => {
  const document = {
    openapi: '3.1.0',
    'x-internal': { host: 'db.internal' },
    servers: [{ url: 'http://10.0.0.1' }],
    paths: {
      '/servers': {
        servers: [{ url: 'http://10.0.0.2' }],
        get: {
          'x-owner': 'team',
          parameters: [{ name: 'x-id', in: 'header', 'x-note': 1, schema: { type: 'string', default: { 'x-a': 1 } } }],
          responses: { 200: { description: 'ok', headers: { 'x-total': { description: 'n' } }, 'x-secret': 1 } },
        },
      },
    },
    components: { schemas: { servers: { properties: { servers: { type: 'array' }, 'x-y': {} }, 'x-hidden': true } } },
  }
  expect(await publicOf(document)).toEqual({
    openapi: '3.1.0',
    paths: {
      '/servers': {
        get: {
          parameters: [{ name: 'x-id', in: 'header', schema: { type: 'string', default: { 'x-a': 1 } } }],
          responses: { 200: { description: 'ok', headers: { 'x-total': { description: 'n' } } } },
        },
      },
    },
    components: { schemas: { servers: { properties: { servers: { type: 'array' }, 'x-y': {} } } } },
  })
})

it('leaves out extensions beside paths, statuses and components, servers of links, and comments of authors', async () => {
  const link = { operationId: 'get', server: { url: 'http://10.0.0.3' }, 'x-a': 1 }
  const document = {
    'x-servers': [{ url: 'http://10.0.0.1' }],
    paths: {
      'x-backend': { url: 'http://10.0.0.2' },
      '/x-a': {
        get: {
          responses: { 'x-cost': 1, 200: { description: 'ok', links: { server: link } }, default: { 'x-a': 1 } },
          callbacks: { 'x-done': { 'x-owner': 'team', '{$request.query.url}': { servers: [], post: { 'x-a': 1 } } } },
        },
      },
    },
    components: {
      'x-hosts': ['db.internal'],
      responses: { 'x-fault': { description: 'no', 'x-a': 1 } },
      links: { server: link },
      schemas: { 'x-kind': { $comment: 'table shop.kind', properties: { $comment: { type: 'string', server: 1 } } } },
    },
  }
  expect(await publicOf(document)).toEqual({
    paths: {
      '/x-a': {
        get: {
          responses: { 200: { description: 'ok', links: { server: { operationId: 'get' } } }, default: {} },
          callbacks: { 'x-done': { '{$request.query.url}': { post: {} } } },
        },
      },
    },
    components: {
      responses: { 'x-fault': { description: 'no' } },
      links: { server: { operationId: 'get' } },
      schemas: { 'x-kind': { properties: { $comment: { type: 'string' } } } },
    },
  })
})

it('keeps the schemes that a caller needs, and the examples of a schema as they are', async () => {
  const document = {
    security: [{ 'x-key': [] }, { servers: ['read'] }],
    components: {
      securitySchemes: { 'x-key': { type: 'apiKey', name: 'x-key', in: 'header', 'x-a': 1 } },
      schemas: { Order: { examples: [{ 'x-id': 1, servers: [] }], dependentRequired: { 'x-a': ['x-b'] } } },
    },
  }
  expect(await publicOf(document)).toEqual({
    security: [{ 'x-key': [] }, { servers: ['read'] }],
    components: {
      securitySchemes: { 'x-key': { type: 'apiKey', name: 'x-key', in: 'header' } },
      schemas: { Order: { examples: [{ 'x-id': 1, servers: [] }], dependentRequired: { 'x-a': ['x-b'] } } },
    },
  })
})
