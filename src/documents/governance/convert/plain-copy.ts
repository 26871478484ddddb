/** Copies documents for the converter, which changes what it is given, and bounds what it makes of them. */

import type { Fields } from '../../../foundation/json/fields.ts'

/** A reason why a document cannot be converted; the message is one sentence for its author. */
export class ConversionFault extends Error {
  override readonly name = 'ConversionFault'
}

const VALUES_MAX = 1_000_000
const CHARACTERS_MAX = 16 * 1024 * 1024
const DEPTH_MAX = 256
/** Assigning to a member of this name changes the prototype of an object. */
const FORBIDDEN = '__proto__'

/**
 * Returns a copy in which no two members share an object. Throws `ConversionFault` if a name or a text is `__proto__`.
 *
 * Expects a document that was parsed, so that its depth and its number of values are bounded.
 */
function copyPlain(value: unknown): unknown {
  if (value === FORBIDDEN) throw new ConversionFault(`The document must not contain ${FORBIDDEN}.`)
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map(copyPlain)
  const copy: Record<string, unknown> = {}
  for (const [key, inner] of Object.entries(value)) {
    if (key === FORBIDDEN) throw new ConversionFault(`The document must not contain ${FORBIDDEN}.`)
    copy[key] = copyPlain(inner)
  }
  return copy
}

export function copyFields(value: Fields): Record<string, unknown> {
  return copyPlain(value) as Record<string, unknown>
}

/** Throws `ConversionFault` if the value would be too large as text: shared objects count at each occurrence. */
export function checkSize(root: unknown): void {
  let values = 0
  let characters = 0
  const refuse = (what: string): never => {
    throw new ConversionFault(`Converted, the document ${what}.`)
  }
  const open: { readonly value: unknown; readonly depth: number }[] = [{ value: root, depth: 0 }]
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const { value, depth } = next
    if (++values > VALUES_MAX) refuse(`has more than ${VALUES_MAX} values`)
    if (typeof value === 'string') characters += value.length
    else if (typeof value === 'object' && value !== null) {
      if (depth > DEPTH_MAX) refuse(`is nested more than ${DEPTH_MAX} levels deep`)
      for (const [key, inner] of Object.entries(value)) {
        characters += key.length
        open.push({ value: inner, depth: depth + 1 })
      }
    }
    if (characters > CHARACTERS_MAX) refuse(`has more than ${CHARACTERS_MAX} characters`)
  }
}
