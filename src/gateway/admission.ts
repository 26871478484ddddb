/**
 * The limit station: takes a call's share of limits and units before it goes further, and gives back
 * what it must when the call ends.
 *
 * Units are charged when a call is forwarded and given back when the backend answers 5xx or not at
 * all. A call that is refused by a limit takes nothing; one refused at validation keeps its limits and
 * gives its units back.
 */

import { FLAG_COUNTED, FLAG_FORWARDED, OUTCOMES } from '../record/call-record.ts'
import type { Call } from './call/call.ts'
import { toLimitRefusal, type LimitRefusal } from './limits/limit-refusal.ts'
import { ADMITTED, type Limiter } from './limits/limiter.ts'
import { appendLimitHeaders, refundUnits } from './limits/limit-headers.ts'
import type { CallerContext } from './call/caller-context.ts'

export interface Admissions {
  /** Null where the call may go on; it notes what it holds. */
  admit(call: Call, callerContext: CallerContext, operation: number, nowMs: number): LimitRefusal | null
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
    admit(call, callerContext, operation, nowMs) {
      const { sla, block } = callerContext
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
      return toLimitRefusal(sla, operation, verdict, nowMs)
    },
    release: (call) => release(limiter, call),
  }
  return admissions
}

/** Ends what a call holds of limits and units. */
function release(limiter: Limiter, call: Call): void {
  const { sla, block } = call
  if (sla === null || block === null) return
  limiter.release(block, call.gauge)
  if (isCharged(call)) return
  limiter.giveBack(sla, block, call.unitsMicro, call.quotaStartMs)
  if (call.limitHeaders !== null) refundUnits(call.limitHeaders, sla, call.unitsMicro)
  call.unitsMicro = 0
}

/**
 * A client that leaves or has to be disconnected is charged: its backend has worked, and leaving early must not make
 * calls free. A body that is too slow while nothing has been answered takes `FLAG_FORWARDED` from its call.
 */
function isCharged(call: Call): boolean {
  if ((call.flags & FLAG_FORWARDED) === 0) return false
  const outcome = OUTCOMES[call.outcome]
  if (outcome === 'client_aborted' || outcome === 'client_too_slow' || outcome === 'request_timeout') return true
  return outcome === 'served' && call.status < 500
}
