/**
 * The limit station: takes a call's share of limits and units before it goes further, and gives back
 * what it must when the call ends.
 *
 * Units are charged when a call is forwarded and given back when the backend answers 5xx or not at
 * all. A call that is refused by a limit takes nothing; one refused at validation keeps its limits and
 * gives its units back.
 */

import type { LimitState } from '../domain/explanation.ts'
import { FLAG_COUNTED, FLAG_FORWARDED, OUTCOMES } from '../record/call-record.ts'
import type { Call } from './call.ts'
import { ADMITTED, QUOTA, type CompiledSla, type Limiter } from './limits/limiter.ts'
import { appendLimitHeaders } from './limits/rate-limit-headers.ts'
import { limitState, quotaState } from './limits/limit-state.ts'
import type { Seat } from './seat.ts'

export interface Admission {
  readonly code: 'rate_limited' | 'quota_exhausted'
  readonly detail: string
  readonly headers: readonly string[]
  readonly extensions: Readonly<Record<string, unknown>>
  /** Of the limit that refused. */
  readonly limit: LimitState
}

export interface Admissions {
  /** Null where the call may go on; it notes what it holds. */
  admit(call: Call, seat: Seat, operation: number, nowMs: number): Admission | null
  release(call: Call): void
  /** Whether the last admitted call passed an alert threshold. */
  readonly isApproaching: boolean
}

export function createAdmissions({ limiter }: { limiter: Limiter }): Admissions {
  const { verdict } = limiter

  const admissions: Admissions = {
    get isApproaching() {
      return verdict.approaching
    },
    admit(call, seat, operation, nowMs) {
      const { sla, block } = seat
      verdict.approaching = false
      if (sla === null || block === null) return null
      limiter.take(sla, block, operation, nowMs)
      const cost = sla.unitsMicro[operation]!
      if (verdict.refusedBy === ADMITTED) {
        call.unitsMicro = cost
        call.flags |= FLAG_COUNTED
        call.admittedMs = nowMs
        call.sla = sla
        call.block = block
        call.gauge = verdict.gauge
        call.quotaStartMs = verdict.quotaStartMs
        call.admissions = admissions
        call.limitHeaders = appendLimitHeaders([], sla, operation, verdict)
        return null
      }
      return refusal(sla, operation, nowMs)
    },
    release: (call) => release(limiter, call),
  }
  return admissions

  function refusal(sla: CompiledSla, operation: number, nowMs: number): Admission {
    const headers = appendLimitHeaders([], sla, operation, verdict)
    headers.push('Retry-After', String(Math.max(1, Math.ceil(verdict.retryAfterMs / 1_000))))
    const opensAt = new Date(Math.ceil(nowMs + verdict.retryAfterMs)).toISOString()
    if (verdict.refusedBy === QUOTA) {
      const window = sla.plan.quota?.period ?? 'Monthly'
      return {
        code: 'quota_exhausted',
        detail: `The ${window.toLowerCase()} quota of resource units is used up until ${opensAt}.`,
        headers,
        extensions: { limit: 'quota', window, opensAt },
        limit: quotaState(sla, operation, verdict, window, opensAt),
      }
    }
    const { label: limit, rule } = sla.limits[verdict.refusedBy]!
    const window = rule.kind === 'total' ? rule.window : rule.kind === 'rate' ? `${rule.spanMs / 1_000} s` : null
    const detail =
      rule.kind === 'concurrent'
        ? `The limit "${limit}" of ${rule.value} is reached. It opens when a call ends.`
        : `The limit "${limit}" of ${rule.value} is reached. It opens at ${opensAt}.`
    const extensions = { limit, window, opensAt }
    return { code: 'rate_limited', detail, headers, extensions, limit: limitState(sla, verdict, window, opensAt) }
  }
}

/** Ends what a call holds of limits and units. */
function release(limiter: Limiter, call: Call): void {
  const { sla, block } = call
  if (sla === null || block === null) return
  limiter.release(block, call.gauge)
  if (isCharged(call)) return
  limiter.giveBack(sla, block, call.unitsMicro, call.quotaStartMs)
  call.unitsMicro = 0
}

/** A client that leaves or has to be disconnected is charged: its backend has worked, and leaving early must not make calls free. */
function isCharged(call: Call): boolean {
  if ((call.flags & FLAG_FORWARDED) === 0) return false
  const outcome = OUTCOMES[call.outcome]
  if (outcome === 'client_aborted' || outcome === 'client_too_slow') return true
  return outcome === 'served' && call.status < 500
}
