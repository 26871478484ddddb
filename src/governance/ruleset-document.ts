/**
 * A tenant's ruleset: a Spectral ruleset document, as data.
 *
 *   { "extends": [["spectral:owasp", "all"]],
 *     "rules": { "pagination": "error", "path-verb": "off",
 *                "owner": { "given": "$.info", "severity": "error", "then": { "field": "x-owner", "function": "truthy" } } } }
 *
 * It begins with the rules that every document is held to; `extends` adds to them what they leave out of
 * Spectral's own rulesets, `rules` changes severities and adds rules of one's own.
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

/** Spectral's words, numbers and truth values. */
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

/** Of `"error"`, `2`, `true` or `{"severity": "error"}`; undefined: it is none. */
export function levelOf(given: unknown): RuleLevel | undefined {
  const value = isObject(given) ? given['severity'] : given
  if (typeof value === 'object') return undefined
  return Object.hasOwn(LEVELS, String(value)) ? LEVELS[String(value)] : undefined
}

/** Of a rule where it is on: what its author says, else a warning. */
export function ownSeverityOf(given: unknown): FindingSeverity {
  const level = levelOf(given)
  return level === undefined || level === 'on' || level === 'off' ? 'warning' : level
}

/** A rule of one's own, rather than the severity of a known one. */
export function isDefinition(given: unknown): given is Readonly<Record<string, unknown>> {
  return isObject(given) && Object.keys(given).some((key) => key !== 'severity')
}

export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** What becomes of a rule that is `standard` by itself and `own` where it is switched on. */
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
