/**
 * Builds a small value of a schema from its facts: required members alone, shortest texts and lists.
 *
 * The validator confirms a value if the schema has keywords that the facts do not cover. `undefined` means that no value was found.
 */

import { CASES_MAX, choicesOf } from './cases.ts'
import { negated, type Bound, type Facts, type Type } from './facts.ts'
import type { Prover } from './proof.ts'
import type { SchemaSet } from './schema-set.ts'
import { samplesOfFormat, samplesOfPattern } from './text-samples.ts'

export interface SampleValues {
  valueOf(set: SchemaSet): unknown
}

const DEPTH_MAX = 16
const MEMBERS_MAX = 200
const LENGTH_MAX = 5_000
/** Keywords that the construction of a value does not follow. */
const UNCERTAIN: ReadonlySet<string> = new Set(
  (
    'not anyOf oneOf if pattern format multipleOf uniqueItems contains unevaluatedItems propertyNames minProperties ' +
    'patternProperties dependentRequired dependentSchemas unevaluatedProperties'
  ).split(' '),
)
/** The simplest types first. */
const ORDER: readonly Type[] = ['string', 'number', 'boolean', 'array', 'object', 'null']

export function createSampleValues(prover: Prover): SampleValues {
  return new SmallValues(prover)
}

class SmallValues implements SampleValues {
  readonly #prover: Prover
  readonly #known = new Map<string, unknown>()

  constructor(prover: Prover) {
    this.#prover = prover
  }

  valueOf(set: SchemaSet): unknown {
    return this.#find(set, 0)
  }

  #find(set: SchemaSet, depth: number): unknown {
    if (set.isFalse || depth > DEPTH_MAX || this.#prover.isSpent) return undefined
    if (this.#known.has(set.key)) return this.#known.get(set.key)
    // A value that must contain itself is not found.
    this.#known.set(set.key, undefined)
    const found = this.#build(set, depth)
    this.#known.set(set.key, found)
    return found
  }

  #build(set: SchemaSet, depth: number): unknown {
    const isCertain = set.parts.every((part) => !Object.keys(part).some((keyword) => UNCERTAIN.has(keyword)))
    for (const each of choicesOf(this.#prover, set)) {
      const facts = this.#prover.facts(each)
      for (const value of this.#values(each, facts, depth)) {
        if (value !== undefined && ((isCertain && facts.values === null) || this.#prover.accepts(set, value)))
          return value
      }
    }
    return undefined
  }

  *#values(set: SchemaSet, facts: Facts, depth: number): Iterable<unknown> {
    if (facts.values !== null) return yield* facts.values.slice(0, CASES_MAX)
    for (const type of ORDER) if (facts.types.has(type)) yield* this.#ofType(type, set, facts, depth)
  }

  #ofType(type: Type, set: SchemaSet, facts: Facts, depth: number): Iterable<unknown> {
    switch (type) {
      case 'null':
        return [null]
      case 'boolean':
        return [true, false]
      case 'number':
        return numbersWithin(facts)
      case 'string':
        return textsWithin(facts)
      case 'array':
        return [this.#list(set, facts, depth)]
      case 'object':
        return [this.#object(set, facts, depth)]
    }
  }

  #list(set: SchemaSet, { items }: Facts, depth: number): unknown {
    if (items.min > MEMBERS_MAX || items.min > items.max) return undefined
    const list: unknown[] = []
    for (let index = 0; index < items.min; index++) list.push(this.#find(this.#prover.item(set, index), depth + 1))
    return list.includes(undefined) ? undefined : list
  }

  #object(set: SchemaSet, { required, properties }: Facts, depth: number): unknown {
    if (required.size > MEMBERS_MAX || properties.min > properties.max) return undefined
    const members: [name: string, value: unknown][] = []
    for (const name of required) {
      const value = this.#find(this.#prover.property(set, name), depth + 1)
      if (value === undefined) return undefined
      members.push([name, value])
    }
    return Object.fromEntries(members)
  }
}

function numbersWithin({ from, to, multiples }: Facts): readonly number[] {
  const step = Math.max(1, ...multiples)
  const near = ({ value }: Bound): readonly number[] =>
    Number.isFinite(value) ? [value, value + 1, value - 1, value + 0.5, Math.ceil(value / step) * step] : []
  const found = [0, 1, ...near(from), ...near(to), ...multiples]
  return found.filter((each) => isAbove(from, each) && isAbove(negated(to), -each)).slice(0, 8)
}

function isAbove({ value, isOpen }: Bound, number: number): boolean {
  return isOpen ? number > value : number >= value
}

function textsWithin({ length, patterns, formats }: Facts): readonly string[] {
  if (length.min > LENGTH_MAX || length.min > length.max) return []
  const samples = [...[...formats].flatMap(samplesOfFormat), ...[...patterns].flatMap(samplesOfPattern)]
  const fitting = samples.filter((each) => [...each].length >= length.min && [...each].length <= length.max)
  return [...fitting, 'a'.repeat(length.min), 'a'.repeat(Math.max(length.min, Math.min(1, length.max)))]
}
