/** Draws a table with a bar at the end of each row, in proportion to the largest value. */

import { GAP } from './column-layout.ts'
import { paint } from './paint.ts'
import { padEnd, widestOf } from './plain-text.ts'
import { drawTable, type DrawnTable, type Row, type TableOptions } from './table.ts'

export interface BarTable {
  readonly names: readonly string[]
  readonly rows: readonly Row[]
  /** Name of the number. */
  readonly bar: string
}

const WIDTH_MAX = 24
const WIDTH_MIN = 6
/** A narrower terminal has no room for bars. */
const COLUMNS_MIN = 60

export function drawBars({ names, rows, bar }: BarTable, options: TableOptions): DrawnTable {
  const { columns, colour } = options
  if (columns < COLUMNS_MIN) return drawTable(names, rows, options)
  const roomForTable = columns - WIDTH_MIN - GAP.length
  const { text, hidden } = drawTable(names, rows, { ...options, columns: roomForTable, colour: false })
  const [head = '', ...lines] = text.trimEnd().split('\n')
  const width = widestOf([head, ...lines])
  const room = Math.min(WIDTH_MAX, columns - width - GAP.length)
  const values = rows.map((row) => Math.max(0, Number(row[bar]) || 0))
  const max = values.reduce((one, other) => Math.max(one, other), 0)
  const toBar = (value: number): string => (max === 0 ? '' : '█'.repeat(Math.ceil((value / max) * room)))
  const shown = lines.map((line, index) => {
    const drawn = toBar(values[index] ?? 0)
    return `${padEnd(line, width)}${GAP}${colour && drawn !== '' ? paint('cyan', drawn) : drawn}`.trimEnd()
  })
  const painted = [colour ? paint('bold', head) : head, ...shown]
  return { text: painted.map((line) => `${line}\n`).join(''), hidden }
}
