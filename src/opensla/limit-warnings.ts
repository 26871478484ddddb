/**
 * What the `limits` of a declaration say in vain, or hardly meant: definitions that are never reached,
 * and numbers of one definition that cannot all matter.
 */

import { DAY_MS, HOUR_MS, MINUTE_MS, WEEK_MS } from '../domain/calendar.ts'
import type { Faults } from './reader.ts'
import type { TotalWindow } from '../plan/limit-rule.ts'
import type { LimitPlan } from '../plan/sla-plan.ts'
import { lengthOf } from '../plan/validity-span.ts'

/** A definition before it is resolved per operation. */
export interface Definition {
  readonly pointer: string
  readonly operationIds: ReadonlySet<string> | null
  /** Property → position in `limits`. */
  readonly properties: ReadonlyMap<string, number>
}

interface Total {
  readonly window: TotalWindow
  readonly value: number
  readonly spanMs: number
  readonly pointer: string
}

/** The longest of its kind. */
const SPANS_MS: Readonly<Record<Exclude<TotalWindow, 'period'>, number>> = {
  minute: MINUTE_MS,
  hour: HOUR_MS,
  day: DAY_MS,
  week: WEEK_MS,
  month: 31 * DAY_MS,
}

/** A property behind one of the same name that always holds is never reached. */
export function warnOfShadowed(
  definitions: readonly Definition[],
  limits: readonly LimitPlan[],
  byOperation: Readonly<Record<string, readonly (readonly number[])[]>>,
  faults: Faults,
): void {
  const reached = new Set<number>()
  for (const group of Object.values(byOperation).flat()) {
    for (const position of group) {
      reached.add(position)
      if (limits[position]?.validity.length === 0) break
    }
  }
  for (const { pointer, operationIds, properties } of definitions) {
    if (operationIds?.size === 0) continue
    for (const [property, position] of properties) {
      if (reached.has(position)) continue
      faults.warn(pointerOf(pointer, property), 'A definition further up always comes first.')
    }
  }
}

/** A total that the shorter ones never let come about, one that is used up at once, and one longer than its times. */
export function warnOfUnlikely(definitions: readonly Definition[], limits: readonly LimitPlan[], faults: Faults): void {
  for (const definition of definitions) {
    const totals = totalsOf(definition, limits)
    for (const long of totals) {
      const shorter = totals.filter(({ spanMs }) => spanMs < long.spanMs)
      const tight = shorter.find(({ value, spanMs }) => value * Math.ceil(long.spanMs / spanMs) < long.value)
      if (tight !== undefined) {
        const most = tight.value * Math.ceil(long.spanMs / tight.spanMs)
        const detail = `${tight.value} per ${tight.window} are at most ${most} per ${long.window}: ${long.value} is never reached.`
        faults.warn(long.pointer, detail)
      }
      for (const idle of shorter.filter(({ value }) => value > long.value)) {
        faults.warn(idle.pointer, `Only ${long.value} per ${long.window} are admitted, so this never applies.`)
      }
    }
    warnOfLong(definition, totals, limits, faults)
  }
}

/** A window that is longer than the times of its definition counts a part of its calls. */
function warnOfLong(
  { properties }: Definition,
  totals: readonly Total[],
  limits: readonly LimitPlan[],
  faults: Faults,
) {
  const [position] = properties.values()
  const validity = position === undefined ? [] : (limits[position]?.validity ?? [])
  if (validity.length === 0) return
  const longestMs = Math.max(...validity.map(lengthOf))
  for (const { window, spanMs, pointer } of totals) {
    if (window === 'period' || spanMs <= longestMs) continue
    faults.warn(
      pointer,
      `The ${window} is longer than the validity: calls at other times are not counted. Is a period meant?`,
    )
  }
}

/** Totals that are not switched off, with the time that each of them counts over. */
function totalsOf({ pointer, properties }: Definition, limits: readonly LimitPlan[]): readonly Total[] {
  return [...properties].flatMap(([property, position]): Total[] => {
    const { rule, validity } = limits[position]!
    if (rule.kind !== 'total' || rule.value === 0) return []
    const { window, value } = rule
    const spanMs = window === 'period' ? Math.max(0, ...validity.map(lengthOf)) : SPANS_MS[window]
    return [{ window, value, spanMs, pointer: pointerOf(pointer, property) }]
  })
}

function pointerOf(definition: string, property: string): string {
  return `${definition}/${property.replace('.', '/')}`
}
