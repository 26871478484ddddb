/**
 * Whether calls of one thread may go to the backend of an API, and what became of those that did.
 *
 * The main thread decides (`upstream-health.ts`): open, shut until a time, or on trial, which lets one
 * call a second of each thread through. What began before the last change says nothing about the state
 * since.
 */

export interface GatePlan {
  readonly mode: 'open' | 'shut' | 'trial'
  /** When a call may be tried again; 0 where it may. */
  readonly retryAtMs: number
}

/** Calls of one backend since the last report. */
export interface UpstreamReport {
  readonly api: string
  readonly ok: number
  readonly failed: number
  /** Sum over those that are ok. */
  readonly latencyUs: number
}

const TRIAL_EVERY_MS = 1_000
/** Said by a backend that is not there itself. */
const DOWN_STATUSES: ReadonlySet<number> = new Set([502, 503, 504])

export class UpstreamGate {
  #plan: GatePlan = { mode: 'open', retryAtMs: 0 }
  #changedAt = 0
  #nextTrialMs = 0
  #ok = 0
  #failed = 0
  #latencyUs = 0

  set(plan: GatePlan): void {
    this.#plan = plan
    this.#changedAt = performance.now()
    this.#nextTrialMs = 0
    this.#ok = this.#failed = this.#latencyUs = 0
  }

  /** How long a call that comes now has to wait; 0: it may go. */
  waitMs(nowMs: number): number {
    const { mode, retryAtMs } = this.#plan
    if (mode === 'open') return 0
    if (mode === 'shut') return Math.max(1, retryAtMs - nowMs)
    if (nowMs < this.#nextTrialMs) return this.#nextTrialMs - nowMs
    this.#nextTrialMs = nowMs + TRIAL_EVERY_MS
    return 0
  }

  /** `startedAt` is of `performance.now()`. */
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

  /** What was counted since the last time; null where nothing was. */
  take(api: string): UpstreamReport | null {
    if (this.#ok + this.#failed === 0) return null
    const report = { api, ok: this.#ok, failed: this.#failed, latencyUs: this.#latencyUs }
    this.#ok = this.#failed = this.#latencyUs = 0
    return report
  }
}
