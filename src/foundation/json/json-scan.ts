/**
 * Finds JSON that is nested too deep, has too many members, or repeats the name of a member, which
 * `JSON.parse` does not report.
 *
 * Parsers differ in which of two members with the same name they use (RFC 8259, section 4), so a backend
 * could act on a value that was not checked. One pass, no recursion. The parser decides whether the text is
 * JSON at all.
 */

export interface JsonBounds {
  readonly depthMax: number
  readonly membersMax: number
}

export interface JsonFault {
  readonly kind: 'broken' | 'doubled' | 'deep' | 'wide'
  /** Position in the text. */
  readonly index: number
}

const QUOTE = 34
const COLON = 58
const BACKSLASH = 92

export function scanJson(text: string, { depthMax, membersMax }: JsonBounds): JsonFault | null {
  /** The names found so far in each open bracket; null for a list. */
  const open: (Set<string> | null)[] = []
  let members = 0
  for (let index = 0; index < text.length; index++) {
    switch (text.charCodeAt(index)) {
      case QUOTE: {
        const end = endOfString(text, index)
        if (end < 0) return { kind: 'broken', index }
        const names = open.at(-1)
        if (names instanceof Set && isName(text, end)) {
          const name = nameOf(text.slice(index, end + 1))
          if (name === null) return { kind: 'broken', index }
          if (names.has(name)) return { kind: 'doubled', index }
          if (++members > membersMax) return { kind: 'wide', index }
          names.add(name)
        }
        index = end
        break
      }
      case 123:
        if (open.push(new Set()) > depthMax) return { kind: 'deep', index }
        break
      case 91:
        if (open.push(null) > depthMax) return { kind: 'deep', index }
        break
      case 125:
      case 93:
        open.pop()
    }
  }
  return null
}

function endOfString(text: string, from: number): number {
  for (let index = from + 1; index < text.length; index++) {
    const code = text.charCodeAt(index)
    if (code === QUOTE) return index
    if (code === BACKSLASH) index++
  }
  return -1
}

function isName(text: string, end: number): boolean {
  for (let index = end + 1; index < text.length; index++) {
    const code = text.charCodeAt(index)
    if (code !== 32 && code !== 9 && code !== 10 && code !== 13) return code === COLON
  }
  return false
}

/** Decodes escapes, since `"\u0061"` and `"a"` are the same name. */
function nameOf(literal: string): string | null {
  if (!literal.includes('\\')) return literal.slice(1, -1)
  try {
    return JSON.parse(literal) as string
  } catch {
    return null
  }
}
