/**
 * Prints the answer of an operation as `-o table|json|yaml|csv|name`.
 *
 * JSON and YAML have the fields of the API, and a list has its `items` and `next`.
 */

import { CommandFailed } from '../exit-codes.ts'
import type { Io } from '../io.ts'
import { toCsvText } from './csv-text.ts'
import { paintCell } from './paint.ts'
import { toPlain, wrap } from './plain-text.ts'
import { drawBars } from './bars.ts'
import { drawFields, drawTable, type Row } from './table.ts'

export const OUTPUT_FORMATS = ['table', 'json', 'yaml', 'csv', 'name'] as const
export type OutputFormat = (typeof OUTPUT_FORMATS)[number]

export interface Shape {
  /** The member that has the items of a list; default: `items`. */
  readonly items?: string | undefined
  /** Columns of a table; default: all fields with simple values. */
  readonly columns?: readonly string[]
  /** Shown in place of a table without rows; default: `No items.` */
  readonly none?: string | undefined
  /** A number that is shown as a bar per row on a terminal. */
  readonly bar?: string
  /** The argument that named the item: what `-o name` prints of a result without a name. */
  readonly id?: string
}

interface List {
  readonly items: readonly Row[]
  readonly next?: string | null
}

/** Fields that name an item, the most specific first. */
const NAMES = ['id', 'riskId', 'name', 'requestId', 'username', 'keyId', 'kid', 'operationId', 'number', 'revision']

export async function printResult(result: unknown, format: OutputFormat, { out, err }: Io, shape: Shape = {}) {
  if (format === 'json') return out.write(`${toJsonText(result)}\n`)
  if (format === 'yaml') return out.write((await import('yaml')).stringify(result))
  const items = itemsOf(result, shape)
  const rows = items ?? [isRow(result) ? result : { value: result }]
  if (format === 'csv') return out.write(toCsvText(rows))
  if (format === 'name') return out.write(rows.map((row) => `${nameOf(row, shape)}\n`).join(''))
  const { columns, colour } = out
  if (items === null) return out.write(drawFields(rows[0] ?? {}, { columns, colour }))
  if (rows.length === 0) return err.write(`${shape.none ?? 'No items.'}\n`)
  const { bar } = shape
  const names = chooseColumns(rows, shape)
  const key = NAMES.find((name) => names.includes(name)) ?? names[0] ?? ''
  const options = { columns, colour, paint: paintCell, first: bar === undefined ? [key] : [key, bar] }
  const isPlain = bar === undefined || !out.isTerminal
  const { text, hidden } = isPlain ? drawTable(names, rows, options) : drawBars({ names, rows, bar }, options)
  out.write(text)
  if (hidden.length === 0) return
  const note = `Not shown: ${hidden.join(', ')}. Widen the terminal, or use -o json.`
  err.write(`${wrap(note, err.columns).join('\n')}\n`)
}

/** JSON without the control characters that it may contain unescaped, which a terminal would execute. */
export function toJsonText(value: unknown, indent = 2): string {
  const escape = (character: string): string => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
  return JSON.stringify(value, null, indent).replace(/[\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g, escape)
}

function chooseColumns(rows: readonly Row[], shape: Shape): readonly string[] {
  const present = shape.columns?.filter((name) => rows.some((row) => row[name] !== undefined))
  return present === undefined || present.length === 0 ? columnsOf(rows) : present
}

function columnsOf(rows: readonly Row[]): readonly string[] {
  const names = [...new Set(rows.flatMap((row) => Object.keys(row)))]
  const simple = names.filter((name) => rows.some((row) => row[name] !== null && typeof row[name] !== 'object'))
  return simple.length > 0 ? simple : names
}

function nameOf(row: Row, { id }: Shape): string {
  const field = NAMES.find((name) => row[name] !== undefined && row[name] !== null)
  if (field === undefined && id !== undefined) return toPlain(id)
  if (field === undefined) throw new CommandFailed('The result has no id and no name. Choose another format than name.')
  return toPlain(String(row[field]))
}

export function isList(value: unknown): value is List {
  return itemsOf(value, {}) !== null
}

function itemsOf(value: unknown, { items = 'items' }: Shape): readonly Row[] | null {
  const found = isRow(value) ? value[items] : undefined
  return Array.isArray(found) && found.every(isRow) ? found : null
}

function isRow(value: unknown): value is Row {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
