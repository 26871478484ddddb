/** The questions that the rules of keywords ask the prover. */

import type { Fields } from '../../../foundation/json/fields.ts'
import type { Facts } from './facts.ts'
import type { SchemaSet, SchemaSets } from './schema-set.ts'

/** Newly declared properties that do not count as a difference: those of the outer schema, or those of the inner one. */
export type Tolerance = 'none' | 'declared by outer' | 'declared by inner'

/** Returns true if every value of `inner` certainly satisfies the keyword of `part`. */
export type KeywordRule = (prover: Prover, inner: SchemaSet, part: Fields, keyword: string) => boolean

export interface Prover {
  readonly sets: SchemaSets
  readonly tolerance: Tolerance
  /** True if the steps of all proofs are used up. */
  readonly isSpent: boolean
  /** Allows the next proof its full number of steps. */
  reset(): void
  facts(set: SchemaSet): Facts
  /** The verdict of the gateway's validator. */
  accepts(set: SchemaSet, value: unknown): boolean
  /** True if certainly no value is accepted. */
  isEmpty(set: SchemaSet): boolean
  /** True if certainly every value of `inner` is a value of `outer`. */
  isWithin(inner: SchemaSet, outer: SchemaSet): boolean
  /** As `isWithin`, for a member, an item or a name of the value. Exact: newly declared properties count. */
  isMemberWithin(inner: SchemaSet, outer: SchemaSet, isExact?: boolean): boolean
  /** As `isWithin`; newly declared properties count. */
  isExactlyWithin(inner: SchemaSet, outer: SchemaSet): boolean
  /** True if both schemas certainly accept the same values, newly declared properties included. */
  isEqual(one: SchemaSet, other: SchemaSet): boolean
  /** Whether every value of `inner` certainly satisfies one keyword of `part`. */
  satisfies(inner: SchemaSet, part: Fields, keyword: string): boolean
  property(set: SchemaSet, name: string): SchemaSet
  item(set: SchemaSet, index: number): SchemaSet
  /** Schema of the properties that no part declares: those that no pattern matches, or those that `matching` match. */
  undeclared(set: SchemaSet, matching?: readonly string[]): SchemaSet
  /** One object for each distinct schema of the proof itself, so that sets with it have equal keys. */
  own(schema: Fields): Fields
  /** The schema of the values that `schema` refuses. */
  complement(schema: unknown): Fields
  /** A schema of one keyword of `part` and of those that it is read with. */
  alone(part: Fields, keyword: string): Fields
}
