/** Schema of a backend in the requests of proxies and programmes. */

import { backendUrl, object } from './schemas.ts'
import type { Schema } from './schema-type.ts'

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
/** Printable ASCII and line ends. */
const PEM = '^[\\x20-\\x7e\\t\\r\\n]*$'
const certificates = (maxLength: number, description: string) =>
  ({ type: 'string', minLength: 1, maxLength, pattern: PEM, description }) as const satisfies Schema
export const certificate = certificates(32_768, 'The client certificate, then those of its issuers, in PEM.')
export const ca = certificates(
  65_536,
  'Authorities that the backend is verified by, in PEM, instead of the public ones.',
)
const key = {
  type: 'string',
  minLength: 1,
  maxLength: 16_384,
  pattern: PEM,
  description:
    'Private key of `certificate`, in PEM. It is encrypted and never returned. Without it, that of the active revision stays, or ' +
    'else that of the staged one, if scheme, host and port of the backend are the same.',
} as const
export const headerName = {
  type: 'string',
  minLength: 1,
  maxLength: 128,
  pattern: "^[!#$%&'*+.^_`|~0-9A-Za-z-]+$",
} as const satisfies Schema
/** Printable ASCII, without spaces around it. */
export const HEADER_VALUE = '^[\\x21-\\x7e](?:[\\x20-\\x7e]*[\\x21-\\x7e])?$'
const secretHeaders = {
  type: 'array',
  maxItems: 16,
  items: object(
    {
      name: headerName,
      value: {
        type: 'string',
        minLength: 1,
        maxLength: 8_192,
        pattern: HEADER_VALUE,
        description:
          'It is encrypted and never returned. Without it, that of the active revision stays, or else that of the staged one, ' +
          'if scheme, host and port of the backend are the same.',
      },
    },
    ['name'],
  ),
  description: 'Headers that the gateway adds to every request, instead of those of these names that the client sends.',
} as const satisfies Schema

export const backendInput = object(
  {
    url: backendUrl,
    timeoutMs: { type: 'integer', minimum: 1, maximum: 600_000 },
    health: { type: 'string', pattern: '^/', maxLength: 1_024 },
    connections,
    waitMs,
    targets,
    balance,
    tls: object({ certificate, key, ca }, []),
    secretHeaders,
  },
  [],
)
