/**
 * Checks a database before it is used, and migrates its schema.
 *
 * Each obstacle is one line for the operator, without the password: only host, port, database and user of the URL are repeated.
 */

import pg, { type ClientBase } from 'pg'
import { StartRefused } from '../../../foundation/runtime/start-refused.ts'
import { describeConnection, SCHEMA } from './connection.ts'
import { migrateSchema } from './migrate-schema.ts'

/** The server cannot be reached, or does not answer yet: a node may start without it. */
export class DatabaseUnreachable extends StartRefused {}

const VERSION_MIN = 150_000
/** A pooler does not know the settings of a session. */
const POOLER = '08P01'
/** The server starts, stops, recovers, or has no connection left. */
const AWAY = /^(?:08|57P|53300)/
const HOST_UNKNOWN = new Set(['ENOTFOUND', 'EAI_AGAIN'])

/** Throws `StartRefused`. `prepareSchema` creates, migrates or checks the schema. */
export async function refuseUnusable(
  config: pg.ClientConfig,
  prepareSchema: (client: ClientBase) => Promise<void> = migrateSchema,
): Promise<void> {
  let client: pg.Client
  try {
    client = new pg.Client(config)
  } catch (cause) {
    throw new StartRefused('DATABASE_URL is not a URL of PostgreSQL: postgres://user:password@host:5432/database', {
      cause,
    })
  }
  client.on('error', () => {})
  const where = describeConnection(client)
  try {
    await client.connect()
    await refusePooler(client, where)
    await refuseReplica(client, where)
    await prepareSchema(client)
  } catch (cause) {
    if (cause instanceof StartRefused) throw cause
    const Refusal = isAway(cause) ? DatabaseUnreachable : StartRefused
    throw new Refusal(sentence(where, cause), { cause })
  } finally {
    await client.end().catch(() => {})
  }
}

/** A pooler invents the process id that it names at the connection, and passes on no settings of a session. */
async function refusePooler(client: pg.Client, where: string): Promise<void> {
  const { rows } = await client.query<{ pid: number; path: string }>(
    `SELECT pg_backend_pid() AS pid, current_setting('search_path') AS path`,
  )
  const { pid, path } = rows[0]!
  if (!('processID' in client) || client.processID !== pid) throw new StartRefused(poolerSentence(where))
  if (path !== SCHEMA) {
    throw new StartRefused(`DATABASE_URL (${where}) must not have the parameter options, which tollgate sets itself`)
  }
}

const poolerSentence = (where: string): string =>
  `DATABASE_URL (${where}): the connection goes through a pooler (PgBouncer), which keeps no sessions; name the server itself`

async function refuseReplica(client: pg.Client, where: string): Promise<void> {
  const { rows } = await client.query<{ version: string; replica: boolean; read_only: string }>(
    `SELECT current_setting('server_version_num') AS version, pg_is_in_recovery() AS replica,
       current_setting('transaction_read_only') AS read_only`,
  )
  const { version, replica, read_only: readOnly } = rows[0]!
  if (Number(version) < VERSION_MIN) throw new StartRefused(`DATABASE_URL (${where}) is older than PostgreSQL 15`)
  if (replica) throw new StartRefused(`DATABASE_URL (${where}) is a read-only replica; name the primary server`)
  if (readOnly === 'on') throw new StartRefused(`DATABASE_URL (${where}) admits only reading`)
}

function sentence(where: string, cause: unknown): string {
  const code = codeOf(cause)
  switch (code) {
    case '28P01':
    case '28000':
      return `DATABASE_URL (${where}): PostgreSQL refuses the user or the password`
    case '3D000':
      return `DATABASE_URL (${where}): the database does not exist; create it, owned by that user`
    case '42501':
      return `DATABASE_URL (${where}): the user may not create or use the schema tollgate; grant CREATE on the database`
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return `DATABASE_URL (${where}): the host name is unknown`
    case POOLER:
      return poolerSentence(where)
    default:
      return code === undefined && isTimeout(cause)
        ? `DATABASE_URL (${where}): the server accepts connections, but does not answer`
        : `DATABASE_URL (${where}) cannot be used: ${code ?? (cause instanceof Error ? cause.message : String(cause))}`
  }
}

function isAway(cause: unknown): boolean {
  const code = codeOf(cause)
  if (cause instanceof pg.DatabaseError) return code !== undefined && AWAY.test(code) && code !== POOLER
  if (HOST_UNKNOWN.has(code ?? '') || isFromSocket(cause)) return true
  return cause instanceof Error && /timeout|terminated/i.test(cause.message)
}

function isFromSocket(cause: unknown): boolean {
  if (cause instanceof AggregateError) return cause.errors.every(isFromSocket)
  return cause instanceof Error && 'syscall' in cause
}

/** pg names its time-outs only by their message. */
function isTimeout(cause: unknown): boolean {
  return cause instanceof Error && /timeout/i.test(cause.message)
}

function codeOf(cause: unknown): string | undefined {
  if (!(cause instanceof Error)) return undefined
  if (cause instanceof AggregateError) return codeOf(cause.errors[0])
  return 'code' in cause && typeof cause.code === 'string' ? cause.code : undefined
}
