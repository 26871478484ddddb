/** Documents for the linter. */

export type Json = Record<string, unknown>

export const PROBLEM = { description: 'no', content: { 'application/problem+json': { schema: { type: 'object' } } } }

/** Returns a document without findings, with `changes`. */
export function clean(
  changes: { operation?: Json; root?: Json; components?: Json; path?: string; method?: string } = {},
): Json {
  const { operation = {}, root = {}, components = {}, path = '/gift-cards/{id}', method = 'get' } = changes
  const id = { name: 'id', in: 'path', required: true, schema: { type: 'string', format: 'uuid' } }
  return {
    openapi: '3.1.0',
    info: { title: 'Cards', version: '1.0.0', description: 'Gift cards.', contact: { email: 'cards@example.com' } },
    servers: [{ url: 'https://cards.example' }],
    security: [{ oauth: ['cards:read'] }],
    tags: [{ name: 'cards' }],
    paths: {
      [path]: {
        [method]: {
          operationId: 'readCard',
          tags: ['cards'],
          summary: 'Reads a card.',
          ...(path.includes('{id}') && { parameters: [id] }),
          responses: { 200: { description: 'ok' }, default: PROBLEM },
          ...operation,
        },
      },
    },
    components: {
      securitySchemes: {
        oauth: { type: 'oauth2', flows: { clientCredentials: { tokenUrl: '/t', scopes: { 'cards:read': 'read' } } } },
      },
      ...components,
    },
    ...root,
  }
}

const AWFUL_OPERATION: Json = {
  parameters: [
    { name: 'password', in: 'query', schema: { type: 'string' } },
    { name: 'count', in: 'query', schema: { type: 'integer' } },
  ],
  responses: { 500: { description: 'no' } },
}

/**
 * A document with most flaws: passwords in the query, plain http, no ids, summaries, security and successful responses, verbs in
 * the paths.
 */
export const AWFUL: Json = {
  openapi: '3.0.3',
  info: { title: 'Awful', version: '1.0.0' },
  servers: [{ url: 'http://awful.example' }],
  paths: {
    '/getUser': { get: AWFUL_OPERATION },
    '/create_User': { post: AWFUL_OPERATION },
    '/deleteUser': { get: AWFUL_OPERATION },
  },
}

export const bytesOf = (document: unknown): Buffer => Buffer.from(JSON.stringify(document, null, 2))

export const AT = '/paths/~1gift-cards~1{id}/get'
export const json = (schema: object, example: unknown = {}) => ({
  content: { 'application/json': { schema, example } },
})
export const query = (name: string, schema: object, more: Json = {}) => ({
  name,
  in: 'query',
  description: 'd',
  schema,
  ...more,
})
