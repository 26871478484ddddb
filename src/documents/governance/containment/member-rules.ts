/** Keywords that apply schemas to the items, members and names of a value. */

import { fieldsOf, listOf, type Fields } from '../../../foundation/json/fields.ts'
import { textsOf, type Type } from './facts.ts'
import {
  declaredNames,
  declaredPatterns,
  itemSchemas,
  matches,
  mentionedNames,
  mentionsUnevaluated,
  openParts,
  prefixLength,
  propertySchemas,
} from './members.ts'
import type { KeywordRule, Prover } from './proof.ts'
import type { SchemaSet } from './schema-set.ts'
import { asAdditional } from './unevaluated-members.ts'

export const ITEM_RULES = onlyFor('array', {
  items: itemsFollow,
  prefixItems: itemsFollow,
  contains: (prover, inner, part) => hasFewest(prover, inner, part) && hasMost(prover, inner, part),
  unevaluatedItems: (prover, inner, part, keyword) => {
    const items = asAdditional(prover, part, keyword)
    return items === null || itemsFollow(prover, inner, items)
  },
})

export const PROPERTY_RULES = onlyFor('object', {
  properties: (prover, inner, part) =>
    Object.entries(fieldsOf(part['properties'])).every(
      ([name, schema]) =>
        !prover.isSpent &&
        (isTolerated(prover, inner, name, schema) ||
          prover.isMemberWithin(
            prover.property(inner, name),
            prover.sets.of(schema),
            isOpen(prover, inner, (each) => propertySchemas(each, name).length > 0),
          )),
    ),
  patternProperties: (prover, inner, part) =>
    Object.entries(fieldsOf(part['patternProperties'])).every(([pattern, schema]) =>
      patternFollows(prover, inner, pattern, prover.sets.of(schema)),
    ),
  additionalProperties: additionalFollows,
  propertyNames: namesFollow,
  dependentRequired: dependentFollows,
  dependentSchemas: (prover, inner, part) =>
    Object.entries(fieldsOf(part['dependentSchemas'])).every(([name, schema]) =>
      prover.isWithin(having(prover, inner, name), prover.sets.of(schema)),
    ),
  unevaluatedProperties: (prover, inner, part, keyword) => {
    const members = asAdditional(prover, part, keyword)
    return members === null || additionalFollows(prover, inner, members)
  },
})

/** Keywords that values of other types satisfy. */
function onlyFor(type: Type, rules: Readonly<Record<string, KeywordRule>>): Readonly<Record<string, KeywordRule>> {
  return Object.fromEntries(
    Object.entries(rules).map(([keyword, rule]): [string, KeywordRule] => [
      keyword,
      (prover, inner, ...rest) => !prover.facts(inner).types.has(type) || rule(prover, inner, ...rest),
    ]),
  )
}

/**
 * Whether `name` is a newly declared property of an open request schema. A caller may have sent the name before with another
 * value; a new optional property counts as compatible nevertheless. If every value already had the name, its schema is a new limit.
 */
export function isTolerated(prover: Prover, inner: SchemaSet, name: string, schema: unknown): boolean {
  if (prover.tolerance !== 'declared by outer' || prover.facts(inner).required.has(name)) return false
  const { parts, isFalse } = prover.property(inner, name)
  return (
    parts.length === 0 &&
    !isFalse &&
    !mentionedNames(prover.sets, inner).has(name) &&
    !mentionsUnevaluated(inner) &&
    !isOpen(prover, inner, (each) => limits(prover, each, name)) &&
    // A schema without values refuses the name.
    !prover.isEmpty(prover.sets.of(schema))
  )
}

/** Whether a part that does not declare a member by its name limits it by a pattern or as one of the rest. */
function limits(prover: Prover, part: Fields, name: string): boolean {
  const { parts, isFalse } = prover.sets.of(...propertySchemas(part, name))
  return parts.length > 0 || isFalse || mentionsUnevaluated({ parts: [part] })
}

/** Whether a combination that the set is not split by says something about a member. */
function isOpen(prover: Prover, set: SchemaSet, says: (part: Fields) => boolean): boolean {
  if (prover.tolerance === 'none') return false
  for (const part of openParts(prover.sets, set)) if (says(part)) return true
  return false
}

function hasMembers(part: Fields): boolean {
  return ['properties', 'patternProperties', 'additionalProperties'].some((keyword) => part[keyword] !== undefined)
}

/** The set of the values that have a member, with what depends on it. */
export function having(prover: Prover, set: SchemaSet, name: string): SchemaSet {
  const depending = set.parts.flatMap((part) => {
    const schemas = fieldsOf(part['dependentSchemas'])
    return Object.hasOwn(schemas, name) ? [schemas[name]] : []
  })
  return prover.sets.and(set, prover.own({ required: [name] }), ...depending)
}

/** The largest number of members that an object may have. */
export function largestCount(prover: Prover, set: SchemaSet): number {
  if (declaredPatterns(set).size > 0 || !prover.isEmpty(prover.undeclared(set))) return Infinity
  return [...declaredNames(set)].filter((name) => !prover.isEmpty(prover.property(set, name))).length
}

/** Schemas of the first `count` items; those behind the longest prefix have one schema. */
export function firstItems(prover: Prover, set: SchemaSet, count: number): readonly SchemaSet[] {
  const shown = Math.min(count, prefixLength(set) + 1)
  return Array.from({ length: shown }, (_, index) => prover.item(set, index))
}

