/**
 * Findings for the parts of a document that no rule has checked.
 *
 * An unapplied rule counts as a finding, so that no document passes because it is too large or too complex to check.
 */

import type { Spot } from '../finding.ts'
import { severityIn, type RulesetDocument } from '../ruleset-document.ts'
import type { Coverage } from '../spectral/engine.ts'
import type { Rule } from './rule.ts'
import { WEIGHTS, type RuleCount } from './score.ts'

const UNFINISHED = 'rules-unfinished'

export const COVERAGE_RULES: readonly Omit<Rule, 'find'>[] = [
  {
    id: 'rules-in-part',
    category: 'design',
    severity: 'info',
    message: 'The document is too large for the Spectral rules and your own rules; they were applied to a part of it.',
    advice: 'Split the API in two; each rule counts as violated in the operations that it was not applied to.',
  },
  {
    id: UNFINISHED,
    category: 'design',
    severity: 'error',
    message: 'The Spectral rules and your own rules were aborted because they took too much time or memory.',
    advice:
      'Look for lists with thousands of entries, and for rules of your own whose `given` path matches every value.',
  },
]

/** Returns the coverage that holds if the Spectral rules do not finish. */
export function unfinished(operations: number): Coverage {
  return { operations: 0, of: operations, failed: [{ rule: UNFINISHED, detail: COVERAGE_RULES[1]!.message }] }
}

/** Returns the findings of this coverage. */
export function gapSpots(coverage: Coverage, ruleset: RulesetDocument): readonly Spot[] {
  return gapsOf(coverage).flatMap(({ id: rule, category, severity: own, message, advice }) => {
    const severity = severityIn(ruleset, rule, own, own)
    return severity === 'off' ? [] : [{ rule, category, severity, message, advice, pointer: '' }]
  })
}

/**
 * Returns what this coverage costs, also if the ruleset turns its rules off.
 *
 * `unchecked`: points that the rules would cost in addition if each of them had a finding in each operation to which it was not
 * applied. Rules that did not finish cost all points, because their findings are not known.
 */
export function gapCounts(coverage: Coverage, ruleset: RulesetDocument, unchecked: number): readonly RuleCount[] {
  return gapsOf(coverage).map(({ id: rule, category, severity: own }) => {
    const severity = severityIn(ruleset, rule, own, own)
    const points = severity === 'off' ? 0 : WEIGHTS[severity]
    const weight = rule === UNFINISHED ? 100 : 100 - ((100 - unchecked) * (100 - points)) / 100
    return { rule, category, severity: severity === 'off' ? own : severity, count: 1, weight, density: 1 }
  })
}

function gapsOf({ operations, of, failed }: Coverage): readonly Omit<Rule, 'find'>[] {
  return COVERAGE_RULES.filter(({ id }) =>
    failed.some(({ rule }) => rule === UNFINISHED) ? id === UNFINISHED : id !== UNFINISHED && operations < of,
  )
}
