/**
 * Applies configured thresholds to the default rules: `{"AuthFailure401": {"warningFrom": 5, "criticalFrom": 20,
 * "windowSeconds": 60}}`. Types with a single severity have no thresholds.
 */

import { DEFAULT_RISK_RULES, type RiskRule, type RiskRules } from './risk-rules.ts'

type Thresholds = Pick<RiskRule, 'warningFrom' | 'criticalFrom' | 'windowSeconds'>

const COUNT_MAX = 1_000_000
const WINDOW_SECONDS_MAX = 300
const FIELDS = ['warningFrom', 'criticalFrom', 'windowSeconds'] as const

/** Returns the rules with the thresholds applied, or the error as text. */
export function withThresholds(rules: RiskRules, json: string): RiskRules | string {
  let given: unknown
  try {
    given = JSON.parse(json)
  } catch {
    return 'the value is not JSON'
  }
  if (!isRecord(given)) return 'the value is not an object'
  const changed: Record<string, RiskRule> = { ...rules }
  for (const [type, fields] of Object.entries(given)) {
    const rule = Object.hasOwn(rules, type) ? rules[type as keyof RiskRules] : null
    if (rule === null || rule.warningFrom === null || rule.criticalFrom === null) return `${type} has no thresholds`
    if (!isRecord(fields)) return `${type} is not an object`
    const unknown = Object.keys(fields).find((field) => !FIELDS.some((known) => known === field))
    if (unknown !== undefined) return `${type}.${unknown} is not a threshold, only ${FIELDS.join(', ')} are`
    const next = { ...rule, ...fields } as RiskRule & Record<keyof Thresholds, number>
    if (!isWhole(next.warningFrom, 2, COUNT_MAX)) return `${type}.warningFrom is not a whole number from 2 up`
    if (!isWhole(next.criticalFrom, next.warningFrom, COUNT_MAX))
      return `${type}.criticalFrom is not a whole number from warningFrom (${next.warningFrom}) up`
    if (!isWhole(next.windowSeconds, 1, WINDOW_SECONDS_MAX))
      return `${type}.windowSeconds is not a whole number from 1 to ${WINDOW_SECONDS_MAX}`
    changed[type] = next
  }
  return changed as RiskRules
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function isWhole(value: unknown, min: number, max: number): boolean {
  return Number.isSafeInteger(value) && (value as number) >= min && (value as number) <= max
}

/** Reads the setting: the default rules with its thresholds, or what it takes instead. */
export function readThresholds(text: string): { readonly value: RiskRules } | { readonly takes: string } {
  const rules = withThresholds(DEFAULT_RISK_RULES, text)
  return typeof rules === 'string' ? { takes: `thresholds by type of risk as JSON (${rules})` } : { value: rules }
}
