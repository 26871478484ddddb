/** The declared numbers of a limit, one shape per kind. `value` is in calls; 0 switches the property off for the calls that it matches. */

import type { LimitKind } from '../domain/limit-kind.ts'

export type TotalWindow = 'period' | 'minute' | 'hour' | 'day' | 'week' | 'month'

export interface RateRule {
  readonly kind: 'rate'
  readonly value: number
  readonly spanMs: number
}

export interface TotalRule {
  readonly kind: 'total'
  readonly value: number
  readonly window: TotalWindow
}

export interface ConcurrentRule {
  readonly kind: 'concurrent'
  readonly value: number
}

interface RuleByKind extends Readonly<Record<LimitKind, unknown>> {
  readonly rate: RateRule
  readonly total: TotalRule
  readonly concurrent: ConcurrentRule
}

export type RuleOf<K extends LimitKind> = RuleByKind[K]
export type LimitRule = RuleOf<LimitKind>

/** Returns the window as the API shows it: the span of a rate (`60 s`), the window of a total; null for concurrent calls. */
export function windowNameOf(rule: LimitRule): string | null {
  switch (rule.kind) {
    case 'rate':
      return `${rule.spanMs / 1_000} s`
    case 'total':
      return rule.window
    case 'concurrent':
      return null
    default:
      return rule satisfies never
  }
}
