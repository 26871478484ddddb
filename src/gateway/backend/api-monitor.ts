/**
 * Health of the backend of one API: a monitor per target, and the state that follows from all of them.
 *
 * A target counts for itself alone. The API is degraded while some of its targets are not healthy, and down if none is open to all
 * calls.
 */

import { targetsOf } from '../../boundary/plan/backend-targets.ts'
import type { BackendPlan } from '../../boundary/plan/route-plan.ts'
import { severityOf, type UpstreamState } from '../../boundary/plan/upstream-state.ts'
import { BackendMonitor, type BackendMonitorOptions, type TargetChange } from './backend-monitor.ts'
import { gateKey } from './gate-key.ts'
import type { GatePlan, UpstreamReport } from './upstream-gate.ts'

/** The API that a backend serves. */
export interface MonitoredApi {
  readonly tenant: string
  readonly api: string
  readonly backend: BackendPlan
}

/** The health of one target has changed. */
export interface UpstreamChange extends TargetChange {
  readonly tenant: string
  readonly api: string
  /** Whether it is the backend of the canary. */
  readonly isCanary: boolean
  /** Scheme, host and port of the target; null if the backend has no other one. */
  readonly origin: string | null
  /** State of the API after the change. */
  readonly state: UpstreamState
  /** How badly the API fails after the change (`ApiMonitor.severity`). */
  readonly severity: number
  /** Origins of all targets that are not healthy; empty if the backend has one target. */
  readonly failing: readonly string[]
}

export interface ApiMonitorOptions extends Omit<BackendMonitorOptions, 'setGate' | 'onChange'> {
  /** Sets the gate to a target of an API on every thread. */
  readonly setGate: (api: string, key: string, gate: GatePlan) => Promise<void>
  readonly onChange: (change: UpstreamChange) => void
}

export class ApiMonitor {
  readonly tenant: string
  readonly api: string
  readonly #scope: string
  readonly #options: ApiMonitorOptions
  /** By key of the gate. */
  #targets: ReadonlyMap<string, BackendMonitor> = new Map()
  #state: UpstreamState = 'healthy'

  /** `scope`: that of the keys of the gates; the name of the API, unless the backend is that of its canary. */
  constructor({ tenant, api, backend }: MonitoredApi, scope: string, options: ApiMonitorOptions) {
    this.tenant = tenant
    this.api = api
    this.#scope = scope
    this.#options = options
    this.setBackend(backend)
  }

  get state(): UpstreamState {
    return this.#state
  }

  /** How badly all targets fail together. */
  get severity(): number {
    let sum = 0
    for (const { state } of this.#targets.values()) sum += severityOf(state)
    return sum
  }

  get keys(): Iterable<string> {
    return this.#targets.keys()
  }

  /** Monitors another backend. Targets that are the same keep their health; others are assumed to be healthy. */
  setBackend(backend: BackendPlan): void {
    const before = this.#targets
    const targets = new Map<string, BackendMonitor>()
    for (const { plan } of targetsOf(backend)) {
      const key = gateKey(this.#scope, plan)
      const running = before.get(key)
      const isKept = running !== undefined && isSame(running.backend, plan)
      if (!isKept) running?.release()
      targets.set(key, isKept ? running : this.#monitor(key, plan))
    }
    for (const [key, monitor] of before) if (!targets.has(key)) monitor.release()
    this.#targets = targets
    this.#state = this.#combine()
  }

  report({ key, ...counts }: UpstreamReport): void {
    this.#targets.get(key)?.report(counts)
  }

  stop(): void {
    for (const monitor of this.#targets.values()) monitor.stop()
  }

  /** Opens the gates that were closed. */
  release(): void {
    for (const monitor of this.#targets.values()) monitor.release()
  }

  #monitor(key: string, target: BackendPlan): BackendMonitor {
    const { setGate } = this.#options
    return new BackendMonitor(target, {
      ...this.#options,
      setGate: (gate) => setGate(this.api, key, gate),
      onChange: (change) => this.#onChange(target.origin, change),
    })
  }

  #onChange(origin: string, change: TargetChange): void {
    const { tenant, api } = this
    const state = (this.#state = this.#combine())
    const isOnly = this.#targets.size === 1
    this.#options.onChange({
      ...change,
      tenant,
      api,
      isCanary: this.#scope !== api,
      origin: isOnly ? null : origin,
      state,
      severity: this.severity,
      failing: isOnly ? [] : this.#failing(),
    })
  }

  #combine(): UpstreamState {
    const states = [...this.#targets.values()].map(({ state }) => state)
    const [first = 'healthy'] = states
    if (states.every((state) => state === first)) return first
    return states.every((state) => state === 'unhealthy' || state === 'recovering') ? 'recovering' : 'degraded'
  }

  #failing(): readonly string[] {
    const failing = [...this.#targets.values()].filter(({ state }) => state !== 'healthy')
    return [...new Set(failing.map(({ backend }) => backend.origin))]
  }
}

function isSame(a: BackendPlan, b: BackendPlan): boolean {
  return (
    a.origin === b.origin &&
    a.basePath === b.basePath &&
    a.health === b.health &&
    a.timeoutMs === b.timeoutMs &&
    a.mayBePrivate === b.mayBePrivate &&
    JSON.stringify(a.tls) === JSON.stringify(b.tls)
  )
}
