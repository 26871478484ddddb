/**
 * Response headers of the limits: `RateLimit-Policy` and `RateLimit` (structured fields of draft-ietf-httpapi-ratelimit-headers) for
 * the tightest limit that applied, `X-RU-*` for resource units. Parts that no call changes are compiled as text (`compiled-sla.ts`).
 */

import { MICRO } from '../../domain/decimal.ts'
import type { CompiledSla } from './compiled-sla.ts'
import type { Verdict } from './limit-verdict.ts'
import { toUnits } from './resource-units.ts'

/** Pushes name, value, … to `target`, and returns it. */
export function appendLimitHeaders(target: string[], sla: CompiledSla, operation: number, verdict: Verdict): string[] {
  const { tightest } = verdict
  if (tightest >= 0) {
    const { policyField, limitField } = sla.limits[tightest]!
    target.push(
      'RateLimit-Policy',
      policyField,
      'RateLimit',
      `${limitField}${verdict.remaining};t=${Math.ceil(verdict.resetMs / 1_000)}`,
    )
  }
  target.push('X-RU-Cost', sla.costs[operation]!)
  const { quota } = sla.plan
  if (quota === null || sla.quota === null) return target
  target.push('X-RU-Consumed', toUnits(verdict.quotaUsedMicro), 'X-RU-Period', quota.period)
  if (quota.period === 'PayAsYouGo') return target
  const remaining = Math.max(0, quota.unitsMicro - verdict.quotaUsedMicro)
  target.push('X-RU-Limit', sla.quota.limitText, 'X-RU-Remaining', toUnits(remaining))
  return target
}

/** Corrects the headers of a call whose units were refunded before its head was sent, because it has consumed nothing. */
export function refundUnits(headers: string[], { plan }: CompiledSla, unitsMicro: number): void {
  const at = headers.indexOf('X-RU-Consumed')
  if (at < 0 || unitsMicro === 0) return
  const usedMicro = Math.max(0, Math.round(Number(headers[at + 1]) * MICRO) - unitsMicro)
  headers[at + 1] = toUnits(usedMicro)
  const remainingAt = headers.indexOf('X-RU-Remaining')
  if (remainingAt < 0 || plan.quota === null) return
  headers[remainingAt + 1] = toUnits(Math.max(0, plan.quota.unitsMicro - usedMicro))
}
