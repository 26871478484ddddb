/**
 * Opens a client of ClickHouse, embedded or on a server.
 *
 * Without an address the engine runs in this process on its own folder; with an address the same
 * statements are sent over HTTP. Every statement has a time limit.
 */

import { createRequire } from 'node:module'
import { ClickHouseLogLevel, createClient, type ClickHouseClient } from '@clickhouse/client'
import type * as Chdb from 'chdb/connection'
import { exitAtOnce } from '../../../foundation/runtime/exit-at-once.ts'
import { bindParams } from './bind-params.ts'
import { EmbeddedParts, UNVERIFIED, type NewParts } from './new-parts.ts'
import { withGiveUp, type GivesUp } from './silent-server.ts'

export type ClickHouse = ClickHouseClient &
  GivesUp & {
    readonly newParts: NewParts
    /** Whether the engine runs in this process. */
    readonly isEmbedded: boolean
    /** Cluster of the server, whose tables replicate; null: none. */
    readonly cluster: string | null
  }

export interface ClickHouseOptions {
  /** `null`: embedded. */
  readonly url: string | null
  /** Default: none. */
  readonly cluster?: string | null
  /** Folder of the embedded engine. */
  readonly folder: string
}

const TIMEOUT_MS = 30_000
const require = createRequire(import.meta.url)

export function openClickHouse({ url, folder, cluster = null }: ClickHouseOptions): ClickHouse {
  // The client logs nothing: the caller logs a failure together with its effect.
  if (url !== null) {
    const client = createClient({ url, request_timeout: TIMEOUT_MS, log: { level: ClickHouseLogLevel.OFF } })
    return Object.assign(withGiveUp(client), { newParts: UNVERIFIED, isEmbedded: false, cluster })
  }
  // Loaded only if it is used: the library takes 150 MB of resident memory.
  exitAtOnce()
  const { createChdbConnection } = require('chdb/connection') as typeof Chdb
  const client = createClient({
    connection: withBoundParams(createChdbConnection({ path: folder })),
  } as unknown as Parameters<typeof createClient>[0])
  return Object.assign(client, {
    newParts: new EmbeddedParts(client),
    isEmbedded: true,
    cluster: null,
    giveUp() {},
  })
}

type Connection = ReturnType<typeof Chdb.createChdbConnection>

/** Makes statements with parameters independent of those of other connections. */
function withBoundParams(connection: Connection): Connection {
  const bound = <Params extends Parameters<Connection['query']>[0]>(params: Params): Params => {
    const { query_params = {}, ...others } = params
    const query = Object.keys(query_params).length === 0 ? null : bindParams(params.query, query_params)
    return query === null ? params : ({ ...others, query } as Params)
  }
  const query = connection.query.bind(connection)
  const command = connection.command.bind(connection)
  return Object.assign(connection, {
    query: (params: Parameters<Connection['query']>[0]) => query(bound(params)),
    command: (params: Parameters<Connection['command']>[0]) => command(bound(params)),
  })
}

/** Returns a signal that aborts at the time limit, or earlier with the caller's signal. */
export function within(signal: AbortSignal | undefined, timeoutMs = TIMEOUT_MS): AbortSignal {
  const limit = AbortSignal.timeout(timeoutMs)
  return signal === undefined ? limit : AbortSignal.any([signal, limit])
}

/** Returns the address of a server without user name and password, for messages. */
export function withoutCredentials(url: string): string {
  const { protocol, host, pathname } = new URL(url)
  return `${protocol}//${host}${pathname === '/' ? '' : pathname}`
}

/**
 * Returns a setting with which the threads of a statement yield the processor to those of this process that serve calls. The threads
 * of a server are its own business, and earlier versions do not know the setting.
 */
export function yielding({ isEmbedded }: Pick<ClickHouse, 'isEmbedded'>, nice: number): string {
  return isEmbedded ? `, os_threads_nice_value_query = ${nice}` : ''
}
