/**
 * Opens the connections of a thread to one backend: our own over Node's HTTP parser, or undici's if that parser is missing or does
 * not behave as expected. The choice is made once per process.
 */

import { buildConnector } from 'undici'
import type { BackendConnections } from './exchange.ts'
import { findHttpParser } from './http1/http-parser.ts'
import { Http1Pool } from './http1/http1-pool.ts'
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

const createParser = findHttpParser()

/** Whose parser reads the responses of backends. */
export const httpParser: 'node' | 'undici' = createParser === null ? 'undici' : 'node'

/** Tells operators of the fallback; null without it. */
export const parserLimitation =
  createParser === null
    ? 'The HTTP parser of this version of Node is missing or differs: connections to backends use undici, which costs more CPU per call.'
    : null

export function openConnections(options: ConnectionsOptions, parser = createParser): BackendConnections {
  const { origin, connections, connect } = options
  const settings = {
    origin,
    connect: typeof connect === 'function' ? connect : buildConnector(connect),
    keepAliveMs: KEEP_ALIVE_MS,
    headBytesMax: HEAD_BYTES_MAX,
  }
  return parser === null
    ? openUndiciConnections({ ...settings, connections })
    : new Http1Pool({ ...settings, createParser: parser, resolveEveryMs: RESOLVE_EVERY_MS })
}
