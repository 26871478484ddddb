/** The rules of the comparison whose severity a ruleset sets. */

import type { FindingSeverity } from '../finding.ts'
import { severityIn, type RulesetDocument } from '../ruleset-document.ts'
import { RULES, type ChangeLevel, type RuleId } from './change-rules.ts'

/** Rules that a ruleset may switch on or off, with the severity of one that is switched on without a severity. */
export const POLICY_RULES: ReadonlyMap<string, FindingSeverity> = new Map([
  ['operation.renamed', 'warning'],
  ['request.default', 'warning'],
  ['operation.sunset.missing', 'warning'],
  ['operation.sunset.near', 'warning'],
  ['operation.stability.lowered', 'warning'],
  ['enum.extensible.removed', 'warning'],
])

/** The level of a rule in a ruleset: one of severity error counts as breaking. */
export function levelIn(ruleset: RulesetDocument, id: RuleId): ChangeLevel | 'off' {
  const [level] = RULES[id]
  const own = POLICY_RULES.get(id)
  if (own === undefined) return level
  const severity = severityIn(ruleset, id, level === 'breaking' ? 'error' : level, own)
  return severity === 'error' ? 'breaking' : severity
}
