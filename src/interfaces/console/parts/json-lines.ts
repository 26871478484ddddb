/** The lines of the members of a JSON text, by their pointers. */

interface Cursor {
  at: number
  line: number
}

/** Returns the line of each member, from 1. The text must be valid JSON. */
export function linesOf(text: string): ReadonlyMap<string, number> {
  const lines = new Map<string, number>()
  const cursor = { at: 0, line: 1 }
  readValue(text, cursor, '', lines)
  return lines
}

/** Returns the line of a pointer, or of the nearest member above it that the text has. */
export function lineAt(lines: ReadonlyMap<string, number>, pointer: string): number {
  for (let rest = pointer; ; rest = rest.slice(0, rest.lastIndexOf('/'))) {
    const line = lines.get(rest)
    if (line !== undefined || !rest.includes('/')) return line ?? 1
  }
}

function skipSpace(text: string, cursor: Cursor): void {
  for (; /[\s,:]/.test(text[cursor.at] ?? ''); cursor.at++) if (text[cursor.at] === '\n') cursor.line++
}

function readString(text: string, cursor: Cursor): string {
  const from = cursor.at++
  while (text[cursor.at] !== '"') cursor.at += text[cursor.at] === '\\' ? 2 : 1
  return JSON.parse(text.slice(from, ++cursor.at)) as string
}

function readValue(text: string, cursor: Cursor, pointer: string, lines: Map<string, number>): void {
  skipSpace(text, cursor)
  if (!lines.has(pointer)) lines.set(pointer, cursor.line)
  const first = text[cursor.at]
  if (first === '"') readString(text, cursor)
  else if (first !== '{' && first !== '[') while (/[\w.+-]/.test(text[cursor.at] ?? '')) cursor.at++
  else readMembers(text, cursor, pointer, lines)
}

function readMembers(text: string, cursor: Cursor, pointer: string, lines: Map<string, number>): void {
  const isObject = text[cursor.at++] === '{'
  for (let index = 0; ; index++) {
    skipSpace(text, cursor)
    const next = text[cursor.at]
    if (next === '}' || next === ']' || next === undefined) {
      cursor.at++
      return
    }
    const { line } = cursor
    const key = isObject ? readString(text, cursor).replaceAll('~', '~0').replaceAll('/', '~1') : String(index)
    lines.set(`${pointer}/${key}`, line)
    readValue(text, cursor, `${pointer}/${key}`, lines)
  }
}
