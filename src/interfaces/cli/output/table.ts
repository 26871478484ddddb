/**
 * Draws a table that fits a width. Numbers are aligned at their ends.
 *
 * Without a width (a pipe) nothing is shortened or hidden.
 */

import { styleText } from 'node:util'
import { GAP, layOutColumns, type ColumnNeed } from './column-layout.ts'
import { fit, padEnd, padStart, toPlain, widestOf, wrap } from './plain-text.ts'

export interface TableOptions {
  readonly columns: number
  readonly colour: boolean
  /** Colours a cell that has been padded. */
  readonly paint?: (column: string, text: string, value: unknown) => string
  /** Columns to show first of all if there is not enough room; default: the first. */
  readonly first?: readonly string[]
}

export interface DrawnTable {
  readonly text: string
  /** Names of the columns for which there is no room. */
  readonly hidden: readonly string[]
}

export type Row = Readonly<Record<string, unknown>>

const EMPTY = '-'
const VALUE_MIN = 4
/** A longer name is a text, and may be shortened. */
const WHOLE_MAX = 40
const DATE = /^(\d{4}-\d\d-\d\d)T(\d\d:\d\d:\d\d)(?:\.\d+)?Z$/
const AMOUNT = /^-?\d+(?:\.\d+)?$/
/** Ids of the service have a prefix or are hexadecimal. */
const ID = /^(?:[a-z]{2,4}_[0-9a-z]{20,}|[0-9a-f]{16,})$/
const WHOLE_NAMES = /^(?:id|name|api|username|state|status|severity|type|.*Id|.*Revision|revision)$/

interface Column extends ColumnNeed {
  readonly heading: string
  readonly cells: readonly string[]
  readonly isNumeric: boolean
}

export function drawTable(names: readonly string[], rows: readonly Row[], options: TableOptions): DrawnTable {
  const { colour, paint, first = names.slice(0, 1) } = options
  const columns = new Map(names.map((name) => [name, toColumn(name, rows)]))
  const { shown, hidden } = layOutColumns([...columns.values()], { columns: options.columns, first })
  const toLine = (cellOf: (column: Column, padded: (text: string) => string) => string): string =>
    shown
      .map(({ name, width }, index) => {
        const column = columns.get(name)!
        const isLast = index === shown.length - 1
        return cellOf(column, (text) => {
          const fitting = fit(text, width)
          if (column.isNumeric) return padStart(fitting, width)
          return isLast ? fitting : padEnd(fitting, width)
        })
      })
      .join(GAP)
      .trimEnd()
  const head = toLine(({ heading }, padded) => padded(heading))
  const lines = rows.map((row, at) =>
    toLine(({ name, cells }, padded) => {
      const text = padded(cells[at]!)
      return paint === undefined || !colour ? text : paint(name, text, row[name])
    }),
  )
  const text = [colour ? styleText('bold', head, { validateStream: false }) : head, ...lines]
    .map((line) => `${line}\n`)
    .join('')
  return { text, hidden }
}

function toColumn(name: string, rows: readonly Row[]): Column {
  const heading = toHeading(name)
  const cells = rows.map((row) => toCell(row[name]))
  const width = widestOf([heading, ...cells])
  const isNumeric = rows.length > 0 && rows.every((row) => typeof row[name] === 'number')
  const isEmpty = cells.every((cell) => cell === EMPTY)
  const isWhole = isNumeric || WHOLE_NAMES.test(name) || rows.some((row) => isExact(row[name]))
  return { name, heading, cells, width, isNumeric, isEmpty, isWhole: isWhole && width <= WHOLE_MAX }
}

function isExact(value: unknown): boolean {
  return typeof value === 'string' && [ID, DATE, AMOUNT].some((pattern) => pattern.test(value))
}

/** Draws the fields of one item, one below the other; long values continue on the next line. */
export function drawFields(item: Row, { columns, colour }: TableOptions): string {
  const names = Object.keys(item)
  const width = widestOf(names.map(toHeading))
  const room = Math.max(VALUE_MIN, columns - width - GAP.length)
  return names
    .flatMap((name) => {
      const head = padEnd(toHeading(name), width)
      const cell = toCell(item[name])
      const shown = colour ? styleText('bold', head, { validateStream: false }) : head
      // An id is copied as one piece.
      if (widestOf(cell.split(' ')) > room) return [shown.trimEnd(), ...wrap(cell, columns)]
      const [first = '', ...rest] = wrap(cell, room)
      return [`${shown}${GAP}${first}`.trimEnd(), ...rest.map((line) => ' '.repeat(width + GAP.length) + line)]
    })
    .map((line) => `${line}\n`)
    .join('')
}

/** `complianceScore` becomes `COMPLIANCE SCORE`. */
function toHeading(name: string): string {
  return toPlain(name)
    .replace(/([a-z])([A-Z])/g, '$1 $2')
    .toUpperCase()
}

function toCell(value: unknown): string {
  if (value === null || value === undefined || value === '') return EMPTY
  if (typeof value === 'string') return toPlain(value.replace(DATE, '$1 $2Z'))
  if (typeof value !== 'object') return String(value)
  if (Object.keys(value).length === 0) return EMPTY
  const fields = Object.entries(value)
  if (fields.some(([, field]) => typeof field === 'object' && field !== null)) return toPlain(JSON.stringify(value))
  return toPlain((Array.isArray(value) ? value : fields.map(([name, field]) => `${name}=${field}`)).join(','))
}
