/**
 * The limit stage: counts a call in its limits and quota, and returns the units that are not charged when the call ends.
 *
 * Units are charged when a call is forwarded; they are returned if the backend responds with 5xx or not at all. A call that a
 * limit refuses uses nothing. A call that validation refuses counts against its limits but costs no units. If the units are known
 * only after the response, what was charged is a reserve, and the end of the call settles the difference.
 */

import { OUTCOMES, type Outcome } from '../foundation/domain/outcome.ts'
import { FLAG_APPROACHING_LIMIT, FLAG_COUNTED, FLAG_FORWARDED } from '../storage/spool/call-record.ts'
import type { Call } from './call/call.ts'
import { toLimitRefusal, type LimitRefusal } from '../limits/limit-refusal.ts'
import type { LeaseWaits } from '../limits/lease-waits.ts'
import { ADMITTED, CLOSED, LACKING, type Block, type CompiledSla, type Limiter } from '../limits/limiter.ts'
import { toLimitLines } from '../limits/limit-headers.ts'
import type { SlotWatch } from '../limits/slot-watch.ts'
import type { CallerContext } from './call/caller-context.ts'

/** The node holds no lease for the call, which may be admitted after `Admissions.wait`. */
export const NEEDS_LEASE = 'needs lease'
/** The same, but the grantor does not know yet what all nodes hold, so that waiting may be in vain. */
export const LEASES_CLOSED = 'leases closed'

export interface Admissions {
  /**
   * Counts the call and stores its units in the call. Returns null if the call is admitted. `isAlone` counts on this node only,
   * because no lease can be had.
   */
  admit(
    call: Call,
    context: CallerContext,
    operation: number,
    nowMs: number,
    isAlone?: boolean,
  ): LimitRefusal | typeof NEEDS_LEASE | typeof LEASES_CLOSED | null
  /** Asks for the leases that the last call of `admit` lacked. Resolves with false if they cannot be had at the moment. */
  wait(context: CallerContext): Promise<boolean>
  /** Ends an admitted call. `usedMicro` are its units if they are known only now, and differ from what it was charged. */
  release(call: Call, usedMicro?: number): void
  /** Whether the last call of `admit` passed an alert threshold. */
  readonly isApproaching: boolean
  /** After `LEASES_CLOSED`: for how long that lasts at the latest; 0: it ends soon. */
  readonly closedForMs: number
}

export interface AdmissionsOptions {
  readonly limiter: Limiter
  readonly waits: LeaseWaits
  /** Null if calls may run without a lease. */
  readonly slots: SlotWatch<Call> | null
}

export function createAdmissions({ limiter, waits, slots }: AdmissionsOptions): Admissions {
  const { verdict } = limiter

  const admissions: Admissions = {
    get isApproaching() {
      return verdict.approaching
    },
    get closedForMs() {
      return verdict.closedForMs
    },
    admit(call, context, operation, nowMs, isAlone = false) {
      const { sla, block } = context
      verdict.approaching = false
      if (sla === null || block === null) return null
      limiter.take(sla, block, operation, nowMs, isAlone)
      const cost = sla.unitsMicro[operation]!
      if (verdict.refusedBy === LACKING) return NEEDS_LEASE
      if (verdict.refusedBy === CLOSED) return LEASES_CLOSED
      call.sla = sla
      call.limitLines = toLimitLines(sla, operation, verdict)
      call.quotaUsedMicro = verdict.quotaUsedMicro
      if (verdict.refusedBy === ADMITTED) {
        call.unitsMicro = cost
        call.flags |= FLAG_COUNTED
        call.admittedMs = nowMs
        call.block = block
        call.gauge = verdict.gauge
        call.quotaStartMs = verdict.quotaStartMs
        call.leaseStartMs = verdict.leaseStartMs
        call.admissions = admissions
        if (slots !== null && verdict.gauge !== 0) slots.enter(call, block, verdict.gauge)
        return null
      }
      return toLimitRefusal(sla, operation, verdict, nowMs)
    },
    wait: ({ block }) => (block === null ? Promise.resolve(true) : waits.wait(verdict.lacking)),
    release(call, usedMicro = call.unitsMicro) {
      if (slots !== null && call.gauge !== 0) slots.leave(call)
      release(limiter, call, usedMicro)
    },
  }
  return admissions
}

const CHARGED: ReadonlySet<Outcome> = new Set(['served', 'client_aborted', 'client_too_slow', 'request_timeout'])

/** Charges what a call has used so far. Returns why it may use no more: the quota, or its period, is over. */
export function createSettle(limiter: Limiter): (call: Call, usedMicro: number) => 'exhausted' | 'over' | null {
  return (call, usedMicro) => {
    const { sla, block } = call
    if (sla === null || block === null) return null
    if (usedMicro > call.unitsMicro) settle(limiter, call, sla, block, usedMicro)
    return limiter.quotaState(sla, block, call.quotaStartMs)
  }
}

/** Ends a call because other nodes may be granted its slot. */
export function endWithoutSlot(call: Call): void {
  const { owner } = call
  call.owner = null
  owner?.abandon()
  if (call.response.headersSent) return call.breakOff('limits_unavailable')
  call.refuse(
    'limits_unavailable',
    'The node cannot renew the slot of this call, which runs for more than ten minutes.',
  )
}

/** Releases the call's concurrency, and returns its units if the call is not charged. */
function release(limiter: Limiter, call: Call, usedMicro: number): void {
  const { sla, block } = call
  if (sla === null || block === null) return
  limiter.release(block, call.gauge)
  if (isCharged(call)) {
    if (usedMicro !== call.unitsMicro) settle(limiter, call, sla, block, usedMicro)
    return
  }
  limiter.giveBack(sla, block, call.unitsMicro, call.quotaStartMs, call.leaseStartMs)
  call.quotaUsedMicro = Math.max(0, call.quotaUsedMicro - call.unitsMicro)
  call.unitsMicro = 0
}

/** Replaces the reserve of a call by what it has used. The headers of the response, which may be sent, show the reserve. */
function settle(limiter: Limiter, call: Call, sla: CompiledSla, block: Block, usedMicro: number): void {
  const more = usedMicro - call.unitsMicro
  const { quotaStartMs, leaseStartMs } = call
  if (more < 0) limiter.giveBack(sla, block, -more, quotaStartMs, leaseStartMs)
  else if (limiter.chargeMore(sla, block, more, quotaStartMs, leaseStartMs)) call.flags |= FLAG_APPROACHING_LIMIT
  call.unitsMicro = usedMicro
}

/**
 * Whether a call is charged. A call whose client leaves or is disconnected is charged after forwarding, because its backend has
 * worked and an early disconnect must not make calls free; a response with 5xx that had begun is free all the same. If the body is
 * too slow and no response has started, the call no longer has `FLAG_FORWARDED`.
 */
function isCharged(call: Call): boolean {
  if ((call.flags & FLAG_FORWARDED) === 0) return false
  return CHARGED.has(OUTCOMES[call.outcome]!) && call.status < 500
}
