/**
 * Findings for the parts of a document that no rule has checked.
 *
 * An unapplied rule counts as a finding, so that no document passes because it is too large or too complex to check.
 */

import type { Coverage } from '../spectral/engine.ts'
import type { Rule } from './rule.ts'

export const COVERAGE_RULES: readonly Omit<Rule, 'find'>[] = [
  {
    id: 'rules-in-part',
    category: 'design',
    severity: 'info',
    message: 'The document is too large for the Spectral rules and your own rules; they were applied to a part of it.',
    advice: 'Split the API in two, or raise this rule to `error` in your ruleset, so that the rest is reviewed.',
  },
  {
    id: 'rules-unfinished',
    category: 'design',
    severity: 'error',
    message: 'The Spectral rules and your own rules were aborted because they took too much time or memory.',
    advice:
      'Look for lists with thousands of entries, and for rules of your own whose `given` path matches every value.',
  },
]

/** Returns the coverage that holds if the Spectral rules do not finish. */
export function unfinished(operations: number): Coverage {
  return { operations: 0, of: operations, failed: [{ rule: 'rules-unfinished', detail: COVERAGE_RULES[1]!.message }] }
}

/** Returns the rules that this coverage breaks. */
export function gapsOf({ operations, of, failed }: Coverage): readonly Omit<Rule, 'find'>[] {
  return COVERAGE_RULES.filter(({ id }) =>
    failed.some(({ rule }) => rule === 'rules-unfinished')
      ? id === 'rules-unfinished'
      : id === 'rules-in-part' && operations < of,
  )
}
