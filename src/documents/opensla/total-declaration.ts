/** Declares totals: `totals: {minute, hour, …}` of a definition, and `dailyQuota` of `quotas`. */

import { DAY_MS, HOUR_MS, MINUTE_MS, WEEK_MS } from '../../foundation/domain/calendar.ts'
import type { TotalRule, TotalWindow } from '../../foundation/domain/limit-rule.ts'
import type { LimitPlan } from '../../boundary/plan/sla-plan.ts'
import { lengthOf } from '../../boundary/plan/validity-span.ts'
import { propertyPointer, type Definition, type LimitDeclaration } from './limit-declaration.ts'
import { fieldsAt, pointerTo, wholeAt, type Faults } from './reader.ts'

interface Total {
  readonly window: TotalWindow
  readonly value: number
  readonly spanMs: number
  readonly pointer: string
}

/** A month has the length of the longest one. */
const SPANS_MS: Readonly<Record<Exclude<TotalWindow, 'period'>, number>> = {
  minute: MINUTE_MS,
  hour: HOUR_MS,
  day: DAY_MS,
  week: WEEK_MS,
  month: 31 * DAY_MS,
}
const WINDOWS: readonly TotalWindow[] = ['period', 'minute', 'hour', 'day', 'week', 'month']

export const TOTAL_DECLARATION: LimitDeclaration<'total'> = {
  member: 'totals',
  read(value, pointer, validity, faults) {
    return Object.entries(fieldsAt(value, pointer, faults) ?? {}).flatMap(([key, count]) => {
      const at = pointerTo(pointer, key)
      const window = WINDOWS.find((known) => known === key)
      if (window === undefined) {
        if (!key.startsWith('x-')) faults.warn(at, `This is not read: the windows of totals are ${WINDOWS.join(', ')}.`)
        return []
      }
      const calls = wholeAt(count, at, faults)
      if (calls === null) return []
      if (window === 'period' && validity.length === 0) {
        faults.warn(at, 'This has no effect: a period is the times of the validity, which this definition lacks.')
        return []
      }
      return [[`totals.${window}`, { kind: 'total', value: calls, window }]]
    })
  },
  warn(definition, limits, faults) {
    const totals = totalsOf(definition, limits)
    for (const total of totals) warnOfShorter(total, totals, faults)
    warnOfLong(definition, totals, limits, faults)
  },
}

export function readDailyTotal(value: unknown, pointer: string, faults: Faults): TotalRule | null {
  const calls = wholeAt(value, pointer, faults)
  return calls === null ? null : { kind: 'total', value: calls, window: 'day' }
}

/** Warns of a total that a shorter one keeps out of reach, and of shorter ones that are above it. */
function warnOfShorter(total: Total, totals: readonly Total[], faults: Faults): void {
  const shorter = totals.filter(({ spanMs }) => spanMs < total.spanMs)
  const tight = shorter.find(({ value, spanMs }) => value * Math.ceil(total.spanMs / spanMs) < total.value)
  if (tight !== undefined) {
    const most = tight.value * Math.ceil(total.spanMs / tight.spanMs)
    const detail = `This limit is never reached: ${tight.value} calls per ${tight.window} allow at most ${most} per ${total.window}, below ${total.value}.`
    faults.warn(total.pointer, detail)
  }
  for (const idle of shorter.filter(({ value }) => value > total.value)) {
    faults.warn(
      idle.pointer,
      `This limit never applies: the total per ${total.window} already admits only ${total.value} calls.`,
    )
  }
}

/** Warns of a window that is longer than the times of its definition, since it counts only a part of its calls. */
function warnOfLong(
  { properties }: Definition,
  totals: readonly Total[],
  limits: readonly LimitPlan[],
  faults: Faults,
): void {
  const [position] = properties.values()
  const validity = position === undefined ? [] : (limits[position]?.validity ?? [])
  if (validity.length === 0) return
  const longestMs = Math.max(...validity.map(lengthOf))
  for (const { window, spanMs, pointer } of totals) {
    if (window === 'period' || spanMs <= longestMs) continue
    const detail = `The window (${window}) is longer than the validity, and calls outside the validity are not counted. To count per validity, use "period".`
    faults.warn(pointer, detail)
  }
}

/** Returns the totals that are not switched off, with the length of their windows. */
function totalsOf(definition: Definition, limits: readonly LimitPlan[]): readonly Total[] {
  return [...definition.properties].flatMap(([property, position]): Total[] => {
    const { rule, validity } = limits[position]!
    if (rule.kind !== 'total' || rule.value === 0) return []
    const { window, value } = rule
    const spanMs = window === 'period' ? Math.max(0, ...validity.map(lengthOf)) : SPANS_MS[window]
    return [{ window, value, spanMs, pointer: propertyPointer(definition, property) }]
  })
}
