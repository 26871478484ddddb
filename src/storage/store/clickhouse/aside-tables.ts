/**
 * Tables beside the real ones, in which rows are prepared before they replace a partition.
 *
 * Each has a name of its own: a node whose claim on the work has passed to another one meanwhile destroys nothing of it. Those that a
 * killed process left behind are dropped after a day.
 */

import { randomBytes } from 'node:crypto'
import { systemClock } from '../../../foundation/runtime/clock.ts'
import { within, type ClickHouse } from './client.ts'
import { toPlainEngine } from './cluster-statements.ts'

/** Names of these tables, and of those of earlier versions, as a regular expression of the engine. */
export const ASIDE_NAMES = '(_next(_[0-9a-f]{16})?|_to_attach)$'
/** The engine knows no time of creation of every table, so that the name has it: eight digits of seconds, eight random ones. */
const CREATED = /_next_([0-9a-f]{8})[0-9a-f]{8}$/
const ABANDONED_AFTER_S = 86_400
const TIMEOUT_MS = 15 * 60_000

/** Runs `use` with a new empty table of the same definition, which is dropped afterwards. */
export async function withAside<T>(
  client: ClickHouse,
  table: string,
  use: (name: string) => Promise<T>,
  signal?: AbortSignal,
): Promise<T> {
  const created = Math.floor(systemClock.nowMs() / 1_000)
    .toString(16)
    .padStart(8, '0')
  const name = `${table}_next_${created}${randomBytes(4).toString('hex')}`
  const engine = client.cluster === null ? '' : ` ENGINE = ${await plainEngineOf(client, table)}`
  await client.command({ query: `CREATE TABLE ${name} AS ${table}${engine}`, abort_signal: within(signal, TIMEOUT_MS) })
  try {
    return await use(name)
  } finally {
    // Not after the caller's signal, so that an aborted task leaves nothing behind.
    await drop(client, name).catch(() => {})
  }
}

/** As `withAside`, with one table beside each of these. */
export function withAsides<Table extends string, T>(
  client: ClickHouse,
  tables: readonly Table[],
  use: (nameOf: (table: Table) => string) => Promise<T>,
  signal?: AbortSignal,
): Promise<T> {
  const names = new Map<Table, string>()
  const nameOf = (table: Table): string => names.get(table) ?? table
  const withOthers = ([table, ...others]: readonly Table[]): Promise<T> => {
    if (table === undefined) return use(nameOf)
    return withAside(client, table, (name) => withOthers((names.set(table, name), others)), signal)
  }
  return withOthers(tables)
}

/**
 * Drops tables that are not used any more: no work takes so long. Those of earlier versions have no time in their name; on a server, a
 * node of such a version may use them.
 */
export async function dropAbandoned(
  client: ClickHouse,
  nowMs: number,
  signal?: AbortSignal,
): Promise<readonly string[]> {
  const query = `SELECT name FROM system.tables WHERE database = currentDatabase() AND match(name, '${ASIDE_NAMES}')`
  const result = await client.query({ query, format: 'JSONEachRow', abort_signal: within(signal) })
  const isAbandoned = (name: string): boolean => {
    const created = CREATED.exec(name)?.[1]
    return created === undefined ? client.isEmbedded : nowMs / 1_000 - parseInt(created, 16) > ABANDONED_AFTER_S
  }
  const names = (await result.json<{ name: string }>()).map(({ name }) => name).filter(isAbandoned)
  for (const name of names) await drop(client, name)
  return names
}

/** Returns the engine of a table without replication: the other replicas fetch the partition that a table beside it becomes. */
export async function plainEngineOf(client: ClickHouse, table: string): Promise<string> {
  const query = `SELECT engine_full FROM system.tables WHERE database = currentDatabase() AND name = '${table}'`
  const result = await client.query({ query, format: 'JSONEachRow', abort_signal: within(undefined) })
  const [row] = await result.json<{ engine_full: string }>()
  if (row === undefined) throw new Error(`the store has no table ${table}`)
  return toPlainEngine(row.engine_full)
}

async function drop(client: ClickHouse, name: string): Promise<void> {
  const query = `DROP TABLE IF EXISTS ${name} SYNC SETTINGS max_table_size_to_drop = 0`
  await client.command({ query, abort_signal: within(undefined, TIMEOUT_MS) })
}
