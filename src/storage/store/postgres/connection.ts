/**
 * Connections to PostgreSQL.
 *
 * Every session has time limits, because the lock of a node that vanished would otherwise block the others until the server notices,
 * after about two hours. A value that PostgreSQL cannot store as text is replaced (`toText`), so that no request fails by one.
 */

import pg from 'pg'
import { RegistryFull } from '../registry.ts'
import { StoreUnwritable } from '../unwritable.ts'

/** The connection was refused or lost, or the server did not answer in time. */
export class RegistryUnreachable extends StoreUnwritable {
  override readonly name = 'RegistryUnreachable'
  override readonly because = 'the registry cannot be reached'
}

export interface ConnectOptions {
  /** A `postgres:` URL; with a password, which no message repeats. */
  readonly url: string
  /** Node that appears in `pg_stat_activity`. */
  readonly nodeName: string
}

/** The schema in the database of all tables. */
export const SCHEMA = 'tollgate'
const LIMITS_MS = {
  lock_timeout: 5_000,
  statement_timeout: 10_000,
  idle_in_transaction_session_timeout: 10_000,
  tcp_user_timeout: 10_000,
} as const
/** Also bounds the wait for a connection of a pool. */
export const CONNECT_TIMEOUT_MS = 5_000
/** For a server that no longer answers; longer than it may take for a statement. */
const ANSWER_TIMEOUT_MS = 12_000
const INT8 = 20

export function toClientConfig({ url, nodeName }: ConnectOptions): pg.ClientConfig {
  const settings = [`search_path=${SCHEMA}`, ...Object.entries(LIMITS_MS).map(([name, ms]) => `${name}=${ms}`)]
  return {
    connectionString: url,
    application_name: `tollgate ${nodeName}`,
    options: settings.map((setting) => `-c ${setting}`).join(' '),
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    query_timeout: ANSWER_TIMEOUT_MS,
    keepAlive: true,
    types: { getTypeParser: (type, format) => (type === INT8 ? Number : pg.types.getTypeParser(type, format)) },
  }
}

/** Replaces what a text of PostgreSQL cannot hold: NUL, by the character after it, and halves of surrogate pairs. */
export function toText(value: string): string {
  return value.replaceAll('\0', '\u0001').toWellFormed()
}

/** SQLSTATE classes and codes of a server that is stopping, overloaded, read-only, or too slow. */
const UNREACHABLE = /^(?:08|57P|53|25006|40001|40P01|55P03|57014|25P03)/
const DISK_FULL = '53100'

/** Translates an error of PostgreSQL or of the connection into an error of the registry. Returns other errors unchanged. */
export function toRegistryError(cause: unknown): unknown {
  if (cause instanceof StoreUnwritable || !(cause instanceof Error)) return cause
  if (!(cause instanceof pg.DatabaseError)) {
    return isConnectionFault(cause) ? new RegistryUnreachable('PostgreSQL cannot be reached', { cause }) : cause
  }
  if (cause.code === DISK_FULL) return new RegistryFull('there is no room for the registry to grow', { cause })
  if (cause.code === undefined || !UNREACHABLE.test(cause.code)) return cause
  return new RegistryUnreachable(`PostgreSQL did not execute the statement (${cause.code})`, { cause })
}

/** pg names the loss of a connection only by its message. */
function isConnectionFault(cause: Error): boolean {
  return 'syscall' in cause || /connection|timeout|terminated|not queryable/i.test(cause.message)
}

/** Runs `work` and translates its errors. */
export async function withRegistryErrors<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work()
  } catch (cause) {
    throw toRegistryError(cause)
  }
}

/**
 * Returns user, host, port and database, for messages. A malformed URL can put its password into the name of a database or a host, so
 * unusual names are not shown.
 */
export function describeConnection({ user, host, port, database }: pg.Client): string {
  const [by, at, name] = [user, host, database].map((each) => (/^[\w.:/-]*$/.test(each ?? '') ? (each ?? '') : '…'))
  return `${by}@${at}:${port}/${name}`
}
