/** A copy of a document whose texts Spectral does not evaluate, and the way back to the original texts. */

import { escapePointer } from '../../../foundation/json/references.ts'

/** Spectral evaluates `#{{…}}` if a text of the document gets into a message. */
const EVALUATED = /#(?=\{\{)/g
const MARK = '#\uE000'

/** Returns a copy that may be changed. */
export function inert(value: unknown): unknown {
  if (typeof value === 'string') return value.replace(EVALUATED, MARK)
  if (Array.isArray(value)) return value.map(inert)
  if (typeof value !== 'object' || value === null) return value
  const copy: Record<string, unknown> = {}
  for (const [key, inner] of Object.entries(value)) {
    // `__proto__` is data like any other name.
    Object.defineProperty(copy, key.replace(EVALUATED, MARK), {
      value: inert(inner),
      enumerable: true,
      writable: true,
      configurable: true,
    })
  }
  return copy
}

/** Returns the text as it is in the document. */
export function original(text: string): string {
  return text.replaceAll(MARK, '#')
}

export const pointerOf = (path: readonly (string | number)[]): string =>
  path.map((part) => `/${escapePointer(original(String(part)))}`).join('')
