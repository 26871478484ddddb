/** Schema of a backend in the requests of proxies and programmes. */

import { backendUrl, object } from './schemas.ts'

export const connections = {
  type: 'integer',
  minimum: 1,
  maximum: 100_000,
  description:
    'Maximum number of connections to the backend, divided equally among the gateway threads. Default: 256 per thread. One ' +
    'subscription uses at most half of them, and so do all public calls together.',
} as const
export const waitMs = {
  type: 'integer',
  minimum: 1,
  maximum: 60_000,
  description: 'Milliseconds that a call waits for a connection before it is answered with 503. Default: 1000.',
} as const

export const backendInput = object(
  {
    url: backendUrl,
    timeoutMs: { type: 'integer', minimum: 1, maximum: 600_000 },
    health: { type: 'string', pattern: '^/', maxLength: 1_024 },
    connections,
    waitMs,
  },
  ['url'],
)
