/** Compiles a plan for the decisions of one thread. */

import type { LimitKind } from '../foundation/domain/limit-rule.ts'
import { inOnePiece } from '../foundation/runtime/one-piece.ts'
import type { UnitsPlan } from '../boundary/plan/route-plan.ts'
import type { LimitPlan, SlaPlan } from '../boundary/plan/sla-plan.ts'
import type { CompiledLimit, CompiledLimitOf, CompiledSla } from './compiled-sla.ts'
import { GROUPS_MAX } from './decision-context.ts'
import { alertThreshold } from './limit-alert.ts'
import { compileRule, counterLayoutOf, warnsOncePerWindow } from './limit-kinds.ts'
import type { Layout } from './limit-layout.ts'
import { compileQuota } from './quota-limit.ts'
import { toUnits } from './resource-units.ts'

/** By position of the operation; undefined for those whose units are known before. */
export type LateUnits = readonly (UnitsPlan | undefined)[]

const NO_UNITS: LateUnits = []

/**
 * Compiles a plan for operations, of which `units` states by position how units are counted after the response. Throws if an operation has more
 * groups of limits than a decision can check, rather than leave some unchecked.
 */
export function compileSla(
  plan: SlaPlan,
  operationIds: readonly string[],
  layout: Layout,
  layoutNumber: number,
  units: LateUnits = NO_UNITS,
): CompiledSla {
  const limits = plan.limits.map((limit, position) =>
    compileLimit(limit, position, layout.offsets[position] ?? 0, plan.alertShare),
  )
  const declaredMicro = operationIds.map((id) => ownOf(plan.unitsMicro, id) ?? 0)
  const unitsMicro = declaredMicro.map((declared, position) => reserveOf(units[position], declared))
  return {
    plan,
    layout: layoutNumber,
    limits,
    quota: compileQuota(plan, layout.quota, unitsMicro),
    groups: operationIds.map((id) => compileGroups(ownOf(plan.byOperation, id) ?? [], limits)),
    unitsMicro,
    declaredMicro,
    costLines: unitsMicro.map((cost) => inOnePiece(`X-RU-Cost: ${toUnits(cost)}\r\n`)),
  }
}

/** A call always reserves something, because one that needs nothing is admitted by a quota that is used up. */
function reserveOf(units: UnitsPlan | undefined, declaredMicro: number): number {
  return units === undefined ? declaredMicro : (units.reserveMicro ?? (declaredMicro || units.unitsMicro))
}

function compileGroups(
  groups: readonly (readonly number[])[],
  limits: readonly CompiledLimit[],
): readonly (readonly CompiledLimit[])[] {
  if (groups.length > GROUPS_MAX)
    throw new RangeError(`an operation has ${groups.length} groups of limits; a decision checks at most ${GROUPS_MAX}`)
  return groups.map((group) => group.map((position) => limits[position]!))
}

/** Reads own members only: an operation may have the name of an inherited one, such as `constructor`. */
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
  const { step, leak, capacity, property, policy } = compileRule(rule, validity)
  const label = `${name} ${property}`.replace(/[^ !#-[\]-~]/g, '_')
  const compiled: CompiledLimitOf<LimitKind> = {
    kind: rule.kind,
    position,
    rule,
    validity,
    offset,
    warnedAt: offset + counterLayoutOf(rule.kind).warnedSlot,
    warnsOncePerWindow: warnsOncePerWindow(rule.kind),
    step,
    leak,
    capacity,
    alertAt: alertThreshold(capacity, alertShare),
    label,
    headerStart: inOnePiece(`RateLimit-Policy: "${label}";${policy}\r\nRateLimit: "${label}";r=`),
  }
  // `kind` is that of `rule`, which the type of the literal cannot express.
  return compiled as CompiledLimit
}
