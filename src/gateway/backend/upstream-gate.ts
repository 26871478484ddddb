/**
 * Gate of one thread to one target of an API: admits calls, and counts their results.
 *
 * The main thread sets the mode (`upstream-health.ts`). `open` lets every call pass, `shut` none until a time, and
 * `trial` one call per second and thread. Calls that began before the last change are not counted.
 */

import { restOfPause } from '../../foundation/runtime/rest-of-pause.ts'

export interface GatePlan {
  readonly mode: 'open' | 'shut' | 'trial'
  /** End of mode `shut`, from which `Retry-After` is derived; 0 in other modes. */
  readonly retryAtMs: number
}

/** Counts of one target since the last report. */
export interface UpstreamReport {
  /** The key of the gate (`gate-key.ts`). */
  readonly key: string
  readonly ok: number
  readonly failed: number
  /** Sum over the calls in `ok`. */
  readonly latencyUs: number
}

const TRIAL_EVERY_MS = 1_000
/** A call that is not safe to lose may be the trial after this time without one, or a target without other calls never recovers. */
const SPARED_MS = 30_000
/** Statuses that a proxy in front of the backend sends if the backend is down. */
const DOWN_STATUSES: ReadonlySet<number> = new Set([502, 503, 504])

export class UpstreamGate {
  #plan: GatePlan = { mode: 'open', retryAtMs: 0 }
  #changedAt = 0
  #nextTrialMs = 0
  /** 0: not known yet. */
  #sparesUntilMs = 0
  #ok = 0
  #failed = 0
  #latencyUs = 0

  set(plan: GatePlan): void {
    this.#plan = plan
    this.#changedAt = performance.now()
    this.#nextTrialMs = this.#sparesUntilMs = 0
    this.#ok = this.#failed = this.#latencyUs = 0
  }

  /**
   * Returns 0 if a call may pass now, otherwise the time until it may be retried. In mode `trial` the call that may pass is the one
   * of this second. An open gate reads no clock.
   */
  waitMs(clock: () => number): number {
    const { mode, retryAtMs } = this.#plan
    if (mode === 'open') return 0
    const nowMs = clock()
    if (mode === 'shut') return Math.max(1, retryAtMs - nowMs)
    const waitMs = restOfPause(this.#nextTrialMs, TRIAL_EVERY_MS, nowMs)
    if (waitMs > 0) return waitMs
    this.#nextTrialMs = nowMs + TRIAL_EVERY_MS
    this.#sparesUntilMs = this.#nextTrialMs + SPARED_MS
    return 0
  }

  /** Returns the same as `waitMs`, but lets no call pass. */
  remainingMs(clock: () => number): number {
    const { mode, retryAtMs } = this.#plan
    if (mode === 'open') return 0
    const nowMs = clock()
    return mode === 'shut' ? Math.max(1, retryAtMs - nowMs) : restOfPause(this.#nextTrialMs, TRIAL_EVERY_MS, nowMs)
  }

  /** Whether `waitMs` would let a call pass. */
  isOpen(clock: () => number): boolean {
    return this.#plan.mode === 'open' || this.remainingMs(clock) === 0
  }

  /** Whether a call that is not safe to lose should go to another target, if one is open. */
  sparesUnsafe(clock: () => number): boolean {
    if (this.#plan.mode === 'open') return false
    const nowMs = clock()
    if (this.#sparesUntilMs === 0) this.#sparesUntilMs = nowMs + SPARED_MS
    return restOfPause(this.#sparesUntilMs, TRIAL_EVERY_MS + SPARED_MS, nowMs) > 0
  }

  /** `startedAt` is a time of `performance.now()`. */
  answered(status: number, upstreamUs: number, startedAt: number): void {
    if (startedAt < this.#changedAt) return
    if (DOWN_STATUSES.has(status)) this.#failed++
    else {
      this.#ok++
      this.#latencyUs += upstreamUs
    }
  }

  failed(startedAt: number): void {
    if (startedAt >= this.#changedAt) this.#failed++
  }

  get hasFailed(): boolean {
    return this.#failed > 0
  }

  /** Returns the counts and resets them; null if they are 0. */
  takeReport(key: string): UpstreamReport | null {
    if (this.#ok + this.#failed === 0) return null
    const report = { key, ok: this.#ok, failed: this.#failed, latencyUs: this.#latencyUs }
    this.#ok = this.#failed = this.#latencyUs = 0
    return report
  }
}
