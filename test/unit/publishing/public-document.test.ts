import { expect, it } from 'vitest'
import { toPublicDocument } from '../../../src/publishing/public-document.ts'

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
