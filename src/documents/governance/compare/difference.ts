/** A place at which one schema is not contained in another. */

import { fieldsOf, type Fields } from '../../../foundation/json/fields.ts'
import { escapePointer } from '../../../foundation/json/references.ts'

export type DifferenceKind =
  | 'type'
  | 'value'
  | 'bound'
  | 'pattern'
  | 'format'
  | 'required'
  | 'property'
  | 'closed'
  | 'alternative'
  | 'other'

export interface Difference {
  readonly kind: DifferenceKind
  /** The keyword, and the value or the name that it is about. */
  readonly detail: string
  /** Places in the documents of the inner and the outer schema. */
  readonly inner: string
  readonly outer: string
  /** A value of the whole inner schema that the outer one refuses; missing: none was found. */
  readonly witness?: { readonly value: unknown }
}

export type Locate = (part: Fields) => string | null

const TEXT_MAX = 60
const BOUNDS = [
  ...['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf', 'minLength', 'maxLength'],
  ...['minItems', 'maxItems', 'uniqueItems', 'minProperties', 'maxProperties'],
]
const KINDS: ReadonlyMap<string, DifferenceKind> = new Map([
  ['type', 'type'],
  ['pattern', 'pattern'],
  ['format', 'format'],
  ...BOUNDS.map((keyword): [string, DifferenceKind] => [keyword, 'bound']),
])

export function kindOf(keyword: string): DifferenceKind {
  return KINDS.get(keyword) ?? 'other'
}

/** Returns the place of a keyword, or of a member of it, in the first part that has it; else the place of the first part. */
export function placeIn(locate: Locate, parts: readonly Fields[], keyword: string, member: string | null): string {
  for (const part of parts) {
    const place = locate(part)
    if (place === null || part[keyword] === undefined) continue
    if (member === null) return `${place}/${keyword}`
    if (Object.hasOwn(fieldsOf(part[keyword]), member)) return `${place}/${keyword}/${escapePointer(member)}`
  }
  return parts.map(locate).find((place) => place !== null) ?? ''
}

/** The parts, with the one first that is at the same place of its document as `part`. */
export function nearest(locate: Locate, parts: readonly Fields[], part: Fields): readonly Fields[] {
  const place = locate(part)
  const same = parts.find((each) => place !== null && locate(each) === place)
  return same === undefined ? parts : [same, ...parts]
}

/** A value in a sentence, cut to a bounded length. */
export function shown(value: unknown): string {
  const text = JSON.stringify(value) ?? ''
  return text.length > TEXT_MAX ? `${text.slice(0, TEXT_MAX)}…` : text
}
