/** Keywords that combine schemas of the same value: `not`, `if`, `anyOf` and `oneOf`. */

import { listOf, type Fields } from '../../../foundation/json/fields.ts'
import { mentionedNames } from './members.ts'
import type { KeywordRule, Prover } from './proof.ts'
import type { SchemaSet } from './schema-set.ts'

export const COMBINATION_RULES: Readonly<Record<string, KeywordRule>> = {
  not: (prover, inner, part) => prover.isEmpty(prover.sets.and(inner, part['not'])),
  if: conditionFollows,
  anyOf: (prover, inner, part) =>
    listOf(part['anyOf']).some((_, index, branches) => isWithinBranch(prover, inner, branches, index)),
  oneOf: (prover, inner, part) => {
    const branches = listOf(part['oneOf'])
    return (
      isInOneAlone(prover, inner, branches) ||
      inner.parts.some((each) => haveSameBranches(prover, listOf(each['oneOf']), branches))
    )
  },
}

function conditionFollows(prover: Prover, inner: SchemaSet, part: Fields): boolean {
  const meets = prover.sets.and(inner, part['if'])
  const fails = prover.sets.and(inner, prover.complement(part['if']))
  return (
    prover.isWithin(meets, prover.sets.of(part['then'] ?? true)) &&
    prover.isWithin(fails, prover.sets.of(part['else'] ?? true))
  )
}

function isInOneAlone(prover: Prover, inner: SchemaSet, branches: readonly unknown[]): boolean {
  return branches.some(
    (_, index) =>
      isWithinBranch(prover, inner, branches, index) &&
      branches.every((other, at) => at === index || prover.isEmpty(prover.sets.and(inner, other))),
  )
}

/** A property that another branch declares is not newly declared, so what that branch says of it has to be compared. */
function isWithinBranch(prover: Prover, inner: SchemaSet, branches: readonly unknown[], index: number): boolean {
  const { sets, tolerance } = prover
  const branch = sets.of(branches[index])
  if (tolerance !== 'declared by inner' || branches.length === 1) return prover.isWithin(inner, branch)
  const own = mentionedNames(sets, branch)
  const others = branches.filter((_, at) => at !== index).map((other) => mentionedNames(sets, sets.of(other)))
  const isKnown = [...mentionedNames(sets, inner)].some(
    (name) => !own.has(name) && others.some((names) => names.has(name)),
  )
  return isKnown ? prover.isExactlyWithin(inner, branch) : prover.isWithin(inner, branch)
}

/** Whether the branches are equal but for their order. */
function haveSameBranches(prover: Prover, before: readonly unknown[], after: readonly unknown[]): boolean {
  if (before.length !== after.length) return false
  const left = [...after]
  return before.every((branch) => {
    const at = left.findIndex((other) => {
      const [one, two] = [prover.sets.of(branch), prover.sets.of(other)]
      return prover.isEqual(one, two)
    })
    if (at >= 0) left.splice(at, 1)
    return at >= 0
  })
}
