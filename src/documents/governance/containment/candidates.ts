/**
 * Values near the limits of two schemas: bounds and their neighbours, listed values, missing and further members.
 *
 * The candidates are made for an inner schema, with the parts of the outer schema as hints. A candidate that the inner schema accepts
 * and the outer one refuses is a witness that the inner schema is not contained in the outer one.
 */

import { fieldsOf, listOf, type Fields } from '../../../foundation/json/fields.ts'
import { choicesOf } from './cases.ts'
import { textsOf, TYPES, type Type } from './facts.ts'
import { itemSchemas, mentionedParts, propertySchemas, undeclaredSchemas } from './members.ts'
import type { Prover } from './proof.ts'
import type { SchemaSet } from './schema-set.ts'
import { createSampleValues, type SampleValues } from './sample-values.ts'
import { FORMAT_SAMPLES, samplesOfFormat, samplesOfPattern } from './text-samples.ts'

export interface Candidates {
  /** Candidates for values of `inner` near its limits and those of `outer`. */
  of(inner: SchemaSet, outer: SchemaSet): readonly unknown[]
  /** A value that `set` accepts; undefined if none was found. */
  valid(set: SchemaSet): unknown
}

const DEPTH_MAX = 3
const REQUIRED_MAX = 500
const MEMBERS_MAX = 40
const COUNT_MAX = [400, 40, 16, 8] as const
const LENGTH_MAX = 5_000
const TEXTS = ['', 'a', 'A', '0', 'ab', '~ é', '😀']
const COMMON: Readonly<Record<Type, readonly unknown[]>> = {
  null: [null],
  boolean: [true, false],
  number: [0, 1, -1, 0.5, 1.5, 2, 3, 10, 100, 1e21],
  string: TEXTS,
  array: [[]],
  object: [{}],
}

interface Goal {
  readonly set: SchemaSet
  readonly hints: readonly Fields[]
  readonly depth: number
}

export function createCandidates(prover: Prover): Candidates {
  return new NearCandidates(prover)
}

class NearCandidates implements Candidates {
  readonly #prover: Prover
  readonly #samples: SampleValues
  readonly #validOf = new Map<string, readonly unknown[]>()

  constructor(prover: Prover) {
    this.#prover = prover
    this.#samples = createSampleValues(prover)
  }

