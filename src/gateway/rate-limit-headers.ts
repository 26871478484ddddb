/**
 * What a caller is told of its limits: `RateLimit-Policy` and `RateLimit` (structured fields of
 * draft-ietf-httpapi-ratelimit-headers) for the tightest limit that applied, `X-RU-*` for units.
 */

import { toDecimal } from '../domain/decimal.ts'
import { DAY_MS, HOUR_MS, MINUTE_MS, WEEK_MS } from '../domain/calendar.ts'
import type { LimitRule, TotalWindow } from '../opensla/sla-plan.ts'
import type { CompiledSla, Verdict } from './limiter.ts'

/** Longest window of its kind; a policy names a span, not a calendar. */
const WINDOW_MS: Readonly<Record<TotalWindow, number>> = {
  period: DAY_MS,
  minute: MINUTE_MS,
  hour: HOUR_MS,
  day: DAY_MS,
  week: WEEK_MS,
  month: 31 * DAY_MS,
}

/** Pushes name, value, … to `target`, and returns it. */
export function appendLimitHeaders(target: string[], sla: CompiledSla, operation: number, verdict: Verdict): string[] {
  const { tightest } = verdict
  if (tightest >= 0) {
    const { label: name } = sla.limits[tightest]!
    target.push(
      'RateLimit-Policy',
      `"${name}";${policy(sla.limits[tightest]!.rule)}`,
      'RateLimit',
      `"${name}";r=${verdict.remaining};t=${Math.ceil(verdict.resetMs / 1_000)}`,
    )
  }
  target.push('X-RU-Cost', units(sla.unitsMicro[operation]!))
  const { quota } = sla.plan
  if (quota === null) return target
  target.push('X-RU-Consumed', units(verdict.quotaUsedMicro), 'X-RU-Period', quota.period)
  if (quota.period === 'PayAsYouGo') return target
  target.push(
    'X-RU-Limit',
    units(quota.unitsMicro),
    'X-RU-Remaining',
    units(Math.max(0, quota.unitsMicro - verdict.quotaUsedMicro)),
  )
  return target
}

function policy(rule: LimitRule): string {
  if (rule.kind === 'concurrent') return `q=${rule.value};qu="concurrent-requests"`
  const spanMs = rule.kind === 'rate' ? rule.spanMs : WINDOW_MS[rule.window]
  return `q=${rule.value};w=${Math.ceil(spanMs / 1_000)}`
}

function units(micro: number): string {
  return micro % 1_000_000 === 0 ? String(micro / 1_000_000) : toDecimal(BigInt(micro), 6)
}
