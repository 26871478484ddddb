/**
 * A tenant's ruleset: a Spectral ruleset document, as data.
 *
 *   { "extends": [["spectral:owasp", "all"]],
 *     "rules": { "pagination": "error", "path-verb": "off",
 *                "owner": { "given": "$.info", "severity": "error", "then": { "field": "x-owner", "function": "truthy" } } } }
 *
 * The default rules always apply. `extends` adds rules of Spectral's own rulesets that are off by default; `rules` changes
 * severities and adds custom rules.
 */

import type { FindingSeverity } from './finding.ts'

export interface RulesetDocument {
  readonly extends?: unknown
  readonly formats?: unknown
  readonly aliases?: unknown
  readonly rules: Readonly<Record<string, unknown>>
}

export type RuleLevel = FindingSeverity | 'off' | 'on'

export const EMPTY_RULESET: RulesetDocument = { rules: {} }

/** Spectral's severities: names, numbers and booleans. */
const LEVELS: Readonly<Record<string, RuleLevel>> = {
  off: 'off',
  false: 'off',
  true: 'on',
  error: 'error',
  '0': 'error',
  warn: 'warning',
  '1': 'warning',
  info: 'info',
  '2': 'info',
  hint: 'info',
  '3': 'info',
}

/** Reads `"error"`, `2`, `true` or `{"severity": "error"}`; undefined if the value is not a level. */
export function levelOf(given: unknown): RuleLevel | undefined {
  const value = isObject(given) ? given['severity'] : given
  if (typeof value === 'object') return undefined
  return Object.hasOwn(LEVELS, String(value)) ? LEVELS[String(value)] : undefined
}

/** Returns the severity of a custom rule; a warning if the ruleset does not set one. */
export function ownSeverityOf(given: unknown): FindingSeverity {
  const level = levelOf(given)
  return level === undefined || level === 'on' || level === 'off' ? 'warning' : level
}

/** Tests for the definition of a custom rule, as opposed to the severity of a known rule. */
export function isDefinition(given: unknown): given is Readonly<Record<string, unknown>> {
  return isObject(given) && Object.keys(given).some((key) => key !== 'severity')
}

export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Returns the severity of a rule in a ruleset: `standard` by default, `own` if the ruleset turns it on. */
export function severityIn(
  { rules }: RulesetDocument,
  rule: string,
  standard: FindingSeverity | 'off',
  own: FindingSeverity,
): FindingSeverity | 'off' {
  const level = Object.hasOwn(rules, rule) ? levelOf(rules[rule]) : undefined
  if (level === undefined) return standard
  if (level !== 'on') return level
  return standard === 'off' ? own : standard
}
