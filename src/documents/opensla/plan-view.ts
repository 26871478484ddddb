/** Shows the plan of a declaration as the API returns it: decimal units and prices, times of the day, operations by name. */

import { DAY_MS } from '../../foundation/domain/calendar.ts'
import { MICRO, toDecimal } from '../../foundation/domain/decimal.ts'
import { windowNameOf, type LimitKind } from '../../foundation/domain/limit-rule.ts'
import type { LimitPlan, QuotaPeriod, RuntimePlan, SlaPlan, Validity } from '../../boundary/plan/sla-plan.ts'

export interface TimesView {
  readonly start: string
  readonly end: string
}

export interface PlannedLimit {
  readonly name: string
  readonly kind: LimitKind
  /** 0: switched off. */
  readonly value: number
  /** The seconds of a rate, or the window of a total. */
  readonly per: string | null
  /** Null for all operations. */
  readonly operationIds: readonly string[] | null
  /** Times of the day in UTC; empty: always. */
  readonly validity: readonly TimesView[]
}

export interface PlannedPromise extends Omit<RuntimePlan, 'validity'> {
  readonly validity: readonly TimesView[]
}

export interface PlanView {
  readonly api: string
  /** Null for the default tier. */
  readonly variant: string | null
  readonly version: string
  readonly limits: readonly PlannedLimit[]
  readonly quota: {
    readonly period: QuotaPeriod
    /** Null for pay as you go. */
    readonly resourceUnits: number | null
    readonly alertPercent: number
  } | null
  readonly resourceUnits: { readonly default: number; readonly operations: Readonly<Record<string, number>> }
  readonly price: { readonly currency: string; readonly perUnit: string } | null
  readonly promises: readonly PlannedPromise[]
}

const OTHERS = '*'
const PLACES = 6

export function showPlan(plan: SlaPlan): PlanView {
  const { api, variant, version, limits, quota, alertShare, unitsMicro, runtime, currency, priceMicro } = plan
  const { [OTHERS]: standard = MICRO, ...operations } = unitsMicro
  return {
    api,
    variant: variant === '' ? null : variant,
    version,
    limits: limits.map((limit, position) => showLimit(limit, operationsOf(plan, position))),
    quota: quota && {
      period: quota.period,
      resourceUnits: quota.period === 'PayAsYouGo' ? null : toUnits(quota.unitsMicro),
      alertPercent: Math.round(alertShare * 100_000) / 1_000,
    },
    resourceUnits: {
      default: toUnits(standard),
      operations: Object.fromEntries(Object.entries(operations).map(([id, micro]) => [id, toUnits(micro)])),
    },
    price: currency === '' ? null : { currency, perUnit: toDecimal(BigInt(priceMicro), PLACES) },
    promises: runtime.map((promise) => ({ ...promise, validity: promise.validity.map(showTimes) })),
  }
}

function showLimit({ name, rule, validity }: LimitPlan, operationIds: readonly string[] | null): PlannedLimit {
  const { kind, value } = rule
  return { name, kind, value, per: windowNameOf(rule), operationIds, validity: validity.map(showTimes) }
}

/** Returns the operations whose calls count against the limit; null: all. */
function operationsOf({ byOperation }: SlaPlan, position: number): readonly string[] | null {
  const counts = (groups: readonly (readonly number[])[] = []): boolean =>
    groups.some((group) => group.includes(position))
  if (counts(byOperation[OTHERS])) return null
  return Object.keys(byOperation).filter((id) => counts(byOperation[id]))
}

function showTimes({ startMs, endMs }: Validity): TimesView {
  return { start: timeOfDay(startMs), end: timeOfDay(endMs) }
}

function timeOfDay(dayMs: number): string {
  return new Date(dayMs % DAY_MS).toISOString().slice(11, 19)
}

function toUnits(micro: number): number {
  return micro / MICRO
}
