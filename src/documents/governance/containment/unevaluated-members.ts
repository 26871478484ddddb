/**
 * Limits that `unevaluatedProperties` and `unevaluatedItems` place on members and items.
 *
 * They apply to what no adjacent schema evaluates. For an earlier schema, a name counts as evaluated if any adjacent schema may
 * evaluate it; for a later one, only if the schema itself, its reference or its `allOf` does. Both err on the safe side.
 */

import { fieldsOf, listOf, type Fields } from '../../../foundation/json/fields.ts'
import { declaredNames, declaredPatterns, matches, mentionedParts, MENTIONS_MAX, prefixLength } from './members.ts'
import type { Prover } from './proof.ts'
import type { SchemaSet, SchemaSets } from './schema-set.ts'

interface Evaluated {
  readonly names: ReadonlySet<string>
  readonly patterns: ReadonlySet<string>
  readonly hasAllMembers: boolean
  readonly prefixLength: number
  /** Some items are evaluated whatever their index. */
  readonly hasItems: boolean
}

const known = new WeakMap<Fields, Evaluated>()

/** The names and items that a schema adjacent to `part` may evaluate. */
function evaluatedBeside(sets: SchemaSets, part: Fields): Evaluated {
  let found = known.get(part)
  if (found === undefined) {
    const set = { parts: [...mentionedParts(sets, sets.of(part))] }
    const others = set.parts.filter((each) => each !== part)
    const isCut = set.parts.length >= MENTIONS_MAX
    const some = (parts: readonly Fields[], keyword: string): boolean =>
      parts.some((each) => each[keyword] !== undefined)
    found = {
      names: declaredNames(set),
      patterns: declaredPatterns(set),
      hasAllMembers: isCut || some(set.parts, 'additionalProperties') || some(others, 'unevaluatedProperties'),
      prefixLength: prefixLength(set),
      hasItems: isCut || some(set.parts, 'items') || some(set.parts, 'contains') || some(others, 'unevaluatedItems'),
    }
    known.set(part, found)
  }
  return found
}

/** Schemas of `unevaluatedProperties` for the property `name`. */
export function unevaluatedProperty(sets: SchemaSets, part: Fields, name: string): readonly unknown[] {
  if (part['unevaluatedProperties'] === undefined) return []
  const { names, patterns, hasAllMembers } = evaluatedBeside(sets, part)
  if (hasAllMembers || names.has(name) || [...patterns].some((pattern) => matches(pattern, name))) return []
  return [part['unevaluatedProperties']]
}

/** Schemas of `unevaluatedProperties` for the names that the set does not declare, and that only `matching` match. */
export function unevaluatedRest(
  sets: SchemaSets,
  set: SchemaSet,
  part: Fields,
  matching: readonly string[],
): readonly unknown[] {
  if (part['unevaluatedProperties'] === undefined) return []
  const { names, patterns, hasAllMembers } = evaluatedBeside(sets, part)
  if (hasAllMembers || (matching.length > 0 && patterns.size > 0)) return []
  const [declared, matched] = [declaredNames(set), declaredPatterns(set)]
  if (![...names].every((name) => declared.has(name))) return []
  return [...patterns].every((pattern) => matched.has(pattern)) ? [part['unevaluatedProperties']] : []
}

/** Schemas of `unevaluatedItems` for the item at `index`. */
export function unevaluatedItem(sets: SchemaSets, part: Fields, index: number): readonly unknown[] {
  if (part['unevaluatedItems'] === undefined) return []
  const { prefixLength: evaluated, hasItems } = evaluatedBeside(sets, part)
  return hasItems || index < evaluated ? [] : [part['unevaluatedItems']]
}

/**
 * A schema with `additionalProperties` and `items` that refuses every value that the unevaluated keyword of `part` refuses; null if
 * the keyword refuses nothing.
 */
export function asAdditional(prover: Prover, part: Fields, keyword: string): Fields | null {
  const { parts } = prover.sets.of(part)
  const others = parts.filter((each) => each !== part)
  const some = (keywords: readonly string[]): boolean =>
    part[keywords[0] ?? ''] !== undefined || others.some((each) => keywords.some((name) => each[name] !== undefined))
  if (keyword === 'unevaluatedItems') {
    if (some(['items', 'unevaluatedItems'])) return null
    const prefix = parts.map((each) => listOf(each['prefixItems'])).reduce((a, b) => (b.length > a.length ? b : a), [])
    return prover.own({ prefixItems: prefix.map(() => true), items: part[keyword] })
  }
  if (some(['additionalProperties', 'unevaluatedProperties'])) return null
  const accepted = (names: string): Fields =>
    Object.fromEntries(parts.flatMap((each) => Object.keys(fieldsOf(each[names]))).map((name) => [name, true]))
  return prover.own({
    properties: accepted('properties'),
    patternProperties: accepted('patternProperties'),
    additionalProperties: part[keyword],
  })
}
