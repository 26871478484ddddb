/** The API that tollgate serves in the benches: one operation, two limits far away, units and a price. */

export const BENCH_API = 'bench-v1'

export const BENCH_OPENAPI = {
  openapi: '3.1.0',
  info: { title: 'Bench', version: '1.0.0', description: 'One operation.' },
  servers: [{ url: 'http://127.0.0.1' }],
  paths: {
    '/items/{itemId}': {
      get: {
        operationId: 'getItem',
        summary: 'One item',
        security: [{ oauth2: ['items:read'] }],
        parameters: [
          {
            name: 'itemId',
            in: 'path',
            required: true,
            schema: { type: 'string', pattern: '^itm_[0-9a-f]{16}$' },
          },
        ],
        responses: { '200': { description: 'The item.' } },
      },
    },
  },
  components: {
    securitySchemes: {
      oauth2: {
        type: 'oauth2',
        flows: {
          clientCredentials: {
            tokenUrl: 'https://gateway.example/bench-v1/oauth2/v2/token',
            scopes: { 'items:read': 'Read items', 'items:write': 'Write items' },
          },
        },
      },
    },
  },
}

export const BENCH_OPENSLA = {
  opensla: '1.0.0',
  info: { title: 'Bench', version: '1.0.0' },
  limits: [{ name: 'all', totals: { day: 2_000_000_000 }, rate: { value: 1_000_000, duration: 'second' } }],
  quotas: { period: 'Monthly', resourceUnits: 999_999_999 },
  resourceUnits: { default: 1, operations: { getItem: 2 } },
  price: { currency: 'EUR', perUnit: '0.0001' },
}
