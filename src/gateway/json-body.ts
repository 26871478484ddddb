/**
 * JSON from a stranger: parsed once we know that it is not too deep, not too wide, and says nothing
 * twice.
 *
 * Of two members with one name, parsers differ in which they believe; the backend might act on the one
 * that was not validated. The scan before the parse is one pass over the bytes' text, without recursion.
 */

export type JsonResult = { readonly value: unknown } | { readonly fault: string }

const DEPTH_MAX = 64
const MEMBERS_MAX = 10_000

export function parseJsonBody(bytes: Buffer): JsonResult {
  let text: string
  try {
    text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    return { fault: 'The body is not UTF-8.' }
  }
  let value: unknown
  const fault = scan(text)
  if (fault !== null) return { fault }
  try {
    value = JSON.parse(text)
  } catch {
    return { fault: 'The body is not JSON.' }
  }
  return { value }
}

/** Only bounds and doubled names; whether it is JSON is for the parser to say. */
function scan(text: string): string | null {
  /** For each open bracket the names seen in it; null for a list. */
  const open: (Set<string> | null)[] = []
  let members = 0
  for (let index = 0; index < text.length; index++) {
    switch (text.charCodeAt(index)) {
      case 34: {
        const end = endOfString(text, index)
        if (end < 0) return 'The body is not JSON.'
        const names = open[open.length - 1]
        if (names instanceof Set && isName(text, end)) {
          const name = nameOf(text.slice(index, end + 1))
          if (name === null) return 'The body is not JSON.'
          if (names.has(name)) return 'An object has two members of one name.'
          if (++members > MEMBERS_MAX) return `The body has more than ${MEMBERS_MAX} members.`
          names.add(name)
        }
        index = end
        break
      }
      case 123:
      case 91:
        if (open.length >= DEPTH_MAX) return `The body is nested more than ${DEPTH_MAX} levels deep.`
        open.push(text.charCodeAt(index) === 123 ? new Set() : null)
        break
      case 125:
      case 93:
        open.pop()
        break
    }
  }
  return null
}

function endOfString(text: string, from: number): number {
  for (let index = from + 1; index < text.length; index++) {
    const code = text.charCodeAt(index)
    if (code === 34) return index
    if (code === 92) index++
  }
  return -1
}

function isName(text: string, end: number): boolean {
  for (let index = end + 1; index < text.length; index++) {
    const code = text.charCodeAt(index)
    if (code !== 32 && code !== 9 && code !== 10 && code !== 13) return code === 58
  }
  return false
}

/** `"\u0061"` and `"a"` are one name. */
function nameOf(literal: string): string | null {
  if (!literal.includes('\\')) return literal.slice(1, -1)
  try {
    return JSON.parse(literal) as string
  } catch {
    return null
  }
}
