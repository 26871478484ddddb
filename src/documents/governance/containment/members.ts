/** The schemas that apply to a member, an item or the rest of a value of a schema set. */

import { fieldsOf, listOf, type Fields } from '../../../foundation/json/fields.ts'
import { compileLinear } from '../../../foundation/json/linear-pattern.ts'
import type { SchemaSet, SchemaSets } from './schema-set.ts'

const patterns = new Map<string, (text: string) => boolean>()
const PATTERNS_MAX = 1_000

/** Returns whether a pattern of the gateway's engine matches; an invalid pattern matches nothing. */
export function matches(pattern: string, text: string): boolean {
  let test = patterns.get(pattern)
  if (test === undefined) {
    if (patterns.size >= PATTERNS_MAX) patterns.clear()
    const compiled = compileLinear(pattern)
    patterns.set(pattern, (test = (value) => compiled !== null && compiled.test(value)))
  }
  return test(text)
}

/** Schemas of one part for the property `name`. */
export function propertySchemas(part: Fields, name: string): readonly unknown[] {
  const properties = fieldsOf(part['properties'])
  const found = Object.hasOwn(properties, name) ? [properties[name]] : []
  for (const [pattern, schema] of Object.entries(fieldsOf(part['patternProperties']))) {
    if (matches(pattern, name)) found.push(schema)
  }
  return found.length > 0 || part['additionalProperties'] === undefined ? found : [part['additionalProperties']]
}

/** Schemas of one part for the item at `index`. */
export function itemSchemas(part: Fields, index: number): readonly unknown[] {
  const prefix = part['prefixItems']
  if (Array.isArray(prefix) && index < prefix.length) return [prefix[index]]
  return part['items'] === undefined ? [] : [part['items']]
}

type Parts = readonly Fields[]
type Names = ReadonlySet<string>

const namesOf = new WeakMap<Parts, Names>()
const patternsOf = new WeakMap<Parts, Names>()
const mentionedOf = new WeakMap<Parts, Names>()

/** Collects once for each set: the names are asked for again for each member. */
function remember(known: WeakMap<Parts, Names>, parts: Parts, collect: () => Names): Names {
  let names = known.get(parts)
  if (names === undefined) known.set(parts, (names = collect()))
  return names
}

/** Names that a part declares. */
export function declaredNames({ parts }: Pick<SchemaSet, 'parts'>): ReadonlySet<string> {
  return remember(namesOf, parts, () => new Set(parts.flatMap((part) => Object.keys(fieldsOf(part['properties'])))))
}

export function declaredPatterns({ parts }: Pick<SchemaSet, 'parts'>): ReadonlySet<string> {
  return remember(
    patternsOf,
    parts,
    () => new Set(parts.flatMap((part) => Object.keys(fieldsOf(part['patternProperties'])))),
  )
}

/** Length of the longest `prefixItems`. */
export function prefixLength({ parts }: Pick<SchemaSet, 'parts'>): number {
  return Math.max(0, ...parts.map(({ prefixItems }) => (Array.isArray(prefixItems) ? prefixItems.length : 0)))
}

/**
 * Schemas of one part for properties that no part declares: those that no pattern matches, or those that the patterns in `matching` and
 * perhaps others match.
 */
export function undeclaredSchemas(part: Fields, matching: readonly string[]): readonly unknown[] {
  const own = fieldsOf(part['patternProperties'])
  const matched = matching.filter((pattern) => Object.hasOwn(own, pattern)).map((pattern) => own[pattern])
  if (matched.length > 0) return matched
  const mayMatch = matching.length > 0 && Object.keys(own).length > 0
  return mayMatch || part['additionalProperties'] === undefined ? [] : [part['additionalProperties']]
}

export const MENTIONS_MAX = 1_000
const ALTERNATIVES = ['anyOf', 'oneOf', 'allOf'] as const
const CONDITIONS = ['if', 'then', 'else', 'not'] as const

/** The parts of a set, and those of the schemas that its combinations name for the same value. */
export function mentionedParts(sets: SchemaSets, set: SchemaSet): ReadonlySet<Fields> {
  const found = new Set<Fields>()
  const open = [...set.parts]
  for (let next = open.pop(); next !== undefined && found.size < MENTIONS_MAX; next = open.pop()) {
    const part = next
    if (found.has(part)) continue
    found.add(part)
    const inner = [
      ...ALTERNATIVES.flatMap((keyword) => listOf(part[keyword])),
      ...CONDITIONS.flatMap((keyword) => (part[keyword] === undefined ? [] : [part[keyword]])),
      ...Object.values(fieldsOf(part['dependentSchemas'])),
    ]
    open.push(...inner.flatMap((schema) => sets.of(schema).parts))
  }
  return found
}

/**
 * Parts of the combinations that the set is not split by. They may declare properties of a member that the set does not have.
 */
export function* openParts(sets: SchemaSets, set: SchemaSet): Iterable<Fields> {
  const own = new Set(set.parts)
  const isOwn = (schema: unknown): boolean => {
    const { parts } = sets.of(schema)
    return parts.length > 0 && parts.every((each) => own.has(each))
  }
  for (const part of set.parts) {
    const { if: condition, then: consequence, else: alternative } = part
    const branches = [listOf(part['anyOf']), listOf(part['oneOf']), [condition, consequence, alternative]]
    const open = [
      ...branches.filter((list) => !list.some(isOwn)).flat(),
      ...Object.values(fieldsOf(part['dependentSchemas'])),
    ]
    for (const schema of open) {
      for (const each of mentionedParts(sets, sets.of(schema ?? true))) if (!own.has(each)) yield each
    }
  }
}

/** Names that a set, or a combination in it, declares. */
export function mentionedNames(sets: SchemaSets, set: SchemaSet): ReadonlySet<string> {
  const collect = () =>
    new Set([...mentionedParts(sets, set)].flatMap((part) => Object.keys(fieldsOf(part['properties']))))
  return remember(mentionedOf, set.parts, collect)
}

/** Whether undeclared properties depend on what other keywords evaluate. */
export function mentionsUnevaluated({ parts }: Pick<SchemaSet, 'parts'>): boolean {
  return parts.some(
    ({ unevaluatedProperties }) => unevaluatedProperties !== undefined && unevaluatedProperties !== true,
  )
}
