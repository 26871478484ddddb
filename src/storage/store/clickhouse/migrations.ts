/**
 * Migrates the schema: applies the files of `sql/schema` in the order of their numbers.
 *
 * Applied files never change: the hash of each is stored, and a different hash refuses the start, because the
 * tables would no longer match the file.
 */

import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { StartRefused } from '../../../foundation/runtime/start-refused.ts'
import type { ClickHouse } from './client.ts'

export const SQL_FOLDER = join(import.meta.dirname, '../../../../sql')

export async function migrate(client: ClickHouse, folder = join(SQL_FOLDER, 'schema')): Promise<void> {
  await client.command({
    query: `CREATE TABLE IF NOT EXISTS schema_changes (file String, hash String, at DateTime DEFAULT now())
            ENGINE = MergeTree ORDER BY file`,
  })
  const applied = await readApplied(client)
  const pending = pendingFiles(applied, folder)
  for (const { file, hash, statements } of pending) {
    for (const statement of statements) await client.command({ query: ifMissing(statement) })
    await client.insert({ table: 'schema_changes', values: [{ file, hash }], format: 'JSONEachRow' })
  }
  if (pending.length > 0 && (client.isEmbedded || applied.size === 0)) await attachViews(client)
}

/** Hashes of the applied files, by their names. */
export type Applied = ReadonlyMap<string, string>

export async function readApplied(client: ClickHouse): Promise<Applied> {
  const result = await client.query({ query: 'SELECT file, hash FROM schema_changes', format: 'JSONEachRow' })
  return new Map((await result.json<{ file: string; hash: string }>()).map(({ file, hash }) => [file, hash]))
}

export interface SchemaFile {
  readonly file: string
  readonly hash: string
  readonly statements: readonly string[]
}

/** Reads the files that are not applied, in their order. Throws `StartRefused` if an applied file was changed. */
export function pendingFiles(applied: Applied, folder = join(SQL_FOLDER, 'schema')): readonly SchemaFile[] {
  const names = readdirSync(folder).sort()
  return names.flatMap((file) => {
    if (!/^\d{4}_.+\.sql$/.test(file)) return []
    const text = readFileSync(join(folder, file), 'utf8')
    const hash = createHash('sha256').update(text).digest('hex')
    const before = applied.get(file)
    if (before === hash) return []
    if (before !== undefined)
      throw new StartRefused(`sql/schema/${file} was changed after it was applied; add a new file instead`)
    return [{ file, hash, statements: statementsOf(text) }]
  })
}

/**
 * Attaches the views again. A view whose query was altered makes other tokens for the table that it feeds until the engine reads its
 * definition again, and an insert that is repeated after a restart would add its totals twice. Rows that a server stores for others
 * meanwhile would pass by the view: there, a flush is compared with the store before it is repeated.
 */
async function attachViews(client: ClickHouse): Promise<void> {
  const query = `SELECT name FROM system.tables WHERE database = currentDatabase() AND engine = 'MaterializedView'`
  const result = await client.query({ query, format: 'JSONEachRow' })
  for (const { name } of await result.json<{ name: string }>()) {
    await client.command({ query: `DETACH TABLE ${name} SYNC` })
    await client.command({ query: `ATTACH TABLE ${name}` })
  }
}

export function ifMissing(statement: string): string {
  return statement.replace(/^CREATE (TABLE|MATERIALIZED VIEW) /, 'CREATE $1 IF NOT EXISTS ')
}

/** Splits a file into statements, which end with a semicolon at the end of a line; comments may contain any text. */
export function statementsOf(text: string): string[] {
  return text
    .replace(/^--.*$/gm, '')
    .split(/;\s*$/m)
    .map((statement) => statement.trim())
    .filter((statement) => statement !== '')
}

/** Returns the text of a query of `sql/query`. */
export function readQuery(name: string): string {
  return readFileSync(join(SQL_FOLDER, 'query', `${name}.sql`), 'utf8')
}
