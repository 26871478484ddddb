/**
 * Draws a table that fits a width: the widest columns are shortened first, and numbers are aligned at their ends.
 *
 * Without a width (a pipe) nothing is shortened.
 */

import { styleText } from 'node:util'
import { fit, padEnd, padStart, toPlain, widthOf } from './plain-text.ts'

export interface TableOptions {
  readonly columns: number
  readonly colour: boolean
  /** Colours a cell that has been padded. */
  readonly paint?: (column: string, text: string, value: unknown) => string
}

export type Row = Readonly<Record<string, unknown>>

const GAP = '  '
const WIDTH_MIN = 4
const DATE = /^(\d{4}-\d\d-\d\d)T(\d\d:\d\d:\d\d)(?:\.\d+)?Z$/

export function drawTable(names: readonly string[], rows: readonly Row[], options: TableOptions): string {
  const { colour, paint } = options
  const cells = rows.map((row) => names.map((name) => toCell(row[name])))
  const heads = names.map(toHeading)
  const widths = shrink(
    names.map((_, index) => Math.max(widthOf(heads[index]!), ...cells.map((row) => widthOf(row[index]!)))),
    options.columns,
  )
  const isNumeric = names.map((name) => rows.length > 0 && rows.every((row) => typeof row[name] === 'number'))
  const align = (text: string, index: number): string => {
    const shown = fit(text, widths[index]!)
    if (isNumeric[index]) return padStart(shown, widths[index]!)
    return index === names.length - 1 ? shown : padEnd(shown, widths[index]!)
  }
  const head = heads.map(align).join(GAP).trimEnd()
  const lines = cells.map((row, at) =>
    row
      .map((text, index) => {
        const shown = align(text, index)
        return paint === undefined || !colour ? shown : paint(names[index]!, shown, rows[at]![names[index]!])
      })
      .join(GAP)
      .trimEnd(),
  )
  return [colour ? styleText('bold', head, { validateStream: false }) : head, ...lines]
    .map((line) => `${line}\n`)
    .join('')
}

/** Draws the fields of one item, one below the other; long values continue on the next line. */
export function drawFields(item: Row, { columns, colour }: TableOptions): string {
  const names = Object.keys(item)
  const width = Math.max(0, ...names.map((name) => widthOf(toHeading(name))))
  const room = Math.max(WIDTH_MIN, columns - width - GAP.length)
  return names
    .flatMap((name) => {
      const head = padEnd(toHeading(name), width)
      const [first = '', ...rest] = wrap(toCell(item[name]), room)
      const shown = colour ? styleText('bold', head, { validateStream: false }) : head
      return [`${shown}${GAP}${first}`.trimEnd(), ...rest.map((line) => ' '.repeat(width + GAP.length) + line)]
    })
    .map((line) => `${line}\n`)
    .join('')
}

/** Breaks a text at blanks, and a long word anywhere. */
function wrap(text: string, width: number): readonly string[] {
  if (widthOf(text) <= width) return [text]
  const lines: string[] = []
  let line = ''
  for (const word of text.split(' ').flatMap((each) => pieces(each, width))) {
    const longer = line === '' ? word : `${line} ${word}`
    if (widthOf(longer) > width) {
      lines.push(line)
      line = word
    } else {
      line = longer
    }
  }
  return [...lines, line]
}

/** Half of the width is always enough, whatever the width of the characters. */
function pieces(word: string, width: number): readonly string[] {
  if (widthOf(word) <= width) return [word]
  const length = Math.max(1, Math.floor(width / 2))
  const count = Math.ceil(word.length / length)
  return Array.from({ length: count }, (_, index) => word.slice(index * length, (index + 1) * length))
}

/** `complianceScore` becomes `COMPLIANCE SCORE`. */
function toHeading(name: string): string {
  return toPlain(name)
    .replace(/([a-z])([A-Z])/g, '$1 $2')
    .toUpperCase()
}

function toCell(value: unknown): string {
  if (value === null || value === undefined) return '-'
  if (typeof value === 'string') return toPlain(value.replace(DATE, '$1 $2Z'))
  if (Array.isArray(value) && value.every((item) => typeof item === 'string')) return toPlain(value.join(','))
  return typeof value === 'object' ? toPlain(JSON.stringify(value)) : String(value)
}

/** Shortens the widest columns to a common limit, the highest one with which all columns fit. */
function shrink(widths: readonly number[], columns: number): readonly number[] {
  const room = columns - GAP.length * (widths.length - 1)
  const needed = (limit: number): number => widths.reduce((sum, width) => sum + Math.min(width, limit), 0)
  let low = WIDTH_MIN
  let high = Math.max(WIDTH_MIN, ...widths)
  if (needed(high) <= room) return widths
  while (low < high) {
    const middle = Math.ceil((low + high) / 2)
    if (needed(middle) <= room) low = middle
    else high = middle - 1
  }
  return widths.map((width) => Math.min(width, low))
}
