/** Documents that the packed service publishes: one shape of API under several names, and a declaration with a price. */

export const base64 = (document: object): string => Buffer.from(JSON.stringify(document)).toString('base64')

/** `<title> 1.0.0` with scopes `entries:read` and `entries:write`; `version` tells revisions apart. */
export function entriesDocument(title: string, version = '1.0.0'): object {
  const ok = { 200: { description: 'Entries', content: { 'application/json': { schema: { type: 'object' } } } } }
  const entry = {
    type: 'object',
    required: ['amount'],
    properties: { amount: { type: 'integer' } },
    additionalProperties: false,
  }
  return {
    openapi: '3.1.0',
    info: { title, version, description: 'Entries, one at a time.' },
    servers: [{ url: 'https://entries.example' }],
    components: {
      securitySchemes: {
        oauth: {
          type: 'oauth2',
          flows: {
            clientCredentials: {
              tokenUrl: '/token',
              scopes: { 'entries:read': 'Read entries.', 'entries:write': 'Add entries.' },
            },
          },
        },
        key: { type: 'apiKey', in: 'header', name: 'x-api-key' },
      },
    },
    security: [{ oauth: ['entries:read'] }, { key: [] }],
    paths: {
      '/entries': {
        get: {
          operationId: 'listEntries',
          parameters: [{ name: 'status', in: 'query', schema: { type: 'integer' } }],
          responses: { ...ok, 503: { description: 'Unavailable' } },
        },
        post: {
          operationId: 'createEntry',
          security: [{ oauth: ['entries:write'] }, { key: [] }],
          requestBody: { required: true, content: { 'application/json': { schema: entry } } },
          responses: ok,
        },
      },
    },
  }
}

/** Units, a quota, limits and a price; a variant has a price of its own. */
export function declaration(variant: string | null, perUnit: string, day = 1_000): object {
  return {
    opensla: '1.0.0',
    info: { title: 'Entries', version: '1.0.0', ...(variant !== null && { variant }) },
    limits: [
      { name: 'writes', operationIds: ['createEntry'], totals: { day: 3 } },
      { name: 'all', totals: { day }, concurrent: 50 },
    ],
    quotas: { period: 'Annual', resourceUnits: 100_000, alertThreshold: 80 },
    resourceUnits: { default: 1, operations: { listEntries: 1.5, createEntry: 4 } },
    price: { currency: 'EUR', perUnit },
  }
}
