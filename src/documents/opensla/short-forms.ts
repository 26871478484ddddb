/**
 * Reads the short forms of `quotas`: `rateLimit: 5000rpm`, `spikeArrest: 100tps`, `dailyQuota: 100000`.
 *
 * They limit the calls of all operations, in addition to `limits`.
 */

import type { LimitPlans } from './limits.ts'
import { readShortRate } from './rate-declaration.ts'
import type { Faults, Fields } from './reader.ts'
import { readDailyTotal } from './total-declaration.ts'
import type { LimitRule } from '../../foundation/domain/limit-rule.ts'
import type { LimitPlan } from '../../boundary/plan/sla-plan.ts'

export const SHORT_FORMS = ['rateLimit', 'spikeArrest', 'dailyQuota'] as const

const READ: Readonly<
  Record<(typeof SHORT_FORMS)[number], (value: unknown, pointer: string, faults: Faults) => LimitRule | null>
> = { rateLimit: readShortRate, spikeArrest: readShortRate, dailyQuota: readDailyTotal }

export function withShortForms({ limits, byOperation }: LimitPlans, quotas: Fields, faults: Faults): LimitPlans {
  const added = SHORT_FORMS.flatMap((property): LimitPlan[] => {
    const value = quotas[property]
    if (value === undefined) return []
    const rule = READ[property](value, `/quotas/${property}`, faults)
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
