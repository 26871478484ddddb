/**
 * Output of the demo: redrawn in place on a terminal, printed line by line into a pipe or a file.
 *
 * On a terminal the cursor is hidden while the screen is redrawn, and restored at the end, even if the
 * process is interrupted.
 */

import type { WriteStream } from 'node:tty'

export interface Terminal {
  readonly inPlace: boolean
  readonly columns: number
  readonly colour: boolean
  /** Redraws the screen; prints lines if the output cannot be redrawn. */
  redraw(lines: readonly string[]): void
  print(line: string): void
  close(): void
}

const HIDE_CURSOR = '\x1b[?25l'
const SHOW_CURSOR = '\x1b[?25h'
const CLEAR_LINE = '\x1b[K'
const CLEAR_BELOW = '\x1b[J'
/** Pipes have no size, and some terminals report zero. */
const COLUMNS_UNKNOWN = 100

export function openTerminal(out: WriteStream, noColour: boolean): Terminal {
  const inPlace = out.isTTY
  let drawn = 0
  const showCursor = (): void => void (inPlace && out.write(SHOW_CURSOR))
  if (inPlace) out.write(HIDE_CURSOR)
  process.once('exit', showCursor)

  return {
    inPlace,
    get columns() {
      return out.columns || COLUMNS_UNKNOWN
    },
    colour: inPlace && !noColour,
    redraw(lines) {
      if (!inPlace) return void out.write(`${lines.join('\n')}\n`)
      const shown = lines.slice(0, Math.max(1, (out.rows || Infinity) - 1))
      const up = drawn > 0 ? `\x1b[${drawn}A\r` : ''
      out.write(`${up}${shown.map((line) => line + CLEAR_LINE).join('\n')}\n${CLEAR_BELOW}`)
      drawn = shown.length
    },
    print: (line) => void out.write(`${line}\n`),
    close() {
      process.off('exit', showCursor)
      showCursor()
    },
  }
}
