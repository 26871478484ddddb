/** The tables of a registry that a copy of it has, with what is compared of their rows. */

import { createHash } from 'node:crypto'

export type CopiedValue = string | number | boolean | null
export type CopiedRow = Readonly<Record<string, CopiedValue>>

type ColumnType = 'text' | 'bigint' | 'boolean'

export interface CopiedTable {
  readonly name: 'document' | 'document_key' | 'change' | 'note' | 'credential_use'
  readonly columns: Readonly<Record<string, ColumnType>>
  /** Its primary key, in the order of which its rows are read. */
  readonly order: readonly string[]
  /** Columns that may be long: their hashes are compared. */
  readonly long: readonly string[]
}

/** Properties of a table that both sides of a copy must share. */
export interface TableSummary {
  readonly rows: number
  /** Sum of the revisions; 0 for a table without them. */
  readonly revisions: number
  readonly digest: string
}

const NAMED = { kind: 'text', id: 'text', tenant: 'text' } as const
const STORED = {
  ...NAMED,
  revision: 'bigint',
  body: 'text',
  created_at_ms: 'bigint',
  updated_at_ms: 'bigint',
} as const
const AUTHORED = { author: 'text', action: 'text' } as const

export const COPIED_TABLES: readonly CopiedTable[] = [
  { name: 'document', columns: STORED, order: ['kind', 'id'], long: ['body'] },
  {
    name: 'document_key',
    columns: { kind: 'text', name: 'text', value: 'text', tenant: 'text', id: 'text', is_unique: 'boolean' },
    order: ['kind', 'name', 'value', 'tenant', 'id'],
    long: [],
  },
  {
    name: 'change',
    columns: { position: 'bigint', ...STORED, removed: 'boolean', before: 'text', ...AUTHORED },
    order: ['position'],
    long: ['body', 'before'],
  },
  {
    name: 'note',
    columns: { position: 'bigint', ...NAMED, at_ms: 'bigint', ...AUTHORED },
    order: ['position'],
    long: [],
  },
  {
    name: 'credential_use',
    columns: { credential: 'text', minute: 'bigint' },
    order: ['credential'],
    long: [],
  },
]

/** Hash of a long value, as `sha256` of PostgreSQL returns it in hex. */
export function longHash(value: CopiedValue): CopiedValue {
  return typeof value === 'string' ? createHash('sha256').update(value).digest('hex') : value
}

/** Adds up the rows of a table, in its order; values of long columns are hashes. */
export class TableDigest {
  readonly #table: CopiedTable
  readonly #hash = createHash('sha256')
  #rows = 0
  #revisions = 0

  constructor(table: CopiedTable) {
    this.#table = table
  }

  add(row: CopiedRow): void {
    this.#rows++
    if ('revision' in this.#table.columns) this.#revisions += Number(row['revision'])
    this.#hash.update(`${JSON.stringify(Object.keys(this.#table.columns).map((name) => row[name]))}\n`)
  }

  summary(): TableSummary {
    return { rows: this.#rows, revisions: this.#revisions, digest: this.#hash.digest('hex') }
  }
}

export function isSameSummary(one: TableSummary, other: TableSummary): boolean {
  return one.rows === other.rows && one.revisions === other.revisions && one.digest === other.digest
}
