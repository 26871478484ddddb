/**
 * What was not looked at, as findings: a rule that could not be applied has not been kept, and a document
 * must not pass by being too large or too intricate for it.
 */

import type { Coverage } from '../spectral/engine.ts'
import type { Rule } from './rule.ts'

export const COVERAGE_RULES: readonly Omit<Rule, 'find'>[] = [
  {
    id: 'rules-in-part',
    category: 'design',
    severity: 'info',
    message: 'The document is large: Spectral’s rules and those of your own were applied to a part of it.',
    advice: 'Make two APIs of it, or make this an error in your ruleset, so that somebody looks at the rest.',
  },
  {
    id: 'rules-unfinished',
    category: 'design',
    severity: 'error',
    message: 'Spectral’s rules and those of your own were given up: they took too much time or memory.',
    advice: 'Look for what they take so long for: lists of thousands, or paths of your own that meet every value.',
  },
]

/** What is said of a document while Spectral's rules are at work. */
export function unfinished(operations: number): Coverage {
  return { operations: 0, of: operations, failed: [{ rule: 'rules-unfinished', detail: COVERAGE_RULES[1]!.message }] }
}

/** Those that are broken. */
export function gapsOf({ operations, of, failed }: Coverage): readonly Omit<Rule, 'find'>[] {
  return COVERAGE_RULES.filter(({ id }) =>
    failed.some(({ rule }) => rule === 'rules-unfinished')
      ? id === 'rules-unfinished'
      : id === 'rules-in-part' && operations < of,
  )
}
