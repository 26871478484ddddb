/** One step of the walk through two schemas, and how a value at this place becomes a value of the whole. */

import { listOf, type Fields } from '../../../foundation/json/fields.ts'
import type { Candidates } from '../containment/candidates.ts'
import { hasAllParts } from '../containment/emptiness.ts'
import { TYPES, typesOfKeyword } from '../containment/facts.ts'
import type { Prover } from '../containment/proof.ts'
import type { SchemaSet } from '../containment/schema-set.ts'
import type { DifferenceKind, Locate } from './difference.ts'

/** Makes a value of the whole schema of a value at the place that the walk is at; undefined if it cannot. */
export type Embed = (value: unknown) => unknown

/** The pair of schemas that a witness must tell apart. */
export interface Root {
  readonly inner: SchemaSet
  readonly outer: SchemaSet
  /** Makes a value of the pair of a value at this place. */
  readonly embed: Embed
}

export interface Onward {
  /** Null: the next pair itself. */
  readonly root: Root | null
  readonly depth: number
}

export interface Step {
  readonly inner: SchemaSet
  readonly outer: SchemaSet
  readonly root: Root
  readonly depth: number
  /** How many times the inner schema may still be split into its branches. */
  readonly splits: number
}

/** The step for one case of the inner schema, all values of which are values of the inner schema. */
export function inCase(at: Step, inner: SchemaSet): Step {
  return { ...at, inner, root: at.root.inner === at.inner ? { ...at.root, inner } : at.root }
}

/** Keywords by which a member or an item depends on the rest of the value. */
const DEPENDENT: ReadonlySet<string> = new Set(
  (
    'enum const not if dependentRequired dependentSchemas propertyNames minProperties maxProperties contains ' +
    'uniqueItems unevaluatedProperties unevaluatedItems'
  ).split(' '),
)

const ITEMS_MAX = 20

/** Whether each value of a member occurs in some value of the schema, because nothing relates the members. */
export function areMembersIndependent(
  prover: Prover,
  candidates: Candidates,
  set: SchemaSet,
  { member, locate }: { readonly member: string | number; readonly locate: Locate },
): boolean {
  // Another member may be impossible, such as a required one, or an item before this one, without a value between its bounds.
  const { required, items } = prover.facts(set)
  const others =
    typeof member === 'string'
      ? [...required].map((name) => prover.property(set, name))
      : Array.from({ length: Math.min(Math.max(items.min, member), ITEMS_MAX) }, (_, index) => prover.item(set, index))
  if (others.some((each) => candidates.valid(each) === undefined)) return false
  return set.parts.every((part) => {
    // Schemas of the proof only exclude the other branches.
    if (locate(part) === null) return true
    const isSplit = (['anyOf', 'oneOf'] as const).every((keyword) => {
      const branches = listOf(part[keyword])
      return branches.length === 0 || branches.some((branch) => hasAllParts(prover, set, branch))
    })
    return isSplit && Object.keys(part).every((keyword) => !DEPENDENT.has(keyword))
  })
}

export interface Leaf {
  readonly kind: DifferenceKind
  readonly detail?: string
  readonly part: Fields
  /** The schema that must refuse a witness. */
  readonly outer: SchemaSet
  readonly keyword?: string
  /** The member of the keyword that the difference is about. */
  readonly member?: string | null
  /** The property of the inner schema that the difference is about. */
  readonly gone?: string
  readonly values?: readonly unknown[]
}

/** The schema of the values that have a member or an item. */
function around(member: string | number): Fields {
  return typeof member === 'string' ? { type: 'object', required: [member] } : { type: 'array', minItems: member + 1 }
}

/** Returns a function that puts a value in the place of a member or an item of a valid value. */
export function embedIn(
  prover: Prover,
  candidates: Candidates,
  { inner, root: { embed } }: Pick<Step, 'inner' | 'root'>,
  member: string | number,
): Embed {
  const set = prover.sets.and(inner, prover.own(around(member)))
  // A value without the member is the base if one with it was not found.
  const larger = typeof member === 'string' ? prover.sets.and(inner, prover.own({ type: 'object' })) : set
  return (value) => {
    const base = candidates.valid(set) ?? candidates.valid(larger)
    if (typeof base !== 'object' || base === null) return undefined
    if (typeof member === 'string') return embed(Object.fromEntries(new Map(Object.entries(base)).set(member, value)))
    return Array.isArray(base) ? embed((base as readonly unknown[]).with(member, value)) : undefined
  }
}

/** Returns a value of the root that its inner schema accepts and its outer one refuses, because of the value at this place. */
export function findWitness(
  prover: Prover,
  { root, inner }: Pick<Step, 'root' | 'inner'>,
  outer: SchemaSet,
  values: readonly unknown[],
): unknown {
  for (const value of values) {
    if (prover.accepts(outer, value) || !prover.accepts(inner, value)) continue
    const whole = root.embed(value)
    if (whole === undefined) continue
    if (prover.accepts(root.inner, whole) && !prover.accepts(root.outer, whole)) return whole
  }
  return undefined
}

/** Names the types of an inner schema that the `type` of the outer one does not include. */
export function strangeTypes(prover: Prover, inner: SchemaSet, { type }: Fields): string {
  const wanted = typesOfKeyword(type)
  const strange = TYPES.filter((each) => {
    if (wanted.has(each) || !prover.facts(inner).types.has(each)) return false
    return !prover.isEmpty(prover.sets.and(inner, prover.own({ type: each })))
  })
  return strange.join(', ')
}
