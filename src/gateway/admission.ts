/**
 * The limit station: takes a call's share of limits and units before it goes further, and gives back
 * what it must when the call ends.
 *
 * Units are charged when a call is forwarded and given back when the backend answers 5xx or not at
 * all. A call that is refused by a limit takes nothing; one refused at validation keeps its limits and
 * gives its units back.
 */

import { FLAG_COUNTED, FLAG_FORWARDED, OUTCOMES } from '../record/call-record.ts'
import type { Call } from './call.ts'
import { ADMITTED, QUOTA, type Block, type CompiledSla, type Limiter } from './limiter.ts'
import { appendLimitHeaders } from './rate-limit-headers.ts'
import type { Seat } from './seat.ts'

export interface Admission {
  readonly code: 'rate_limited' | 'quota_exhausted'
  readonly detail: string
  readonly headers: readonly string[]
  readonly extensions: Readonly<Record<string, unknown>>
}

export interface Admissions {
  /** Null where the call may go on; it is released by `call.admission`. */
  admit(call: Call, seat: Seat, operation: number, nowMs: number): Admission | null
  /** Whether the last admitted call passed an alert threshold. */
  readonly isApproaching: boolean
}

export function createAdmissions({ limiter }: { limiter: Limiter }): Admissions {
  const { verdict } = limiter

  return {
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
        call.admission = new Taken(limiter, sla, block, verdict.gauge, verdict.quotaStartMs)
        call.limitHeaders = appendLimitHeaders([], sla, operation, verdict)
        return null
      }
      return refusal(sla, operation, nowMs)
    },
  }

  function refusal(sla: CompiledSla, operation: number, nowMs: number): Admission {
    const headers = appendLimitHeaders([], sla, operation, verdict)
    if (verdict.refusedBy === QUOTA) {
      const { period = 'Monthly' } = sla.plan.quota ?? {}
      return {
        code: 'quota_exhausted',
        detail: `The ${period.toLowerCase()} quota of resource units is used up.`,
        headers,
        extensions: { limit: 'quota', period },
      }
    }
    const { retryAfterMs } = verdict
    const { label: name } = sla.limits[verdict.refusedBy]!
    headers.push('Retry-After', String(Math.max(1, Math.ceil(retryAfterMs / 1_000))))
    return {
      code: 'rate_limited',
      detail: `The limit "${name}" is reached.`,
      headers,
      extensions: { limit: name, opensAt: new Date(Math.ceil(nowMs + retryAfterMs)).toISOString() },
    }
  }
}

/** What one call holds. */
class Taken {
  readonly #limiter: Limiter
  readonly #sla: CompiledSla
  readonly #block: Block
  readonly #gauge: number
  readonly #quotaStartMs: number

  constructor(limiter: Limiter, sla: CompiledSla, block: Block, gauge: number, quotaStartMs: number) {
    this.#limiter = limiter
    this.#sla = sla
    this.#block = block
    this.#gauge = gauge
    this.#quotaStartMs = quotaStartMs
  }

  release(call: Call): void {
    this.#limiter.release(this.#block, this.#gauge)
    if (isCharged(call)) return
    this.#limiter.giveBack(this.#sla, this.#block, call.unitsMicro, this.#quotaStartMs)
    call.unitsMicro = 0
  }
}

/** A client that goes away is charged: its backend has worked, and leaving early must not make calls free. */
function isCharged(call: Call): boolean {
  if ((call.flags & FLAG_FORWARDED) === 0) return false
  const outcome = OUTCOMES[call.outcome]
  return outcome === 'client_aborted' || (outcome === 'served' && call.status < 500)
}
