/**
 * Copies a registry into an empty schema, with its positions, revisions and times.
 *
 * All of it is one transaction, so that a copy that is killed at any point leaves an empty schema. It holds the lock of commits and
 * that of starts: no node can start meanwhile. Before the commit, the rows are read back and compared with what was read first.
 */

import { randomUUID } from 'node:crypto'
import pg from 'pg'
import { StartRefused } from '../../../foundation/runtime/start-refused.ts'
import {
  COPIED_TABLES,
  isSameSummary,
  longHash,
  TableDigest,
  type CopiedRow,
  type CopiedTable,
  type CopiedValue,
  type TableSummary,
} from '../copied-tables.ts'
import type { Author } from '../registry.ts'
import { describeConnection, toClientConfig, toText } from './connection.ts'
import { COMMIT_LOCK, START_LOCK } from './lock-numbers.ts'
import { shownAuthor } from './plan-commits.ts'
import { refuseUnusable } from './refuse-unusable.ts'

/** The database holds another registry, or a copy that nodes have changed. */
export class RegistryDiffers extends StartRefused {}

export interface CopySource {
  count(table: CopiedTable): number
  /** In the order of the table. */
  read(table: CopiedTable): Iterable<CopiedRow>
  /** Position of the last change. */
  readonly end: number
}

export interface CopiedRegistry {
  /** True if an earlier copy was complete, and no node has changed it since. */
  readonly wasThere: boolean
  /** By name of the table. */
  readonly tables: ReadonlyMap<CopiedTable['name'], TableSummary>
}

type Summaries = CopiedRegistry['tables']

const BATCH_ROWS_MAX = 1_000
/** UTF-16 units; one row may have more. */
const BATCH_LENGTH_MAX = 2_000_000
const READ_BACK_ROWS = 2_000
const STATEMENT_MS = 120_000
const WITH_AUTHOR = new Set(['change', 'note'])
const LOCK_NOT_AVAILABLE = '55P03'

/** Returns host, port, database and user of a URL of PostgreSQL, which has been found usable. */
export function describeDatabase(url: string): string {
  return describeConnection(new pg.Client({ connectionString: url }))
}

/** Throws `StartRefused`. `beforeCommit` runs when the copy is verified. */
export async function copyRegistry(url: string, source: CopySource, beforeCommit: () => void): Promise<CopiedRegistry> {
  const config = { ...toClientConfig({ url, nodeName: 'migrate' }), query_timeout: STATEMENT_MS + 10_000 }
  await refuseUnusable(config)
  const client = new pg.Client(config)
  client.on('error', () => {})
  try {
    await client.connect()
    await begin(client)
    if (await isFilled(client)) return await compareWithEarlier(client, source)
    const copied: Summaries = new Map(await inTurn(COPIED_TABLES, (table) => copyTable(client, table, source)))
    await setEnds(client, source.end)
    refuseDifferent(copied, await readBack(client))
    beforeCommit()
    await client.query('COMMIT')
    return { wasThere: false, tables: copied }
  } catch (cause) {
    throw toRefusal(url, cause)
  } finally {
    // Ends the transaction, also one that failed.
    await client.end().catch(() => {})
  }
}

async function begin(client: pg.Client): Promise<void> {
  await client.query(
    `SET statement_timeout = ${STATEMENT_MS}; SET idle_in_transaction_session_timeout = ${STATEMENT_MS}`,
  )
  await client.query(`BEGIN; SELECT pg_advisory_xact_lock(${START_LOCK}); SELECT pg_advisory_xact_lock(${COMMIT_LOCK})`)
  const { rows } = await client.query<{ encoding: string }>(`SELECT current_setting('server_encoding') AS encoding`)
  if (rows[0]?.encoding !== 'UTF8') throw new StartRefused('the database of DATABASE_URL must have the encoding UTF8')
}

async function isFilled(client: pg.Client): Promise<boolean> {
  const found = COPIED_TABLES.map(({ name }) => `EXISTS (SELECT 1 FROM ${name})`).join(' OR ')
  const { rows } = await client.query<{ filled: boolean }>(`SELECT ${found} AS filled`)
  return rows[0]!.filled
}

async function compareWithEarlier(client: pg.Client, source: CopySource): Promise<CopiedRegistry> {
  const refusal = new RegistryDiffers(
    'DATABASE_URL already holds another registry, or nodes have changed it since it was copied; name an empty database',
  )
  const { rows } = await client.query<{ position: number }>('SELECT position FROM change_end')
  if (rows[0]?.position !== source.end) throw refusal
  const stored = await readBack(client)
  for (const table of COPIED_TABLES) {
    // Nodes store the uses of credentials without a change.
    if (table.name === 'credential_use') continue
    const digest = new TableDigest(table)
    for (const row of source.read(table)) digest.add(withHashes(table, toTarget(table, row)))
    if (!isSameSummary(digest.summary(), stored.get(table.name)!)) throw refusal
  }
  return { wasThere: true, tables: stored }
}

async function copyTable(
  client: pg.Client,
  table: CopiedTable,
  source: CopySource,
): Promise<readonly [CopiedTable['name'], TableSummary]> {
  const digest = new TableDigest(table)
  const insert = createInsert(client, table)
  let batch: CopiedRow[] = []
  let length = 0
  for (const found of source.read(table)) {
    const row = toTarget(table, found)
    digest.add(withHashes(table, row))
    batch.push(row)
    length += lengthOf(row)
    if (batch.length < BATCH_ROWS_MAX && length < BATCH_LENGTH_MAX) continue
    await insert(batch)
    batch = []
    length = 0
  }
  if (batch.length > 0) await insert(batch)
  const summary = digest.summary()
  const counted = source.count(table)
  if (summary.rows !== counted)
    throw new StartRefused(`only ${summary.rows} of ${counted} rows of ${table.name} were read`)
  return [table.name, summary]
}

