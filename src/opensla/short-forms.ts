/**
 * The short forms of `quotas`: `rateLimit: 5000rpm`, `spikeArrest: 100tps`, `dailyQuota: 100000`.
 *
 * They are limits of all operations that hold beside those of `limits`, and count calls.
 */

import { isExactRate } from '../domain/gcra.ts'
import type { LimitPlans } from './limits.ts'
import { wholeAt, type Faults, type Fields } from './reader.ts'
import type { LimitRule } from '../plan/limit-rule.ts'
import type { LimitPlan } from '../plan/sla-plan.ts'

export const SHORT_FORMS = ['rateLimit', 'spikeArrest', 'dailyQuota'] as const

const RATE = /^(\d{1,9})\s*([tr])p([smhd])$/i
const SPANS_MS: ReadonlyMap<string, number> = new Map([
  ['s', 1_000],
  ['m', 60_000],
  ['h', 3_600_000],
  ['d', 86_400_000],
])

export function withShortForms({ limits, byOperation }: LimitPlans, quotas: Fields, faults: Faults): LimitPlans {
  const added = SHORT_FORMS.flatMap((property): LimitPlan[] => {
    const value = quotas[property]
    if (value === undefined) return []
    const rule = property === 'dailyQuota' ? readDaily(value, faults) : readRate(value, `/quotas/${property}`, faults)
    return rule === null
      ? []
      : [{ name: property, key: `quotas/${property}`, meaning: `quotas/${property}`, rule, validity: [] }]
  })
  if (added.length === 0) return { limits, byOperation }
  const groups = added.map((_, index) => [limits.length + index])
  return {
    limits: [...limits, ...added],
    byOperation: Object.fromEntries(Object.entries(byOperation).map(([id, known]) => [id, [...known, ...groups]])),
  }
}

function readDaily(value: unknown, faults: Faults): LimitRule | null {
  const calls = wholeAt(value, '/quotas/dailyQuota', faults)
  return calls === null ? null : { kind: 'total', value: calls, window: 'day' }
}

function readRate(text: unknown, pointer: string, faults: Faults): LimitRule | null {
  const match = typeof text === 'string' ? RATE.exec(text) : null
  const spanMs = SPANS_MS.get(match?.[3]?.toLowerCase() ?? '')
  const value = Number(match?.[1])
  if (spanMs !== undefined && isExactRate(value, spanMs)) return { kind: 'rate', value, spanMs }
  faults.add(pointer, 'Give a rate such as 5000rpm or 100tps: a second, minute, hour or day is s, m, h or d.')
  return null
}
