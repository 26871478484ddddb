/**
 * The compliance score of a document, 0 to 100.
 *
 *   cost of a rule with n findings = weight × (1 − 2^(−n ÷ 3)), weight = 25 for errors, 8 for warnings, 2 for hints
 *   score = 100 × ∏ (1 − cost ÷ 100), over all rules, rounded down to a tenth
 *
 * One more finding never raises the score. The size of the document has no effect: operations without findings do
 * not dilute the others, and a large document loses at most the weight of each rule. A document that cannot be
 * served scores 0.
 */

import { FINDING_CATEGORIES, type FindingCategory, type FindingSeverity } from '../finding.ts'

/** The number of findings of a rule. */
export interface RuleCount {
  readonly rule: string
  readonly category: FindingCategory
  readonly severity: FindingSeverity
  readonly count: number
}

export interface Score {
  readonly score: number
  readonly byCategory: Readonly<Record<FindingCategory, number>>
  /** Points that each rule costs, highest first; their sum is 100 minus the score. */
  readonly costs: readonly (RuleCount & { readonly cost: number })[]
}

const WEIGHTS: Readonly<Record<FindingSeverity, number>> = { error: 25, warning: 8, info: 2 }
/** Number of findings that halves the remaining cost of a rule. */
const HALVING_COUNT = 3

export function scoreOf(counts: readonly RuleCount[], isServable: boolean): Score {
  const score = isServable ? total(counts) : 0
  const logs = counts.map((each) => -Math.log(1 - costOf(each)))
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

function total(counts: readonly RuleCount[]): number {
  const product = counts.reduce((all, each) => all * (1 - costOf(each)), 1)
  return Math.floor(product * 1_000 + 1e-9) / 10
}

function costOf({ severity, count }: RuleCount): number {
  return (WEIGHTS[severity] / 100) * (1 - 2 ** (-count / HALVING_COUNT))
}
