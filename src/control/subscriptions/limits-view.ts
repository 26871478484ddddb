/** Describes the limits, the cost and the quota of an operation for its subscriber: declared, used and remaining. */

import { DAY_MS, startOf } from '../../foundation/domain/calendar.ts'
import { MICRO } from '../../foundation/domain/decimal.ts'
import { type LimitKind, windowNameOf } from '../../foundation/domain/limit-rule.ts'
import type { SlaPlan, Validity } from '../../boundary/plan/sla-plan.ts'
import { isValid } from '../../boundary/plan/validity-span.ts'
import { toTime } from '../command/commands.ts'
import type { LimitUsage, LimitUse } from '../../boundary/plan/limit-book.ts'

export interface LimitView {
  readonly name: string
  readonly kind: LimitKind
  /** 0: switched off. */
  readonly value: number
  /** The seconds of a rate, or the window of a total. */
  readonly per: string | null
  /** Times of the day in UTC; empty: always. */
  readonly validity: readonly { readonly start: string; readonly end: string }[]
  /** Whether a call is checked against it now: it is valid now, and no earlier definition of its group is. */
  readonly appliesNow: boolean
  readonly remaining: number | null
  /** When the window of a total ends. */
  readonly resetsAt: string | null
}

export interface QuotaView {
  readonly period: string
  /** Null for pay as you go. */
  readonly resourceUnits: number | null
  readonly used: number
  readonly remaining: number | null
  readonly resetsAt: string
}

export interface LimitsView {
  readonly resourceUnits: number
  readonly limits: readonly LimitView[]
  readonly quota: QuotaView | null
}

const UNDECLARED: LimitsView = { resourceUnits: 0, limits: [], quota: null }

export function describeLimits(
  plan: SlaPlan | null,
  operationId: string,
  usage: LimitUsage | null,
  nowMs: number,
): LimitsView {
  if (plan === null) return UNDECLARED
  const groups = own(plan.byOperation, operationId) ?? plan.byOperation['*'] ?? []
  const micro = own(plan.unitsMicro, operationId) ?? plan.unitsMicro['*'] ?? 0
  const dayMs = nowMs - startOf('day', nowMs)
  return {
    resourceUnits: toUnits(micro),
    limits: groups.flatMap((group) => {
      const applying = group.find((position) => isValid(plan.limits[position]!.validity, dayMs))
      return group.map((position) =>
        describeLimit(plan.limits[position]!, position === applying, usage?.limits[position] ?? null),
      )
    }),
    quota: describeQuota(plan.quota, usage?.quota ?? null),
  }
}

function describeLimit(
  { name, rule, validity }: SlaPlan['limits'][number],
  appliesNow: boolean,
  use: LimitUse | null,
): LimitView {
  const { kind, value } = rule
  return {
    name,
    kind,
    value,
    per: windowNameOf(rule),
    validity: validity.map(({ startMs, endMs }: Validity) => ({ start: timeOfDay(startMs), end: timeOfDay(endMs) })),
    appliesNow,
    remaining: value === 0 || use === null ? null : Math.max(0, value - use.used),
    resetsAt: value === 0 || use === null || use.endMs === null ? null : toTime(use.endMs),
  }
}

function describeQuota(quota: SlaPlan['quota'], use: LimitUsage['quota']): QuotaView | null {
  if (quota === null || use === null) return null
  const isEndless = quota.period === 'PayAsYouGo'
  return {
    period: quota.period,
    resourceUnits: isEndless ? null : toUnits(quota.unitsMicro),
    used: toUnits(use.usedMicro),
    remaining: isEndless ? null : toUnits(Math.max(0, quota.unitsMicro - use.usedMicro)),
    resetsAt: toTime(use.endMs),
  }
}

function toUnits(micro: number): number {
  return micro / MICRO
}

function timeOfDay(dayMs: number): string {
  return new Date(dayMs % DAY_MS).toISOString().slice(11, 19)
}

/** Reads own properties only, because an operation may have the id `constructor`. */
function own<T>(values: Readonly<Record<string, T>>, name: string): T | undefined {
  return Object.hasOwn(values, name) ? values[name] : undefined
}
