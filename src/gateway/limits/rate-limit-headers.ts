/**
 * What a caller is told of its limits: `RateLimit-Policy` and `RateLimit` (structured fields of
 * draft-ietf-httpapi-ratelimit-headers) for the tightest limit that applied, `X-RU-*` for units.
 *
 * What does not change from call to call is text already (`limit-plan.ts`).
 */

import { toUnits, type CompiledSla } from './limit-plan.ts'
import type { Verdict } from './limit-verdict.ts'

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
