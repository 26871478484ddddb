/**
 * The compliance score of a document, 0 to 100.
 *
 *   density of a rule = its findings ÷ the operations (or paths, or request schemas) in which it could have one; at most 1
 *   cost of a rule    = weight × density, weight = 25 for errors, 8 for warnings, 4 for hints
 *   score = 100 × ∏ (1 − cost ÷ 100), over all rules, rounded down to a tenth
 *
 * One more finding never raises the score. A finding outside of the operations and schemas, for example on `info` or `servers`,
 * concerns all of them: its density is 1. A document that cannot be served scores 0.
 */

import { FINDING_CATEGORIES, type FindingCategory, type FindingSeverity } from '../finding.ts'

/** The findings of a rule. */
export interface RuleCount {
  readonly rule: string
  readonly category: FindingCategory
  readonly severity: FindingSeverity
  readonly count: number
  /** Points that the rule costs at a density of 1. */
  readonly weight: number
  /** Findings per place in which the rule could have one; may exceed 1. */
  readonly density: number
}

export interface Gain {
  readonly rule: string
  readonly count: number
  /** Points by which the score rises without the findings of the rule. */
  readonly gain: number
}

export interface Score {
  readonly score: number
  readonly byCategory: Readonly<Record<FindingCategory, number>>
  /** Points that each rule costs, highest first; their sum is 100 minus the score. */
  readonly costs: readonly (RuleCount & { readonly cost: number })[]
}

export const WEIGHTS: Readonly<Record<FindingSeverity, number>> = { error: 25, warning: 8, info: 4 }
/** Keeps the logarithm of a rule that costs all points finite. */
const LEAST = 1e-9
/** Parts of a document that concern all operations. */
const COMMON = /^(?:\/(?:info|servers|tags|security|externalDocs|components\/securitySchemes)(?:\/|$)|$)/

export function scoreOf(counts: readonly RuleCount[], isServable: boolean): Score {
  const score = isServable ? total(counts) : 0
  const logs = counts.map((each) => -Math.log(Math.max(LEAST, 1 - fractionOf(each))))
  const sum = logs.reduce((all, log) => all + log, 0)
  const missing = 100 - score
  return {
    score,
    byCategory: Object.fromEntries(
      FINDING_CATEGORIES.map((category) => [
        category,
        category === 'validity' && !isServable ? 0 : total(counts.filter((each) => each.category === category)),
      ]),
    ) as Record<FindingCategory, number>,
    costs: counts
      .map((each, index) => ({ ...each, cost: sum === 0 ? 0 : Math.round((missing * logs[index]! * 100) / sum) / 100 }))
      .sort((a, b) => b.cost - a.cost || (a.rule < b.rule ? -1 : 1)),
  }
}

/** Returns what each rule would gain if its findings were corrected, highest gain first. */
export function gainsOf(counts: readonly RuleCount[], isServable: boolean): readonly Gain[] {
  const { score } = scoreOf(counts, isServable)
  return counts
    .map(({ rule, category, count }) => {
      const rest = counts.filter((each) => each.rule !== rule)
      const isServed = isServable || (category === 'validity' && rest.every((each) => each.category !== 'validity'))
      return { rule, count, gain: Math.round((scoreOf(rest, isServed).score - score) * 10) / 10 }
    })
    .sort((a, b) => b.gain - a.gain || (a.rule < b.rule ? -1 : 1))
}

/** Returns the share of a rule's places that one finding takes. */
export function shareOf(pointer: string, places: number): number {
  return COMMON.test(pointer) ? 1 : 1 / Math.max(1, places)
}

function total(counts: readonly RuleCount[]): number {
  const product = counts.reduce((all, each) => all * (1 - fractionOf(each)), 1)
  return Math.floor(product * 1_000 + 1e-9) / 10
}

function fractionOf({ weight, density }: RuleCount): number {
  return (weight / 100) * Math.min(1, density)
}
