/**
 * A plan compiled for the decisions of one thread: every limit in the same whole units, and all text
 * that an answer will need.
 *
 * A limit has a capacity and a call takes a step of it, whatever its kind: of a total and of
 * concurrency a step is 1, of a rate it is the units of its bucket, of the quota the cost of the
 * operation.
 */

import { DAY_MS, HOUR_MS, MINUTE_MS, WEEK_MS, type CalendarUnit } from '../../domain/calendar.ts'
import { MICRO } from '../../domain/decimal.ts'
import { toBucket } from '../../domain/gcra.ts'
import type { LimitRule, TotalWindow } from '../../plan/limit-rule.ts'
import type { LimitPlan, SlaPlan, Validity } from '../../plan/sla-plan.ts'
import { lengthOf } from '../../plan/validity-span.ts'
import type { Layout } from './limit-layout.ts'
import { QUOTA_UNITS } from './limit-window.ts'

export interface CompiledSla {
  readonly plan: SlaPlan
  /** Number of the layout in this thread. */
  readonly layout: number
  readonly limits: readonly CompiledLimit[]
  readonly quota: CompiledQuota | null
  /** By position of the operation: for each property the limits that may apply, top down. */
  readonly groups: readonly (readonly (readonly CompiledLimit[])[])[]
  /** By position of the operation. */
  readonly unitsMicro: readonly number[]
  /** By position of the operation: the cost as text. */
  readonly costs: readonly string[]
}

export interface CompiledLimit {
  readonly position: number
  readonly rule: LimitRule
  readonly validity: readonly Validity[]
  readonly offset: number
  readonly step: number
  readonly leak: number
  readonly capacity: number
  /** A use from which on the caller is warned. */
  readonly alertAt: number
  /** Name of the definition and its property, as a structured-field string can carry it. */
  readonly label: string
  /** `RateLimit-Policy`, and `RateLimit` up to what remains. */
  readonly policyField: string
  readonly limitField: string
}

export interface CompiledQuota {
  readonly offset: number
  readonly unit: CalendarUnit
  readonly capacity: number
  readonly alertAt: number
  /** Cost of the dearest operation: what the next call may ask for. */
  readonly dearest: number
  readonly limitText: string
}

const ZERO = 48
const WINDOW_MS: Readonly<Record<Exclude<TotalWindow, 'period'>, number>> = {
  minute: MINUTE_MS,
  hour: HOUR_MS,
  day: DAY_MS,
  week: WEEK_MS,
  // The longest of its kind: a policy names a span, not a calendar.
  month: 31 * DAY_MS,
}

export function compileSla(
  plan: SlaPlan,
  operationIds: readonly string[],
  layout: Layout,
  layoutNumber: number,
): CompiledSla {
  const limits = plan.limits.map((limit, position) =>
    compileLimit(limit, position, layout.offsets[position] ?? 0, plan.alertShare),
  )
  const unitsMicro = operationIds.map((id) => ownOf(plan.unitsMicro, id) ?? 0)
  return {
    plan,
    layout: layoutNumber,
    limits,
    quota: compileQuota(plan, layout.quota, unitsMicro),
    groups: operationIds.map((id) =>
      (ownOf(plan.byOperation, id) ?? []).map((group) => group.map((position) => limits[position]!)),
    ),
    unitsMicro,
    costs: unitsMicro.map(toUnits),
  }
}

/** Millionths of a unit as the shortest decimal. */
export function toUnits(micro: number): string {
  const fraction = micro % MICRO
  const whole = (micro - fraction) / MICRO
  if (fraction === 0) return String(whole)
  const digits = String(MICRO + fraction)
  let end = digits.length
  while (digits.charCodeAt(end - 1) === ZERO) end--
  return `${whole}.${digits.slice(1, end)}`
}

/** Operations may be called as a property of every object is. */
function ownOf<T>(record: Readonly<Record<string, T>>, id: string): T | undefined {
  if (Object.hasOwn(record, id)) return record[id]
  return Object.hasOwn(record, '*') ? record['*'] : undefined
}

function compileLimit(
  { name, rule, validity }: LimitPlan,
  position: number,
  offset: number,
  alertShare: number,
): CompiledLimit {
  const { value } = rule
  const { step, leak, capacity } =
    rule.kind === 'rate' ? toBucket(value, rule.spanMs) : { step: 1, leak: 0, capacity: value }
  const label = `${name} ${rule.kind === 'total' ? rule.window : rule.kind}`.replace(/[^ !#-[\]-~]/g, '_')
  return {
    position,
    rule,
    validity,
    offset,
    step,
    leak,
    capacity,
    alertAt: shareOf(capacity, alertShare),
    label,
    policyField: `"${label}";${policyOf(rule, validity)}`,
    limitField: `"${label}";r=`,
  }
}

function compileQuota(
  { quota, alertShare }: SlaPlan,
  offset: number,
  unitsMicro: readonly number[],
): CompiledQuota | null {
  if (quota === null) return null
  const capacity = quota.period === 'PayAsYouGo' ? Infinity : quota.unitsMicro
  return {
    offset,
    unit: QUOTA_UNITS[quota.period],
    capacity,
    alertAt: shareOf(capacity, alertShare),
    dearest: unitsMicro.reduce((most, each) => Math.max(most, each), 0),
    limitText: toUnits(quota.unitsMicro),
  }
}

/** 7 % of 100 is 7, though 0.07 × 100 is a little more. */
function shareOf(capacity: number, share: number): number {
  return capacity === Infinity ? capacity : Math.min(capacity, Math.ceil(Number((capacity * share).toPrecision(12))))
}

function policyOf(rule: LimitRule, validity: readonly Validity[]): string {
  if (rule.kind === 'concurrent') return `q=${rule.value};qu="concurrent-requests"`
  const spanMs = rule.kind === 'rate' ? rule.spanMs : windowLength(rule.window, validity)
  return `q=${rule.value};w=${Math.ceil(spanMs / 1_000)}`
}

function windowLength(window: TotalWindow, validity: readonly Validity[]): number {
  return window === 'period' ? Math.max(0, ...validity.map(lengthOf)) : WINDOW_MS[window]
}
