/** The limits and the cost of an operation as a subscriber reads them. */

import { toDecimal } from '../domain/decimal.ts'
import type { SlaPlan } from '../opensla/sla-plan.ts'

export interface ShownLimit {
  readonly name: string
  /** `rate`, `concurrent`, or `total`. */
  readonly kind: string
  readonly value: number
  /** Seconds of a rate, the window of a total. */
  readonly per: string | null
}

export function describeLimits(
  plan: SlaPlan | null,
  operationId: string,
): { resourceUnits: string; limits: readonly ShownLimit[] } {
  if (plan === null) return { resourceUnits: '0', limits: [] }
  const groups = own(plan.byOperation, operationId) ?? plan.byOperation['*'] ?? []
  const micro = own(plan.unitsMicro, operationId) ?? plan.unitsMicro['*'] ?? 0
  return {
    resourceUnits: toDecimal(BigInt(micro), 6),
    limits: groups.flatMap((group) =>
      group.map((position) => {
        const { name, rule } = plan.limits[position]!
        const per = rule.kind === 'rate' ? `${rule.spanMs / 1_000} s` : rule.kind === 'total' ? rule.window : null
        return { name, kind: rule.kind, value: rule.value, per }
      }),
    ),
  }
}

/** An operation may be called `constructor`. */
function own<T>(values: Readonly<Record<string, T>>, name: string): T | undefined {
  return Object.hasOwn(values, name) ? values[name] : undefined
}
