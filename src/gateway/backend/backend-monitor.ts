/**
 * Health of one target of an API: applies reports of calls and results of probes, and sets the gate of the gateway
 * threads.
 *
 * A new monitor assumes that its target is healthy.
 */

import type { BackendPlan } from '../../boundary/plan/route-plan.ts'
import type { UpstreamState } from '../../boundary/plan/upstream-state.ts'
import type { Clock } from '../../foundation/runtime/clock.ts'
import { HEALTHY, next, type HealthEvent, type HealthState } from './health-state.ts'
import { ResponseWindow, type ResponseCounts } from './response-window.ts'
import type { GatePlan } from './upstream-gate.ts'

export interface TargetChange {
  readonly from: UpstreamState
  readonly to: UpstreamState
  /** Responses of the last ten seconds. */
  readonly ok: number
  readonly failed: number
}

export interface BackendMonitorOptions {
  readonly clock: Clock
  /** Sets the gate to the target on every thread. */
  readonly setGate: (gate: GatePlan) => Promise<void>
  /** Returns whether the health path responds with a good status. Does not reject. */
  readonly probe: (backend: BackendPlan) => Promise<boolean>
  readonly onChange: (change: TargetChange) => void
  /** Called if a gate could not be set. */
  readonly onFailure: (cause: unknown) => void
}

const SLOW_CALLS_MIN = 20
const PROBE_EVERY_MS = 10_000
const COOLING_MS = 5_000
const COOLING_MAX_MS = 60_000

export class BackendMonitor {
  readonly backend: BackendPlan
  readonly #options: BackendMonitorOptions
  readonly #window = new ResponseWindow()
  #health: HealthState = HEALTHY
  #cancelTimer: () => void = () => {}

  constructor(backend: BackendPlan, options: BackendMonitorOptions) {
    this.backend = backend
    this.#options = options
    if (this.#isProbed) this.#probeAfter(PROBE_EVERY_MS)
  }

  get state(): UpstreamState {
    return this.#health.state
  }

  /** Counts responses to calls. */
  report(counts: ResponseCounts): void {
    this.#window.add(counts, this.#options.clock.nowMs())
    const sum = this.#window.sum()
    this.#apply({ type: 'window', ok: sum.ok, failed: sum.failed, isSlow: isSlow(sum, this.backend) })
  }

  /** Ends the timer of the next probe or trial. */
  stop(): void {
    this.#cancelTimer()
  }

  /** Opens the gate that this monitor may have closed, before another monitor takes over. */
  release(): void {
    this.stop()
    if (this.state !== 'healthy') this.#setGate({ mode: 'open', retryAtMs: 0 })
  }

  get #isProbed(): boolean {
    return this.backend.health !== undefined
  }

  #apply(event: HealthEvent): void {
    const before = this.#health
    const after = next(before, event)
    if (after === before) return
    this.#health = after
    const { ok, failed } = this.#window.sum()
    // Reports from before these states do not count, and each report during a recovery counts once.
    if (after.state === 'unhealthy' || after.state === 'recovering') this.#window.clear()
    if (after.state === before.state) return
    this.#options.onChange({ from: before.state, to: after.state, ok, failed })
    this.#enter(after, before.state)
  }

  #enter(health: HealthState, from: UpstreamState): void {
    switch (health.state) {
      case 'unhealthy':
        return this.#shut(health.failedRecoveries)
      case 'recovering':
        this.#setGate({ mode: 'trial', retryAtMs: 0 })
        if (this.#isProbed) this.#probeAfter(0)
        return
      case 'healthy':
        if (from === 'recovering') this.#setGate({ mode: 'open', retryAtMs: 0 })
        if (this.#isProbed) this.#probeAfter(PROBE_EVERY_MS)
        return
      case 'degraded':
        return
      default:
        health satisfies never
    }
  }

  /** Closes the backend to calls for a while, which doubles with each failed recovery. */
  #shut(failedRecoveries: number): void {
    const { clock } = this.#options
    const coolingMs = Math.min(COOLING_MAX_MS, COOLING_MS * 2 ** failedRecoveries)
    this.#setGate({ mode: 'shut', retryAtMs: clock.nowMs() + coolingMs })
    if (this.#isProbed) return this.#probeAfter(coolingMs)
    this.#cancelTimer()
    this.#cancelTimer = clock.after(coolingMs, () => this.#apply({ type: 'cooled' }))
  }

  #probeAfter(delayMs: number): void {
    const { clock, probe } = this.#options
    this.#cancelTimer()
    let isCancelled = false
    const cancel = clock.after(delayMs, () => {
      void probe(this.backend).then((isOk) => {
        if (!isCancelled) this.#onProbe(isOk)
      })
    })
    this.#cancelTimer = () => {
      isCancelled = true
      cancel()
    }
  }

  /** Applies the result of a probe. A change of state plans the next probe itself; otherwise it is planned here. */
  #onProbe(isOk: boolean): void {
    const before = this.state
    this.#apply({ type: isOk ? 'probe_ok' : 'probe_failed' })
    if (this.state !== before) return
    if (this.#health.state === 'unhealthy') this.#shut(this.#health.failedRecoveries)
    else this.#probeAfter(before === 'recovering' ? 0 : PROBE_EVERY_MS)
  }

  #setGate(gate: GatePlan): void {
    this.#options.setGate(gate).catch(this.#options.onFailure)
  }
}

/** True if the mean response time is above half of the backend's time-out. */
function isSlow({ ok, latencyUs }: ResponseCounts, { timeoutMs }: BackendPlan): boolean {
  return ok >= SLOW_CALLS_MIN && latencyUs / ok > timeoutMs * 500
}