  #partsOf(set: SchemaSet): readonly Fields[] {
    return [...mentionedParts(this.#prover.sets, set)]
  }

  valid(set: SchemaSet, depth = 0): unknown {
    return this.#samples.valueOf(set) ?? this.#validValues(set, depth)[0]
  }

  /** Up to three values that the set accepts. */
  #validValues(set: SchemaSet, depth: number): readonly unknown[] {
    if (set.isFalse || depth > DEPTH_MAX) return []
    const key = `${set.key} ${depth}`
    let known = this.#validOf.get(key)
    if (known === undefined) {
      this.#validOf.set(key, [])
      const found: unknown[] = []
      for (const value of this.#make({ set, hints: this.#partsOf(set), depth })) {
        if (this.#prover.accepts(set, value)) found.push(value)
        if (found.length === 3) break
      }
      this.#validOf.set(key, (known = found))
    }
    return known
  }

  #make({ set, hints, depth }: Goal): readonly unknown[] {
    if (set.isFalse || depth > DEPTH_MAX || this.#prover.isSpent) return []
    const found = [...(this.#prover.facts(set).values ?? []).slice(0, 50), ...listed(hints)]
    for (const each of choicesOf(this.#prover, set)) {
      const { types } = this.#prover.facts(each)
      const goal = { set: each, hints, depth }
      if (types.has('null')) found.push(null)
      if (types.has('boolean')) found.push(true, false)
      if (types.has('number')) found.push(...numbers([...each.parts, ...hints]))
      if (types.has('string')) found.push(...texts([...each.parts, ...hints]))
      if (types.has('array')) found.push(...this.#lists(goal))
      if (types.has('object')) found.push(...this.#objects(goal))
      if (found.length > 2 * (COUNT_MAX[depth] ?? 8)) break
    }
    return thin(found, COUNT_MAX[depth] ?? 8)
  }

  #lists({ set, hints, depth }: Goal): readonly unknown[] {
    const { items } = this.#prover.facts(set)
    const prefix = Math.max(0, ...hints.map(({ prefixItems }) => listOf(prefixItems).length))
    const goalAt = (index: number): Goal => ({
      set: this.#prover.item(set, index),
      hints: this.#membersOf(hints.flatMap((part) => [...itemSchemas(part, index), ...containsOf(part)])),
      depth: depth + 1,
    })
    const fill = (length: number): unknown[] =>
      Array.from({ length }, (_, index) => this.#pickValid(this.#prover.item(set, index), index, depth + 1))
    const least = Math.min(items.min, MEMBERS_MAX)
    const found: unknown[] = [fill(least)]
    for (const length of near(lengthsOf(hints, ['minItems', 'maxItems', 'minContains', 'maxContains']), MEMBERS_MAX)) {
      found.push(
        fill(length),
        Array.from({ length }, () => fill(1)[0]),
      )
    }
    for (let index = 0; index <= prefix; index++) {
      const values = this.#make(goalAt(index))
      const base = fill(Math.max(least, index + 1))
      for (const value of values) found.push(base.with(index, value))
      for (const value of values.slice(0, 5)) found.push([...base.slice(0, index), value, value])
    }
    return found
  }

  #objects({ set, hints, depth }: Goal): readonly unknown[] {
    const { required } = this.#prover.facts(set)
    const names = new Set([...required, ...hints.flatMap(namesOf)])
    const others = [...hints.flatMap(({ patternProperties }) => Object.keys(fieldsOf(patternProperties)))]
      .flatMap(samplesOfPattern)
      .concat(texts(this.#membersOf(hints.flatMap(({ propertyNames }) => [propertyNames ?? true]))))
    const base = new Map<string, unknown>(
      [...required].map((name) => [name, this.valid(this.#prover.property(set, name), depth + 1) ?? null]),
    )
    // Each further value would repeat all of them.
    if (required.size > REQUIRED_MAX) return [toObject(base)]
    const full = new Map(base)
    for (const name of names) {
      const value = this.valid(this.#prover.property(set, name), depth + 1)
      if (value !== undefined && full.size < MEMBERS_MAX) full.set(name, value)
    }
    const found: unknown[] = [toObject(base), toObject(full)]
    for (const name of [...names].slice(0, MEMBERS_MAX)) if (!required.has(name)) found.push(without(full, name))
    for (const name of [...names, ...others.slice(0, 20), 'zz', 'z1'].slice(0, MEMBERS_MAX)) {
      const goal = { set: this.#prover.property(set, name), hints: this.#hintsOfMember(hints, name), depth: depth + 1 }
      for (const value of this.#make(goal)) {
        found.push(toObject(new Map(base).set(name, value)))
        if (found.length % 3 === 0) found.push(toObject(new Map(full).set(name, value)))
      }
    }
    for (const count of near(lengthsOf(hints, ['minProperties', 'maxProperties']), MEMBERS_MAX)) {
      found.push(toObject(padded(base, full, count, this.valid(this.#prover.undeclared(set), depth + 1))))
    }
    return found
  }

  #hintsOfMember(hints: readonly Fields[], name: string): readonly Fields[] {
    return this.#membersOf(hints.flatMap((part) => [...propertySchemas(part, name), ...undeclaredSchemas(part, [])]))
  }

  #membersOf(schemas: readonly unknown[]): readonly Fields[] {
    return [...new Set(schemas.flatMap((schema) => this.#partsOf(this.#prover.sets.of(schema))))]
  }

  /** Different values for different indexes, if there are some. */
  #pickValid(set: SchemaSet, index: number, depth: number): unknown {
    const one = index === 0 ? this.#samples.valueOf(set) : undefined
    if (one !== undefined) return one
    const found = this.#validValues(set, depth)
    return found.length === 0 ? index : found[index % found.length]
  }

  of(inner: SchemaSet, outer: SchemaSet): readonly unknown[] {
    return this.#make({ set: inner, hints: [...new Set([...this.#partsOf(outer), ...this.#partsOf(inner)])], depth: 0 })
  }
}

/** Values of `enum` and `const`, and one of each type. */
function listed(hints: readonly Fields[]): unknown[] {
  const values = hints.flatMap((part) => [
    ...listOf(part['enum']).slice(0, 50),
    ...(part['const'] === undefined ? [] : [part['const']]),
  ])
  return [...values, ...TYPES.flatMap((type) => COMMON[type].slice(0, 2))]
}

function numbers(hints: readonly Fields[]): readonly unknown[] {
  const bounds = numbersOf(hints, ['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum'])
  const steps = numbersOf(hints, ['multipleOf'])
  const near = bounds.flatMap((bound) => [bound, bound - 1, bound + 1, bound - 0.5, bound + 0.5])
  const multiples = steps.flatMap((step) => [
    step,
    -step,
    2 * step,
    3 * step,
    step / 2,
    ...bounds.flatMap((bound) => [Math.ceil(bound / step) * step, Math.floor(bound / step) * step]),
  ])
  return [...near, ...multiples, ...COMMON.number]
}

function texts(hints: readonly Fields[]): readonly string[] {
  const patterns = hints.flatMap(({ pattern }) => (typeof pattern === 'string' ? [pattern] : []))
  const formats = hints.flatMap(({ format }) => (typeof format === 'string' ? samplesOfFormat(format) : []))
  const own = [...new Set(patterns)].flatMap(samplesOfPattern)
  const found: string[] = [...own, ...formats]
  for (const length of near(lengthsOf(hints, ['minLength', 'maxLength']), LENGTH_MAX)) {
    for (const text of ['a', 'Z', '1', ' ', ...own.slice(0, 6)]) {
      found.push(
        text.length >= length ? text.slice(0, length) : text + (text.at(-1) ?? 'a').repeat(length - text.length),
      )
    }
  }
  return hints.length === 0 ? [] : [...new Set([...found, ...TEXTS, ...FORMAT_SAMPLES])]
}

function numbersOf(hints: readonly Fields[], keywords: readonly string[]): readonly number[] {
  const found = hints.flatMap((part) => keywords.map((keyword) => part[keyword]))
  return [...new Set(found.filter((each) => typeof each === 'number'))]
}

const lengthsOf = numbersOf

/** Lengths at and beside each limit. */
function near(limits: readonly number[], most: number): readonly number[] {
  const found = limits.flatMap((limit) => [limit - 1, limit, limit + 1])
  return [...new Set([1, 2, 3, ...found])].filter((each) => Number.isInteger(each) && each >= 0 && each <= most)
}

function namesOf(part: Fields): readonly string[] {
  const dependencies = [...Object.entries(fieldsOf(part['dependentRequired']))]
  return [
    ...textsOf(part['required']),
    ...Object.keys(fieldsOf(part['properties'])),
    ...dependencies.flatMap(([name, needed]) => [name, ...textsOf(needed)]),
    ...Object.keys(fieldsOf(part['dependentSchemas'])),
  ]
}

function containsOf(part: Fields): readonly unknown[] {
  return part['contains'] === undefined ? [] : [part['contains']]
}

/** Not by assignment, which would set the prototype for a member named `__proto__`. */
function toObject(members: ReadonlyMap<string, unknown>): unknown {
  return Object.fromEntries(members)
}

function without(members: ReadonlyMap<string, unknown>, name: string): unknown {
  return Object.fromEntries([...members].filter(([each]) => each !== name))
}

function padded(
  base: ReadonlyMap<string, unknown>,
  full: ReadonlyMap<string, unknown>,
  count: number,
  value: unknown,
): ReadonlyMap<string, unknown> {
  const members = new Map(base)
  for (const [name, each] of full) if (members.size < count) members.set(name, each)
  for (let index = 0; members.size < count; index++) members.set(`p${index}`, value ?? index)
  return members
}

/** Keeps `count` values, spread over the whole list. */
function thin(values: readonly unknown[], count: number): readonly unknown[] {
  if (values.length <= count) return values
  const step = values.length / count
  return Array.from({ length: count }, (_, index) => values[Math.floor(index * step)])
}
