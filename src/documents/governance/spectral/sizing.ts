/** Estimates what the engine visits: the values of a document with its references expanded, and the validation of examples. */

import type { Fields } from '../../../foundation/json/fields.ts'
import { resolvePointer } from '../../../foundation/json/references.ts'

/** The look-up of a reference costs time beyond its target. */
const REFERENCE_VALUES = 8
/** The engine compiles a schema for each example that it checks. */
const EXAMPLE_FACTOR = 4
/** The engine compares each value of an `enum` with every other. */
const ENUM_SQUARES = 1_000
const ONE: Size = { values: 1, checked: 0 }
const ENDLESS: Size = { values: Infinity, checked: 0 }
/** Within the size of the stack; a deeper value exceeds any bound. */
const DEPTH_MAX = 2_000

/** Uses Spectral's own test to tell a schema from an object with members of the same names. */
function isTyped(value: object): boolean {
  return ['type', 'properties', 'items', 'enum', 'format'].some((key) => Object.hasOwn(value, key))
}

interface Size {
  /** With references expanded. */
  readonly values: number
  /** Size of the schemas that examples are validated against, counted once per validation. */
  readonly checked: number
}

/**
 * Returns a function that counts the values of a part of the document as the engine visits them. A cycle is
 * followed once.
 */
export function createSizing(document: Fields, stepsMax: number): (value: unknown) => number {
  const known = new Map<string, Size>()

  function size(value: unknown, depth: number): Size {
    if (typeof value !== 'object' || value === null) return ONE
    if (depth > DEPTH_MAX) return ENDLESS
    const reference = (value as Fields)['$ref']
    if (typeof reference === 'string') return sizeAt(reference, depth)
    let values = 1
    let checked = 0
    let bySchema: Size | null = null
    const { enum: names } = value as Fields
    if (Array.isArray(names)) values += (names.length * names.length) / ENUM_SQUARES
    for (const [key, inner] of Object.entries(value)) {
      const of = size(inner, depth + 1)
      if (key === 'schema') bySchema = of
      values += of.values
      checked += of.checked
    }
    const { example, examples, default: standard } = value as Fields
    if (bySchema !== null && (example !== undefined || examples !== undefined)) checked += bySchema.values
    else if (isTyped(value) && (example !== undefined || standard !== undefined)) checked += values
    return { values, checked }
  }

  function sizeAt(reference: string, depth: number): Size {
    const found = known.get(reference)
    if (found !== undefined) return found
    known.set(reference, ONE)
    const { values, checked } = size(resolvePointer(document, reference), depth + 1)
    // Above the bound the exact size does not matter.
    const result = {
      values: Math.min(values + REFERENCE_VALUES, stepsMax + 1),
      checked: Math.min(checked, stepsMax + 1),
    }
    known.set(reference, result)
    return result
  }

  return (value) => {
    const { values, checked } = size(value, 0)
    return values + EXAMPLE_FACTOR * checked
  }
}
