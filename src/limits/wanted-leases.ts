/** The leases that calls under a plan need. */

import { createCalendar } from '../foundation/domain/calendar.ts'
import { toBucket } from '../foundation/domain/gcra.ts'
import type { LeaseDeclaration } from '../boundary/leases/lease-declaration.ts'
import { calendarTotal, isSlice } from '../boundary/leases/slice-windows.ts'
import type { LimitPlan, QuotaPlan } from '../boundary/plan/sla-plan.ts'
import { windowEnd, windowStart } from './limit-window.ts'
import { quotaUnitOf } from './quota-limit.ts'

/** The lease of a limit, by a name of the calls that it counts. */
export interface Wanted {
  readonly name: string
  readonly declaration: LeaseDeclaration
  readonly isLong: boolean
  /** The limit is switched off by its value of 0: no call needs the lease. */
  readonly isOff: boolean
}

/** No call through the gateway is expected to take longer; slots of a node that was lost stay taken for this long. */
const CALL_MS_MAX = 600_000

/** In the order of the limits. */
export function limitsWanted(limits: readonly LimitPlan[], version: number): readonly Wanted[] {
  const names = new Set<string>()
  return limits.map((limit) => {
    // Several limits of a plan may count the same calls.
    let name = `${limit.rule.kind} ${limit.meaning}`
    while (names.has(name)) name += ' again'
    names.add(name)
    return {
      name,
      declaration: toDeclaration(limit, version),
      isLong: limit.rule.kind === 'total' && isSlice(limit.rule.window),
      isOff: limit.rule.value === 0,
    }
  })
}

function toDeclaration({ rule, validity }: LimitPlan, version: number): LeaseDeclaration {
  switch (rule.kind) {
    case 'rate':
      return { kind: 'rate', version, ...toBucket(rule.value, rule.spanMs) }
    case 'concurrent':
      return { kind: 'concurrent', version, value: rule.value, callMsMax: CALL_MS_MAX }
    case 'total': {
      const { window, value } = rule
      if (window !== 'period') return calendarTotal(window, value, version)
      const calendar = createCalendar()
      const windowAt = (serverMs: number) => ({
        startMs: windowStart(window, validity, calendar, serverMs),
        endMs: windowEnd(window, validity, calendar, serverMs),
      })
      return { kind: 'total', version, value, windowAt }
    }
    default:
      return rule satisfies never
  }
}

/** Returns null for a quota that admits everything. */
export function quotaWanted(quota: QuotaPlan | null, version: number): Wanted | null {
  if (quota === null || quota.period === 'PayAsYouGo') return null
  const { period, unitsMicro } = quota
  const declaration = calendarTotal(quotaUnitOf(period), unitsMicro, version)
  return { name: `quota ${period}`, declaration, isLong: true, isOff: false }
}
