/**
 * Compares the tables and views of the embedded store with those that its migrations create.
 *
 * The engine keeps each definition in a text file without a checksum. A truncated one can still be a valid statement: a view without
 * its source is attached and never fed, a table without its settings stores a repeated insert twice.
 */

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { within, type ClickHouse } from './client.ts'
import { SQL_FOLDER, statementsOf } from './migrations.ts'
import { isRollup } from './rollup-tables.ts'

export interface Definitions {
  readonly missingTables: readonly string[]
  /** Tables whose definition differs from that of the migrations. */
  readonly changedTables: readonly string[]
  /** Views that are missing or whose definition differs from that of the migrations, and missing rollups. */
  readonly lostDerived: readonly string[]
}

interface Definition {
  readonly name: string
  readonly statement: string
  /** Views and rollups hold nothing that other tables lack. */
  readonly kind: 'table' | 'view' | 'rollup'
}

/** The tables and views that the migrations create; a contract test compares the two. */
const FILE = join(SQL_FOLDER, 'definitions.sql')
const CREATE = /^CREATE (TABLE|MATERIALIZED VIEW) (\w+)/

export async function compareDefinitions(client: ClickHouse): Promise<Definitions> {
  const found = await definitionsOf(client)
  const compared: (Definition & { readonly is: 'missing' | 'changed' | 'same' })[] = []
  for (const expected of readDefinitions()) {
    const statement = found.get(expected.name)
    const isSame = statement !== undefined && (await haveOneMeaning(client, statement, expected.statement))
    compared.push({ ...expected, is: statement === undefined ? 'missing' : isSame ? 'same' : 'changed' })
  }
  // A changed file of a rollup may name the files of another table, which would be dropped with it.
  const isLost = ({ kind, is }: (typeof compared)[number]): boolean =>
    kind === 'view' ? is !== 'same' : kind === 'rollup' && is === 'missing'
  return {
    missingTables: namesOf(compared.filter(({ kind, is }) => kind === 'table' && is === 'missing')),
    changedTables: namesOf(compared.filter(({ kind, is }) => kind !== 'view' && is === 'changed')),
    lostDerived: namesOf(compared.filter(isLost)),
  }
}

/**
 * Recreates views and rollups.
 *
 * A view holds no rows. If an insert is repeated through the new view, the table that it feeds recognises the duplicate. Rollups are
 * made again in the background.
 */
export async function remakeDerived(client: ClickHouse, names: readonly string[]): Promise<void> {
  for (const { name, kind, statement } of readDefinitions().filter((each) => names.includes(each.name))) {
    if (kind === 'view')
      await client.command({ query: `DROP VIEW IF EXISTS ${name} SYNC`, abort_signal: within(undefined) })
    await client.command({ query: statement, abort_signal: within(undefined) })
  }
}

export function derivedNames(): readonly string[] {
  return namesOf(readDefinitions().filter(({ kind }) => kind !== 'table'))
}

/** Names of the tables, rollups included. */
export function tableNames(): readonly string[] {
  return namesOf(readDefinitions().filter(({ kind }) => kind !== 'view'))
}

/** Statements that create all tables and views, in an order in which each finds what it needs. */
export function definitionStatements(): readonly string[] {
  const definitions = readDefinitions()
  const isView = ({ kind }: Definition): boolean => kind === 'view'
  return [...definitions.filter((each) => !isView(each)), ...definitions.filter(isView)].map(
    ({ statement }) => statement,
  )
}

export function isDerived(table: string): boolean {
  return derivedNames().includes(table)
}

/** Statements by name, without the name of the database. */
async function definitionsOf(client: ClickHouse): Promise<ReadonlyMap<string, string>> {
  const result = await client.query({
    query: `SELECT name, create_table_query AS statement, currentDatabase() AS database
            FROM system.tables WHERE database = currentDatabase()`,
    format: 'JSONEachRow',
    abort_signal: within(undefined),
  })
  const rows = await result.json<{ name: string; statement: string; database: string }>()
  return new Map(
    rows.map(({ name, statement, database }) => [name, statement.replaceAll(new RegExp(`\\b${database}\\.`, 'g'), '')]),
  )
}

function readDefinitions(): readonly Definition[] {
  return statementsOf(readFileSync(FILE, 'utf8')).map((statement) => {
    const [, type, name] = CREATE.exec(statement) ?? []
    if (name === undefined) throw new Error(`${FILE}: ${statement.slice(0, 80)} creates no table and no view`)
    return { name, statement, kind: type === 'MATERIALIZED VIEW' ? 'view' : isRollup(name) ? 'rollup' : 'table' }
  })
}

function namesOf(definitions: readonly Definition[]): readonly string[] {
  return definitions.map(({ name }) => name)
}

/** Versions of the engine may format a statement differently, so the engine formats both. */
async function haveOneMeaning(client: ClickHouse, one: string, other: string): Promise<boolean> {
  const result = await client.query({
    query: 'SELECT formatQuerySingleLine({one:String}) = formatQuerySingleLine({other:String}) AS is_same',
    query_params: { one, other },
    format: 'JSONEachRow',
    abort_signal: within(undefined),
  })
  return (await result.json<{ is_same: number }>())[0]?.is_same === 1
}
