/** Matches the alternatives of two schemas by content: by name, by a constant member, or by type. */

import { fieldsOf, type Fields } from '../../../foundation/json/fields.ts'
import { declaredNames, mentionedNames } from '../containment/members.ts'
import type { Prover } from '../containment/proof.ts'
import type { SchemaSet, SchemaSets } from '../containment/schema-set.ts'
import { branchesBesideNull } from './nullable.ts'

const COMPONENTS = '/components/schemas/'

/**
 * Returns the one branch that a schema is a version of; null if there is none. Among several that are alike, it is the one in the
 * same position.
 */
export function findPartner(
  prover: Prover,
  inner: SchemaSet,
  branches: readonly SchemaSet[],
  opposite: SchemaSet | null,
  locate: (part: Fields) => string | null,
): SchemaSet | null {
  const names = new Set(inner.parts.map(locate).filter((place) => place?.startsWith(COMPONENTS)))
  const alike = [
    (branch: SchemaSet) => branch.parts.some((part) => names.has(locate(part))),
    (branch: SchemaSet) => haveSameConstant(prover, inner, branch),
    (branch: SchemaSet) => haveSameTypes(prover, inner, branch) && !haveOtherConstant(prover, inner, branch),
  ]
  for (const isAlike of alike) {
    const found = branches.filter(isAlike)
    if (found.length === 1) return found[0] ?? null
    if (found.length > 1) return found.find((branch) => branch === opposite) ?? null
  }
  return null
}

function haveSameConstant(prover: Prover, one: SchemaSet, other: SchemaSet): boolean {
  return constantsOf(prover, one).some(([name, value]) =>
    constantsOf(prover, other).some(([also, too]) => also === name && too === value),
  )
}

function haveOtherConstant(prover: Prover, one: SchemaSet, other: SchemaSet): boolean {
  return constantsOf(prover, one).some(([name, value]) =>
    constantsOf(prover, other).some(([also, too]) => also === name && too !== value),
  )
}

/** Properties that have one value only, which tell the alternatives apart. */
function constantsOf(prover: Prover, set: SchemaSet): readonly (readonly [name: string, value: string])[] {
  return [...declaredNames(set)].flatMap((name) => {
    const { values } = prover.facts(prover.property(set, name))
    return values?.length === 1 ? [[name, JSON.stringify(values[0])] as const] : []
  })
}

function haveSameTypes(prover: Prover, one: SchemaSet, other: SchemaSet): boolean {
  const [types, others] = [prover.facts(one).types, prover.facts(other).types]
  return types.size === others.size && [...types].every((type) => others.has(type))
}

/** Pairs of branches in two lists of alternatives: by the name of the component, else by position. */
export function pairBranches(
  before: readonly unknown[],
  after: readonly unknown[],
): readonly (readonly [one: unknown, other: unknown])[] {
  const candidates = branchesBesideNull(after)
  return branchesBesideNull(before).flatMap((one, index) => {
    const name = nameOf(one)
    const other = name === null ? candidates[index] : candidates.find((each) => nameOf(each) === name)
    return other === undefined ? [] : [[one, other] as const]
  })
}

/** The branch that declares the most properties of a schema; none if there are no branches. */
export function nearestBranch(sets: SchemaSets, set: SchemaSet, branches: readonly unknown[]): readonly SchemaSet[] {
  const names = mentionedNames(sets, set)
  const found = branchesBesideNull(branches).map((branch) => sets.of(branch))
  const shared = found.map((branch) => mentionedNames(sets, branch).intersection(names).size)
  return found.slice(shared.indexOf(Math.max(...shared))).slice(0, 1)
}

/** The name of a component without what tells the two documents apart. */
function nameOf(schema: unknown): string | null {
  const { $ref } = fieldsOf(schema)
  return typeof $ref === 'string' ? $ref.slice($ref.indexOf('.') + 1) : null
}
