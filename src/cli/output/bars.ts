/** Draws a table with a bar at the end of each row, in proportion to the largest value. */

import { paint } from './paint.ts'
import { padEnd, widthOf } from './plain-text.ts'
import { drawTable, type Row, type TableOptions } from './table.ts'

export interface BarTable {
  readonly names: readonly string[]
  readonly rows: readonly Row[]
  /** Name of the number. */
  readonly bar: string
}

const WIDTH_MAX = 24
const WIDTH_MIN = 6
const GAP = '  '
/** A narrower terminal has no room for bars. */
const COLUMNS_MIN = 60

export function drawBars({ names, rows, bar }: BarTable, options: TableOptions): string {
  const { columns, colour } = options
  if (columns < COLUMNS_MIN) return drawTable(names, rows, options)
  const [head = '', ...lines] = drawTable(names, rows, { columns: columns - WIDTH_MIN - GAP.length, colour: false })
    .trimEnd()
    .split('\n')
  const width = Math.max(...[head, ...lines].map(widthOf))
  const room = Math.min(WIDTH_MAX, columns - width - GAP.length)
  const values = rows.map((row) => Math.max(0, Number(row[bar]) || 0))
  const max = Math.max(...values)
  const toBar = (value: number): string => (max === 0 ? '' : '█'.repeat(Math.ceil((value / max) * room)))
  const shown = lines.map((line, index) => {
    const text = toBar(values[index] ?? 0)
    return `${padEnd(line, width)}${GAP}${colour && text !== '' ? paint('cyan', text) : text}`.trimEnd()
  })
  return [colour ? paint('bold', head) : head, ...shown].map((line) => `${line}\n`).join('')
}
