/**
 * Decides whether a call is within all limits of its subscription, and takes from all of them or from
 * none.
 *
 * A block of counters is locked while a decision is made: whatever the number of threads, never one
 * call more than declared is admitted. Nothing is allocated: the outcome stands in one `Verdict` that
 * the next decision overwrites. Writes are ordered so that a thread that dies between two of them
 * leaves a counter too high, never too low.
 */

import { createCalendar } from '../domain/calendar.ts'
import type { SlaPlan } from '../opensla/sla-plan.ts'
import { decide, giveBackUnits, type Scene } from './limit-decision.ts'
import { layoutOf } from './limit-layout.ts'
import { lock, unlock } from './limit-lock.ts'
import type { BlockRef } from './limit-memory.ts'
import { compileSla, type CompiledSla } from './limit-plan.ts'

export type { CompiledLimit, CompiledSla } from './limit-plan.ts'

/** A block as one thread sees it. */
export interface Block {
  /** Number of its layout in this thread. */
  readonly layout: number
  /** The same memory in 32-bit words: the lock is the first, gauges lie further behind. */
  readonly words: Int32Array
  readonly doubles: Float64Array
  /** Gauges of calls that began in blocks before this one. */
  readonly elders: readonly Elder[] | null
}

export interface Elder {
  /** Where the limit lies in the present block. */
  readonly offset: number
  readonly lanes: Int32Array
}

/** Position of the limit that refused, or one of these. */
export const ADMITTED = -1
export const QUOTA = -2

export interface Verdict {
  /** `ADMITTED`, `QUOTA`, or the position of the limit that refused; of several that with the longest wait. */
  refusedBy: number
  /** When the refusing limit opens again; 0 where it does so when a call ends. */
  retryAfterMs: number
  /** A limit passed its alert threshold with this call. Always said before, or with, the first refusal. */
  approaching: boolean
  /** The tightest limit that applied, or -1: position, what is left of it in calls, and when it is whole again. */
  tightest: number
  remaining: number
  resetMs: number
  /** Quota: used after this call. */
  quotaUsedMicro: number
  /** What `giveBack` needs: the period in which units were taken. */
  quotaStartMs: number
  /** What `release` needs: the gauge that counts this call, or 0. */
  gauge: number
}

export interface Limiter {
  compile(plan: SlaPlan, operationIds: readonly string[]): CompiledSla
  open(ref: BlockRef): Block
  /** Fills `verdict`, and returns its `refusedBy`. */
  take(sla: CompiledSla, block: Block, operation: number, nowMs: number): number
  /** Ends a call that was admitted. */
  release(block: Block, gauge: number): void
  /** Returns units to the period they were taken in; of a period that is over nothing is returned. */
  giveBack(sla: CompiledSla, block: Block, unitsMicro: number, quotaStartMs: number): void
  readonly verdict: Verdict
}

export interface LimiterOptions {
  /** Number of this thread, from 0. */
  readonly thread: number
  readonly threads: number
}

/** How long a caller waits where a decision could not be made. */
const BUSY_RETRY_MS = 1_000

export function createLimiter({ thread, threads }: LimiterOptions): Limiter {
  const holder = thread + 1
  const layouts = new Map<string, number>()
  const verdict: Verdict = {
    refusedBy: ADMITTED,
    retryAfterMs: 0,
    approaching: false,
    tightest: -1,
    remaining: 0,
    resetMs: 0,
    quotaUsedMicro: 0,
    quotaStartMs: 0,
    gauge: 0,
  }
  const scene: Scene = createScene(verdict, thread, threads)

  function numberOf(layoutId: string): number {
    const known = layouts.get(layoutId)
    if (known !== undefined) return known
    layouts.set(layoutId, layouts.size)
    return layouts.size - 1
  }

  /** A block that waits for a dead thread, or that was made for another plan: nobody gets in unmeasured. */
  function refuseForNow(sla: CompiledSla): number {
    verdict.refusedBy = sla.limits.length > 0 ? 0 : QUOTA
    verdict.retryAfterMs = BUSY_RETRY_MS
    return verdict.refusedBy
  }

  return {
    verdict,
    compile(plan, operationIds) {
      const layout = layoutOf(plan, threads)
      return compileSla(plan, operationIds, layout, numberOf(layout.id))
    },
    open({ page, offset, size, layout, elders }) {
      return {
        layout: numberOf(layout),
        words: new Int32Array(page, offset * 8, size * 2),
        doubles: new Float64Array(page, offset * 8, size),
        elders: elders.length === 0 ? null : elders.map((elder) => toElder(elder, threads)),
      }
    },
    take(sla, block, operation, nowMs) {
      clear(verdict)
      if (sla.layout !== block.layout || !lock(block.words, holder)) return refuseForNow(sla)
      decide(scene, sla, block, operation, nowMs)
      unlock(block.words)
      return verdict.refusedBy
    },
    release({ words }, gauge) {
      // Only this thread writes its gauges, so giving back needs no lock.
      if (gauge > 0 && Atomics.load(words, gauge) > 0) Atomics.sub(words, gauge, 1)
    },
    giveBack({ quota, layout }, block, unitsMicro, quotaStartMs) {
      if (quota === null || unitsMicro === 0 || layout !== block.layout || !lock(block.words, holder)) return
      giveBackUnits(block.doubles, quota.offset, unitsMicro, quotaStartMs)
      unlock(block.words)
    },
  }
}

function createScene(verdict: Verdict, thread: number, threads: number): Scene {
  const none = new Float64Array(GROUPS_MAX)
  return {
    verdict,
    thread,
    threads,
    calendar: createCalendar(),
    applied: [],
    uses: none,
    starts: new Float64Array(GROUPS_MAX),
    look: new Float64Array(2),
  }
}

/** One a property: `rate`, `concurrent`, six totals and three short forms. */
const GROUPS_MAX = 16

export function toElder({ page, at, offset }: BlockRef['elders'][number], threads: number): Elder {
  return { offset, lanes: new Int32Array(page, at * 4, threads) }
}

function clear(verdict: Verdict): void {
  verdict.refusedBy = ADMITTED
  verdict.retryAfterMs = 0
  verdict.approaching = false
  verdict.tightest = -1
  verdict.remaining = 0
  verdict.resetMs = 0
  verdict.quotaUsedMicro = 0
  verdict.quotaStartMs = 0
  verdict.gauge = 0
}
