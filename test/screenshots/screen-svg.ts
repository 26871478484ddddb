/** Draws the cells of a terminal as SVG. Each run of cells has its length, so that columns align in every font. */

import type { Cell } from '../journey/pseudo-terminal.ts'

const COLUMN = 8.4
const LINE = 19
const MARGIN = 16
const BACKGROUND = '#16181d'
const TEXT = '#d7dae0'
/** The 16 colours of the palette. */
const PALETTE = [
  ...['#3f4451', '#e5646e', '#8cc265', '#d9a54c', '#4aa5f0', '#c162de', '#42b3c2', '#d7dae0'],
  ...['#7f8694', '#ff616e', '#a5e075', '#f0c674', '#4dc4ff', '#de73ff', '#4cd1e0', '#ffffff'],
]

interface Run {
  readonly at: number
  readonly cells: readonly Cell[]
}

/** `title` is read by screen readers. */
export function drawScreen(rows: readonly (readonly Cell[])[], title: string): string {
  const columns = Math.max(...rows.map((row) => row.findLastIndex(({ text }) => text !== ' ') + 1))
  const width = Math.ceil(columns * COLUMN + 2 * MARGIN)
  const height = rows.length * LINE + 2 * MARGIN
  const lines = rows.flatMap((row, index) => runsOf(row).map((run) => drawRun(run, MARGIN + (index + 0.75) * LINE)))
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img">
<title>${escape(title)}</title>
<rect width="${width}" height="${height}" rx="8" fill="${BACKGROUND}"/>
<g font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace" font-size="14" fill="${TEXT}">
${lines.join('\n')}
</g>
</svg>
`
}

/** Neighbours of the same style, without the blanks between words of different ones. */
function runsOf(row: readonly Cell[]): readonly Run[] {
  const runs: { at: number; cells: Cell[] }[] = []
  for (const [at, cell] of row.entries()) {
    const last = runs.at(-1)
    const before = last?.cells.at(-1)
    const isSame = before?.colour === cell.colour && before.isBold === cell.isBold
    if (last !== undefined && isSame) last.cells.push(cell)
    else runs.push({ at, cells: [cell] })
  }
  return runs
    .map(({ at, cells }) => ({ at, cells: cells.slice(0, cells.findLastIndex(({ text }) => text !== ' ') + 1) }))
    .filter(({ cells }) => cells.length > 0)
}

function drawRun({ at, cells }: Run, y: number): string {
  const [{ colour, isBold } = { colour: null, isBold: false }] = cells
  const x = MARGIN + at * COLUMN
  const text = cells.map((cell) => cell.text).join('')
  const fill = colour === null ? '' : ` fill="${PALETTE[colour] ?? TEXT}"`
  // Fonts differ in the width of blocks; a rectangle joins its neighbours.
  if (/^█+$/.test(text))
    return `<rect x="${x.toFixed(1)}" y="${(y - LINE * 0.65).toFixed(1)}" width="${(cells.length * COLUMN).toFixed(1)}" height="${LINE * 0.75}"${fill}/>`
  const weight = isBold ? ' font-weight="bold"' : ''
  const length = (cells.length * COLUMN).toFixed(1)
  return `<text x="${x.toFixed(1)}" y="${y.toFixed(1)}" textLength="${length}" xml:space="preserve"${fill}${weight}>${escape(text)}</text>`
}

function escape(text: string): string {
  return text.replace(/[&<>"]/g, (character) => `&#${character.charCodeAt(0)};`)
}
