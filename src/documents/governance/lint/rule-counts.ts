/** Counts the findings of each rule, with their density: findings per operation, path or request schema of a type. */

import type { Spot } from '../finding.ts'
import type { UncheckedRule } from '../spectral/engine.ts'
import { typeIs, type LintDocument } from './lint-document.ts'
import type { Rule } from './rule.ts'
import { shareOf, WEIGHTS, type RuleCount } from './score.ts'

/** Number of places in which a rule can have a finding. */
export type Places = Readonly<Record<NonNullable<Rule['per']> | 'operation', number>>

export function placesOf({ operations, schemas }: LintDocument): Places {
  const requests = schemas.filter(({ isRequest }) => isRequest)
  const typed = (type: string): number => requests.filter((schema) => typeIs(schema, type)).length
  return {
    operation: operations.length,
    path: new Set(operations.map(({ itemPointer }) => itemPointer)).size,
    string: typed('string'),
    array: typed('array'),
    integer: typed('integer'),
    object: typed('object'),
  }
}

/** Returns one count per rule; `places` returns the number of places of a rule. */
export function countRules(spots: readonly Spot[], places: (rule: string) => number): readonly RuleCount[] {
  const counts = new Map<string, RuleCount>()
  for (const { rule, category, severity, pointer } of spots) {
    const { count = 0, density = 0 } = counts.get(rule) ?? {}
    const share = shareOf(pointer, places(rule))
    counts.set(rule, {
      rule,
      category,
      severity,
      weight: WEIGHTS[severity],
      count: count + 1,
      density: density + share,
    })
  }
  return [...counts.values()]
}

/**
 * Returns the points that unchecked operations cost: those that `rules` would cost in addition if each of them had a finding in each
 * unchecked operation. So a document that was checked in part never scores higher than if it had been checked as a whole.
 */
export function uncheckedWeight(rules: readonly UncheckedRule[], counts: readonly RuleCount[]): number {
  const known = new Map(counts.map((count) => [count.rule, count]))
  const left = rules.reduce((product, { rule, severity, share }) => {
    const weight = WEIGHTS[severity] / 100
    const found = Math.min(1, known.get(rule)?.density ?? 0)
    return (product * (1 - weight * Math.min(1, found + share))) / (1 - weight * found)
  }, 1)
  return 100 * (1 - left)
}
