/** Schema of a backend in the requests of proxies and programmes. */

import { backendUrl, object } from './schemas.ts'

export const connections = {
  type: 'integer',
  minimum: 1,
  maximum: 100_000,
  description:
    'Maximum number of connections to each target, divided equally among the gateway threads. Default: 256 per thread. One ' +
    'subscription uses at most half of them, and so do all public calls together.',
} as const
export const waitMs = {
  type: 'integer',
  minimum: 1,
  maximum: 60_000,
  description: 'Milliseconds that a call waits for a connection before it is answered with 503. Default: 1000.',
} as const

export const weight = {
  type: 'integer',
  minimum: 1,
  maximum: 1_000,
  description: 'Share of the calls in relation to the other targets. Default: 1.',
} as const
export const balance = {
  type: 'string',
  enum: ['roundRobin', 'leastBusy'],
  description:
    '`roundRobin` shares the calls by weight; `leastBusy` prefers the target with the fewest calls in flight by weight. ' +
    'Default: `roundRobin`.',
} as const
const targets = {
  type: 'array',
  minItems: 1,
  maxItems: 32,
  items: object({ url: backendUrl, weight }, ['url']),
  description: 'Several addresses that share the calls, each with its own health. Give either `url` or `targets`.',
} as const

export const backendInput = object(
  {
    url: backendUrl,
    timeoutMs: { type: 'integer', minimum: 1, maximum: 600_000 },
    health: { type: 'string', pattern: '^/', maxLength: 1_024 },
    connections,
    waitMs,
    targets,
    balance,
  },
  [],
)
