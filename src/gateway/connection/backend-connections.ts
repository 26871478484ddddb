/** Opens the connections of a thread to one backend: our own, or those of undici (`parser-choice.ts`). */

import type { buildConnector } from 'undici'
import { createConnector } from './connector.ts'
import type { BackendConnections } from './exchange.ts'
import { Http1Pool } from './http1/http1-pool.ts'
import { nodeParser } from './parser-choice.ts'
import { openUndiciConnections } from './undici/undici-connections.ts'

export interface ConnectionsOptions {
  readonly origin: string
  /** Upper bound of open connections. */
  readonly connections: number
  readonly connect: buildConnector.connector | buildConnector.BuildOptions
}

const KEEP_ALIVE_MS = 30_000
const RESOLVE_EVERY_MS = 60_000
const HEAD_BYTES_MAX = 32_768

export function openConnections(options: ConnectionsOptions, parser = nodeParser): BackendConnections {
  const { origin, connections, connect } = options
  const settings = {
    origin,
    connect: typeof connect === 'function' ? connect : createConnector(connect),
    keepAliveMs: KEEP_ALIVE_MS,
    headBytesMax: HEAD_BYTES_MAX,
  }
  return parser === null
    ? openUndiciConnections({ ...settings, connections })
    : new Http1Pool({ ...settings, parser, resolveEveryMs: RESOLVE_EVERY_MS })
}
