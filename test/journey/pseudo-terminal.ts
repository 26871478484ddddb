/**
 * A command in a pseudo-terminal of the kernel (`script` of util-linux), with its screen as xterm.js interprets it.
 *
 * The shell around the command compares the modes of the terminal before and after it: a command that leaves the raw mode on, or
 * the echo off, is found.
 */

import { spawn, spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import xterm, { type IBufferCell } from '@xterm/headless'
import { PLAIN_ENVIRONMENT } from './plain-environment.ts'

export interface Size {
  readonly columns: number
  readonly rows: number
}

export interface Cell {
  readonly text: string
  /** Index of the palette of 16 colours; null is the colour of the terminal. */
  readonly colour: number | null
  readonly isBold: boolean
}

export interface TerminalEnd {
  readonly code: number | null
  /** False if the command has changed the modes of the terminal for good. */
  readonly keepsModes: boolean
  readonly showsCursor: boolean
}

export interface PseudoTerminal {
  /** Lines of the screen and of what has scrolled away; a line that wraps is one line. */
  text(): string
  /** Cells of the rows, from the first to the last that has text. */
  cells(): readonly (readonly Cell[])[]
  /** Resolves with the first match in the text. */
  match(pattern: RegExp): Promise<RegExpExecArray>
  type(keys: string): void
  resize(size: Size): void
  /** Sends a signal to the command alone. Ctrl-C is `type('\x03')`. */
  signal(name: NodeJS.Signals): void
  /** Hangs up, as a terminal window that is closed. */
  close(): void
  readonly ended: Promise<TerminalEnd>
}

export interface PseudoTerminalOptions {
  readonly env: Readonly<Record<string, string>>
  readonly size?: Size
}

export const CTRL_C = '\x03'
const SIZE: Size = { columns: 120, rows: 30 }
const SCROLLBACK = 2_000
const MS_MAX = 120_000
const MATCH_MS_MAX = 30_000
/** `trap :` keeps the shell after Ctrl-C and, unlike `trap ''`, leaves the signal to the command. */
const SHELL = `trap : INT
stty rows "$ROWS" cols "$COLS"; tty > "$NOTES/tty"; stty -g > "$NOTES/before"
sh -c 'echo $$ > "$NOTES/pid"; unset NOTES ROWS COLS; exec "$@"' sh "$@"
code=$?
stty -g > "$NOTES/after"
exit $code`

export function openPseudoTerminal(command: readonly string[], options: PseudoTerminalOptions): PseudoTerminal {
  const { env, size = SIZE } = options
  const notes = mkdtempSync(join(tmpdir(), 'terminal-'))
  const note = (name: string): string => {
    const path = join(notes, name)
    return existsSync(path) ? readFileSync(path, 'utf8').trim() : ''
  }
  const screen = new xterm.Terminal({
    cols: size.columns,
    rows: size.rows,
    scrollback: SCROLLBACK,
    allowProposedApi: true,
  })
  const isCursorShown = watchCursor(screen)
  const line = `exec ${['sh', '-c', SHELL, 'sh', ...command].map(quote).join(' ')}`
  const child = spawn('script', ['--quiet', '--return', '--flush', '--command', line, '/dev/null'], {
    env: {
      ...PLAIN_ENVIRONMENT,
      TERM: 'xterm-256color',
      SHELL: '/bin/sh',
      NOTES: notes,
      ROWS: String(size.rows),
      COLS: String(size.columns),
      ...env,
    },
    stdio: ['pipe', 'pipe', 'ignore'],
    timeout: MS_MAX,
    killSignal: 'SIGKILL',
  })
  child.stdin.on('error', () => {})
  const listeners = new Set<() => void>()
  const look = (): void => listeners.forEach((listener) => listener())
  child.stdout.on('data', (chunk: Buffer) => screen.write(chunk, look))
  const ended = new Promise<TerminalEnd>((resolve, reject) => {
    child.on('error', reject)
    child.on('close', (code) =>
      screen.write('', () => {
        const before = note('before')
        resolve({ code, keepsModes: before !== '' && before === note('after'), showsCursor: isCursorShown() })
        rmSync(notes, { recursive: true, force: true })
      }),
    )
  })

  return {
    text: () => textOf(screen),
    cells: () => cellsOf(screen),
    match(pattern) {
      const { promise, resolve, reject } = Promise.withResolvers<RegExpExecArray>()
      const listener = (): void => {
        const found = pattern.exec(textOf(screen))
        if (found !== null) resolve(found)
      }
      listeners.add(listener)
      listener()
      const fail = (reason: string): void => reject(new Error(`${reason} without ${pattern}\n${textOf(screen)}`))
      const timer = setTimeout(() => fail(`${MATCH_MS_MAX} ms`), MATCH_MS_MAX)
      void ended.then(() => fail('the command ended'))
      return promise.finally(() => {
        clearTimeout(timer)
        listeners.delete(listener)
      })
    },
    type: (keys) => void child.stdin.write(keys),
    resize({ columns, rows }) {
      screen.resize(columns, rows)
      // The kernel sends SIGWINCH to the command.
      spawnSync('stty', ['-F', note('tty'), 'rows', String(rows), 'cols', String(columns)])
    },
    close: () => void child.kill('SIGKILL'),
    signal: (name) => void process.kill(Number(note('pid')), name),
    ended,
  }
}

function quote(word: string): string {
  return `'${word.replaceAll("'", `'\\''`)}'`
}

/** DECTCEM: `CSI ? 25 l` hides the cursor, `CSI ? 25 h` shows it. */
function watchCursor(screen: xterm.Terminal): () => boolean {
  let isShown = true
  for (const final of ['h', 'l']) {
    screen.parser.registerCsiHandler({ prefix: '?', final }, (parameters) => {
      if (parameters.includes(25)) isShown = final === 'h'
      return false
    })
  }
  return () => isShown
}

function textOf({ buffer: { active } }: xterm.Terminal): string {
  let text = ''
  for (let at = 0; at < active.length; at++) {
    const line = active.getLine(at)
    if (line === undefined) continue
    const isContinued = active.getLine(at + 1)?.isWrapped === true
    text += isContinued ? line.translateToString() : `${line.translateToString(true)}\n`
  }
  return `${text.trimEnd()}\n`
}

function cellsOf({ buffer: { active }, cols }: xterm.Terminal): readonly (readonly Cell[])[] {
  const rows = Array.from({ length: active.length }, (_, at) => {
    const line = active.getLine(at)
    return Array.from({ length: cols }, (__, column) => toCell(line?.getCell(column)))
  })
  return rows.slice(0, rows.findLastIndex((row) => row.some(({ text }) => text !== ' ')) + 1)
}

function toCell(cell: IBufferCell | undefined): Cell {
  if (cell === undefined) return { text: ' ', colour: null, isBold: false }
  // The second half of a wide character has no text.
  const text = cell.getWidth() === 0 ? '' : cell.getChars() || ' '
  return { text, colour: cell.isFgPalette() ? cell.getFgColor() : null, isBold: cell.isBold() !== 0 }
}
