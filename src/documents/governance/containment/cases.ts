/** Ways to split a schema into cases, which together accept all of its values. */

import { listOf, type Fields } from '../../../foundation/json/fields.ts'
import { hasAllParts } from './emptiness.ts'
import { TYPES } from './facts.ts'
import type { Prover } from './proof.ts'
import type { SchemaSet } from './schema-set.ts'

const VALUES_MAX = 20
export const CASES_MAX = 16

export function* casesOf(prover: Prover, set: SchemaSet): Iterable<readonly SchemaSet[]> {
  for (const part of set.parts) yield* branchesOf(prover, set, part)
  const { types, required } = prover.facts(set)
  if (types.size > 1) {
    yield TYPES.filter((type) => types.has(type)).map((type) => prover.sets.and(set, prover.own({ type })))
  }
  if (types.size !== 1 || !types.has('object')) return
  for (const name of required) {
    const { values } = prover.facts(prover.property(set, name))
    if (values === null || values.length < 2 || values.length > VALUES_MAX) continue
    yield values.map((value) =>
      prover.sets.and(set, prover.own({ properties: { [name]: prover.own({ const: value }) } })),
    )
  }
}

/** Cases by the `anyOf`, `oneOf` and `if` of one part that the set is not yet split by. */
export function* branchesOf(prover: Prover, set: SchemaSet, part: Fields): Iterable<readonly SchemaSet[]> {
  for (const keyword of ['oneOf', 'anyOf'] as const) {
    const branches = listOf(part[keyword])
    if (branches.length === 0 || branches.some((branch) => hasAllParts(prover, set, branch))) continue
    yield branches.map((branch, index) => {
      const others = keyword === 'oneOf' ? branches.filter((_, at) => at !== index) : []
      return prover.sets.and(set, branch, ...others.map((other) => prover.complement(other)))
    })
  }
  if (part['if'] === undefined) return
  const fails = prover.complement(part['if'])
  if (hasAllParts(prover, set, part['if']) || set.parts.includes(fails)) return
  yield [prover.sets.and(set, part['if'], part['then'] ?? true), prover.sets.and(set, fails, part['else'] ?? true)]
}

/** The set with one choice of each of its branches: up to `CASES_MAX` sets. */
export function choicesOf(prover: Prover, set: SchemaSet): readonly SchemaSet[] {
  let found: readonly SchemaSet[] = [set]
  for (const part of set.parts) {
    for (const branches of branchesOf(prover, set, part)) {
      const next = found.flatMap((each) => branches.map((branch) => prover.sets.of(...each.parts, ...branch.parts)))
      found = next.slice(0, CASES_MAX)
    }
  }
  return found
}