function lengthOf(row: CopiedRow): number {
  return Object.values(row).reduce<number>((sum, value) => sum + (typeof value === 'string' ? value.length : 8), 0)
}

/** The row as PostgreSQL holds it. */
function toTarget({ columns }: CopiedTable, row: CopiedRow): CopiedRow {
  const values = Object.entries(columns).map(([name, type]): [string, CopiedValue] => {
    const value = row[name] ?? null
    if (type === 'boolean') return [name, Boolean(value)]
    return [name, typeof value === 'string' ? toText(value) : value]
  })
  return Object.fromEntries(values)
}

function withHashes({ long }: CopiedTable, row: CopiedRow): CopiedRow {
  return { ...row, ...Object.fromEntries(long.map((name) => [name, longHash(row[name] ?? null)])) }
}

function createInsert(
  client: pg.Client,
  { name, columns }: CopiedTable,
): (rows: readonly CopiedRow[]) => Promise<void> {
  const hasAuthor = WITH_AUTHOR.has(name)
  const types = Object.entries({ ...columns, ...(hasAuthor && { shown_author: 'text' }) })
  const names = types.map(([column]) => column)
  const arrays = types.map(([, type], index) => `$${index + 1}::${type}[]`)
  const commit = name === 'change' ? randomUUID() : null
  // The changes of one copy have one commit.
  const sql = `INSERT INTO ${name} (${names.join()}${commit === null ? '' : ', commit_id'})
    ${name === 'note' ? 'OVERRIDING SYSTEM VALUE' : ''}
    SELECT r.*${commit === null ? '' : `, '${commit}'::uuid`} FROM unnest(${arrays.join()}) AS r (${names.join()})`
  return async (rows) => {
    const shown = hasAuthor ? rows.map((row) => ({ ...row, shown_author: shownAuthorOf(row) })) : rows
    await client.query(
      sql,
      names.map((column) => shown.map((row: CopiedRow) => row[column])),
    )
  }
}

function shownAuthorOf({ author, tenant }: CopiedRow): string {
  return shownAuthor(JSON.parse(String(author)) as Author, String(tenant))
}

async function setEnds(client: pg.Client, end: number): Promise<void> {
  await client.query('UPDATE change_end SET position = $1', [end])
  const { rows } = await client.query<{ next: number }>('SELECT coalesce(max(position), 0) + 1 AS next FROM note')
  await client.query(`ALTER TABLE note ALTER COLUMN position RESTART WITH ${Number(rows[0]!.next)}`)
  for (const { name } of COPIED_TABLES) await client.query(`ANALYZE ${name}`)
}

async function readBack(client: pg.Client): Promise<Summaries> {
  return new Map(await inTurn(COPIED_TABLES, async (table) => [table.name, await readTable(client, table)] as const))
}

async function readTable(client: pg.Client, table: CopiedTable): Promise<TableSummary> {
  const { name, columns, order, long } = table
  const shown = Object.keys(columns).map((column) =>
    long.includes(column) ? `encode(sha256(convert_to(${column}, 'UTF8')), 'hex') AS ${column}` : column,
  )
  const select = `SELECT ${shown.join()} FROM ${name}`
  const page = `ORDER BY ${order.join()} LIMIT ${READ_BACK_ROWS}`
  const after = `(${order.join()}) > (${order.map((column, index) => `$${index + 1}::${columns[column]!}`).join()})`
  const digest = new TableDigest(table)
  for (let last: CopiedRow | undefined; ;) {
    const sql = `${select} ${last === undefined ? '' : `WHERE ${after}`} ${page}`
    const found: pg.QueryResult<CopiedRow> = await client.query(
      sql,
      order.flatMap((column) => last?.[column] ?? []),
    )
    for (const row of found.rows) digest.add(row)
    if (found.rows.length < READ_BACK_ROWS) return digest.summary()
    last = found.rows.at(-1)
  }
}

function refuseDifferent(copied: Summaries, stored: Summaries): void {
  for (const [name, summary] of copied) {
    if (isSameSummary(summary, stored.get(name)!)) continue
    throw new StartRefused(`PostgreSQL did not store the rows of ${name} as they were sent; nothing was copied`)
  }
}

async function inTurn<One, Result>(all: readonly One[], work: (one: One) => Promise<Result>): Promise<Result[]> {
  const results: Result[] = []
  for (const one of all) results.push(await work(one))
  return results
}

function toRefusal(url: string, cause: unknown): unknown {
  if (cause instanceof StartRefused) return cause
  const isPostgres = cause instanceof pg.DatabaseError
  if (isPostgres && cause.code === LOCK_NOT_AVAILABLE) {
    return new StartRefused('DATABASE_URL: a node or another migration uses the database; stop it', { cause })
  }
  if (!isPostgres && !(cause instanceof Error && /connection|timeout|terminated|not queryable/i.test(cause.message))) {
    return cause
  }
  const reason = isPostgres ? `PostgreSQL refused (${cause.code})` : 'the connection was lost'
  return new StartRefused(`DATABASE_URL (${describeDatabase(url)}): ${reason}; run the command again`, { cause })
}
