/**
 * Decides whether a call is within all limits of its subscription, and counts it in all of them or in none.
 *
 * Locks the block of counters during a decision, so that any number of threads never admit more calls than declared. Allocates
 * nothing: each decision overwrites one `Verdict`. If no decision is possible, the call is refused.
 */

import type { SlaPlan } from '../boundary/plan/sla-plan.ts'
import { giveBackUnits, overdrawUnits, releaseSlot } from './lease-block.ts'
import { openBlock, type Block, type BlockRef } from './limit-block.ts'
import { createDecide } from './limit-decision.ts'
import { layoutOf } from './limit-layout.ts'
import { lock, unlock } from './limit-lock.ts'
import { compileSla, type LateUnits } from './compile-sla.ts'
import type { CompiledSla } from './compiled-sla.ts'
import { releaseGauge } from './concurrent-limit.ts'
import { clearVerdict, createVerdict, QUOTA, type Verdict } from './limit-verdict.ts'
import { chargeQuota, refundQuota, stateOfQuota, type QuotaState } from './quota-limit.ts'

export type { Block } from './limit-block.ts'
export type { CompiledSla } from './compiled-sla.ts'
export { ADMITTED, CLOSED, LACKING, type Verdict } from './limit-verdict.ts'

export interface Limiter {
  /** `units` states by position of the operation how units are counted that are known after the response. */
  compile(plan: SlaPlan, operationIds: readonly string[], units?: LateUnits): CompiledSla
  open(ref: BlockRef): Block
  /** Fills `verdict`, and returns its `refusedBy`. `isAlone` counts on this node only, because no lease can be had. */
  take(sla: CompiledSla, block: Block, operation: number, nowMs: number, isAlone?: boolean): number
  /** Ends a call that was admitted. */
  release(block: Block, gauge: number): void
  /** Returns units to the period in which they were charged; does nothing if that period is over. */
  giveBack(sla: CompiledSla, block: Block, unitsMicro: number, quotaStartMs: number, leaseStartMs?: number): void
  /**
   * Charges units that a call has used beyond those that it was charged, to the period in which it was charged; does nothing if that
   * period is over. Never refuses. Returns whether the call must warn that the quota is near.
   */
  chargeMore(sla: CompiledSla, block: Block, unitsMicro: number, quotaStartMs: number, leaseStartMs?: number): boolean
  /** Whether the quota is used up, or calls count in a later period than that which began at `quotaStartMs`; null: neither. */
  quotaState(sla: CompiledSla, block: Block, quotaStartMs: number): QuotaState | null
  readonly verdict: Verdict
}

export interface LimiterOptions {
  /** Number of this thread, from 0. */
  readonly thread: number
  readonly threads: number
  /** The same clock on all threads; tests replace it. */
  readonly monotonicMs?: (() => number) | undefined
}

/** `Retry-After` if no decision was possible. */
const BUSY_RETRY_MS = 1_000

export function createLimiter({ thread, threads, monotonicMs }: LimiterOptions): Limiter {
  const holder = thread + 1
  const layouts = new Map<string, number>()
  const verdict = createVerdict()
  const decide = createDecide({ verdict, thread, threads, monotonicMs })

  function numberOf(layoutId: string): number {
    const known = layouts.get(layoutId)
    if (known !== undefined) return known
    layouts.set(layoutId, layouts.size)
    return layouts.size - 1
  }

  /** Refuses because the block belongs to another plan, or its lock could not be acquired. */
  function refuseForNow(sla: CompiledSla): number {
    verdict.refusedBy = sla.limits.length > 0 ? 0 : QUOTA
    verdict.retryAfterMs = BUSY_RETRY_MS
    return verdict.refusedBy
  }

  return {
    verdict,
    compile(plan, operationIds, units) {
      const layout = layoutOf(plan, threads)
      return compileSla(plan, operationIds, layout, numberOf(layout.id), units)
    },
    open: (ref) => openBlock(ref, numberOf(ref.layout), threads),
    take(sla, block, operation, nowMs, isAlone = false) {
      clearVerdict(verdict)
      if (sla.layout !== block.layout || !lock(block.lock, holder)) return refuseForNow(sla)
      try {
        decide(sla, block, operation, nowMs, isAlone)
      } finally {
        unlock(block.lock)
      }
      return verdict.refusedBy
    },
    release(block, gauge) {
      if (!releaseGauge(block, gauge) || block.leases === null) return
      releaseSlot(block.leases, gauge, thread)
    },
    giveBack({ quota, layout }, block, unitsMicro, quotaStartMs, leaseStartMs = 0) {
      if (quota === null || unitsMicro === 0 || layout !== block.layout || !lock(block.lock, holder)) return
      refundQuota(block.doubles, quota, unitsMicro, quotaStartMs)
      if (block.leases !== null) giveBackUnits(block.leases, unitsMicro, leaseStartMs)
      unlock(block.lock)
    },
    quotaState({ quota, layout }, block, quotaStartMs) {
      if (quota === null || layout !== block.layout) return null
      return stateOfQuota(block.doubles, quota, quotaStartMs, block.leases?.quota ?? null)
    },
    chargeMore({ quota, layout }, block, unitsMicro, quotaStartMs, leaseStartMs = 0) {
      if (quota === null || unitsMicro === 0 || layout !== block.layout || !lock(block.lock, holder)) return false
      const isNear = chargeQuota(block.doubles, quota, unitsMicro, quotaStartMs)
      if (block.leases !== null) overdrawUnits(block.leases, unitsMicro, leaseStartMs)
      unlock(block.lock)
      return isNear
    },
  }
}