function itemsFollow(prover: Prover, inner: SchemaSet, part: Fields): boolean {
  const { items } = prover.facts(inner)
  const lists = Math.max(prefixLength(inner), listOf(part['prefixItems']).length)
  const isExact = isOpen(prover, inner, (each) => each['items'] !== undefined || each['prefixItems'] !== undefined)
  for (let index = 0; index <= lists && index < items.max; index++) {
    const wanted = prover.sets.of(...itemSchemas(part, index))
    if (!prover.isMemberWithin(prover.item(inner, index), wanted, isExact)) return false
  }
  return true
}

function hasFewest(prover: Prover, inner: SchemaSet, { contains, minContains = 1 }: Fields): boolean {
  const { items } = prover.facts(inner)
  const least = Number(minContains)
  if (least === 0) return true
  const wanted = prover.sets.of(contains)
  const isDeclared = inner.parts.some(
    (each) =>
      each['contains'] !== undefined &&
      Number(each['minContains'] ?? 1) >= least &&
      prover.isMemberWithin(prover.sets.of(each['contains']), wanted, true),
  )
  if (isDeclared) return true
  return (
    items.min >= least && firstItems(prover, inner, least).every((item) => prover.isMemberWithin(item, wanted, true))
  )
}

function hasMost(prover: Prover, inner: SchemaSet, { contains, maxContains = Infinity }: Fields): boolean {
  const { items } = prover.facts(inner)
  const most = Number(maxContains)
  if (most === Infinity || items.max <= most) return true
  const wanted = prover.sets.of(contains)
  return inner.parts.some(
    (each) =>
      each['contains'] !== undefined &&
      Number(each['maxContains'] ?? Infinity) <= most &&
      prover.isMemberWithin(wanted, prover.sets.of(each['contains']), true),
  )
}

/** Properties that `pattern` matches. */
function patternFollows(prover: Prover, inner: SchemaSet, pattern: string, wanted: SchemaSet): boolean {
  const declared = [...declaredNames(inner)].filter((name) => matches(pattern, name))
  const isExact = isOpen(prover, inner, hasMembers)
  if (!declared.every((name) => prover.isMemberWithin(prover.property(inner, name), wanted, isExact))) return false
  const patterns = declaredPatterns(inner)
  if (patterns.has(pattern)) return prover.isMemberWithin(prover.undeclared(inner, [pattern]), wanted, isExact)
  return othersFollow(prover, inner, wanted, [...patterns])
}

function additionalFollows(prover: Prover, inner: SchemaSet, part: Fields): boolean {
  const wanted = prover.sets.of(part['additionalProperties'])
  const patterns = Object.keys(fieldsOf(part['patternProperties']))
  const isNewTolerated = prover.tolerance === 'declared by inner' && part['additionalProperties'] === false
  if (!isNewTolerated) {
    const declared = additionalNames(inner, part)
    const isExact = isOpen(prover, inner, hasMembers)
    if (!declared.every((name) => prover.isMemberWithin(prover.property(inner, name), wanted, isExact))) return false
  }
  const others = [...declaredPatterns(inner)].filter((pattern) => !patterns.includes(pattern))
  return othersFollow(prover, inner, wanted, others)
}

/** Names that `inner` declares and that `additionalProperties` of `part` applies to. */
export function additionalNames(inner: SchemaSet, part: Fields): readonly string[] {
  const [names, patterns] = [fieldsOf(part['properties']), Object.keys(fieldsOf(part['patternProperties']))]
  return [...declaredNames(inner)].filter(
    (name) => !Object.hasOwn(names, name) && !patterns.some((pattern) => matches(pattern, name)),
  )
}

/** Undeclared properties, those that one of `patterns` matches included. */
function othersFollow(prover: Prover, inner: SchemaSet, wanted: SchemaSet, patterns: readonly string[]): boolean {
  const isExact = isOpen(prover, inner, hasMembers)
  return (
    prover.isMemberWithin(prover.undeclared(inner), wanted, isExact) &&
    patterns.every((pattern) => prover.isMemberWithin(prover.undeclared(inner, [pattern]), wanted, isExact))
  )
}

function namesFollow(prover: Prover, inner: SchemaSet, part: Fields): boolean {
  const wanted = prover.sets.of(part['propertyNames'])
  const known = prover.sets.of(
    ...inner.parts.map((each) => each['propertyNames'] ?? true),
    prover.own({ type: 'string' }),
  )
  if (prover.isMemberWithin(known, wanted)) return true
  if (!prover.isEmpty(prover.undeclared(inner)) || declaredPatterns(inner).size > 0) return false
  return [...declaredNames(inner)].every(
    (name) => prover.isEmpty(prover.property(inner, name)) || prover.accepts(wanted, name),
  )
}

function dependentFollows(prover: Prover, inner: SchemaSet, part: Fields): boolean {
  return Object.entries(fieldsOf(part['dependentRequired'])).every(([name, needed]) => {
    const { required } = prover.facts(having(prover, inner, name))
    const known = inner.parts.flatMap((each) => textsOf(fieldsOf(each['dependentRequired'])[name]))
    return (
      textsOf(needed).every((each) => required.has(each) || known.includes(each)) ||
      prover.isEmpty(prover.property(inner, name))
    )
  })
}
