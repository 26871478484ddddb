/** Shows that no value satisfies a schema: by contradicting facts, by `not`, or because every branch is empty. */

import { listOf } from '../../../foundation/json/fields.ts'
import type { Facts, Type } from './facts.ts'
import { firstItems } from './member-rules.ts'
import type { Prover } from './proof.ts'
import type { SchemaSet } from './schema-set.ts'

export const VALUES_MAX = 10_000
const ITEMS_MAX = 20

export function isShownEmpty(prover: Prover, set: SchemaSet): boolean {
  return isEmptyByFacts(prover, set) || isEmptyByNot(prover, set) || isEmptyByBranches(prover, set)
}

function isEmptyByFacts(prover: Prover, set: SchemaSet): boolean {
  const facts = prover.facts(set)
  if (facts.values !== null && facts.values.length <= VALUES_MAX) {
    return facts.values.every((value) => !prover.accepts(set, value))
  }
  return [...facts.types].every((type) => hasNoValueOf(prover, set, facts, type))
}

function hasNoValueOf(prover: Prover, set: SchemaSet, facts: Facts, type: Type): boolean {
  const { from, to, length, items, properties, required } = facts
  switch (type) {
    case 'number':
      return from.value > to.value || (from.value === to.value && (from.isOpen || to.isOpen))
    case 'string':
      return length.min > length.max
    case 'array':
      return (
        items.min > items.max ||
        firstItems(prover, set, Math.min(items.min, ITEMS_MAX)).some((item) => prover.isEmpty(item))
      )
    case 'object':
      return properties.min > properties.max || [...required].some((name) => prover.isEmpty(prover.property(set, name)))
    default:
      return false
  }
}

function isEmptyByNot(prover: Prover, set: SchemaSet): boolean {
  return set.parts.some((part) => {
    if (part['not'] === undefined) return false
    const others = prover.sets.of(...set.parts.filter((each) => each !== part))
    return prover.isWithin(others, prover.sets.of(part['not']))
  })
}

function isEmptyByBranches(prover: Prover, set: SchemaSet): boolean {
  return set.parts.some((part) =>
    (['anyOf', 'oneOf'] as const).some((keyword) => {
      const branches = listOf(part[keyword])
      const isSplit = branches.some((branch) => hasAllParts(prover, set, branch))
      if (branches.length === 0 || isSplit) return false
      return branches.every((branch) => prover.isEmpty(prover.sets.and(set, branch)))
    }),
  )
}

/** Whether a set includes every part of a schema. */
export function hasAllParts(prover: Prover, set: SchemaSet, schema: unknown): boolean {
  const { parts, isFalse } = prover.sets.of(schema)
  return !isFalse && parts.length > 0 && parts.every((part) => set.parts.includes(part))
}
