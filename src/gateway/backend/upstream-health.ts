/**
 * Circuit breakers of all targets of all backends, on the main thread. They combine the reports of the gateway threads on calls
 * with probes of the health path, if the proxy declares one.
 *
 * A target that is down is closed to calls on every thread: callers receive 503 with `Retry-After` immediately
 * instead of a time-out. It is retried by probes or, without a health path, by one call per second and
 * thread. The failure ratio covers all responses of the last ten seconds.
 */

import type { BackendPlan } from '../../boundary/plan/route-plan.ts'
import type { UpstreamState } from '../../boundary/plan/upstream-state.ts'
import { canaryScope } from '../../boundary/plan/canary.ts'
import { ApiMonitor, type ApiMonitorOptions, type MonitoredApi } from './api-monitor.ts'
import type { UpstreamReport } from './upstream-gate.ts'

export interface UpstreamIssue {
  readonly tenant: string
  readonly api: string
  readonly state: UpstreamState
  /** How badly all targets fail together. */
  readonly severity: number
}

export interface UpstreamHealth {
  /** Monitors the new backend of an API. A target that differs from the previous ones is assumed to be healthy. */
  watch(tenant: string, api: string, backend: BackendPlan): void
  /** The same for the backend of the canary of an API, which is judged apart; null: there is none. */
  watchCanary(tenant: string, api: string, backend: BackendPlan | null): void
  /** Ends the monitoring of an API that is no longer served. */
  unwatch(api: string): void
  report(reports: readonly UpstreamReport[]): void
  stateOf(api: string): UpstreamState
  /** The APIs whose backends are not healthy, except those of canaries. */
  issues(): readonly UpstreamIssue[]
  stop(): void
}

export function createUpstreamHealth(options: ApiMonitorOptions): UpstreamHealth {
  /** By scope (`gate-key.ts`). */
  const monitors = new Map<string, ApiMonitor>()
  const byKey = new Map<string, ApiMonitor>()

  function evict(monitor: ApiMonitor): void {
    for (const key of monitor.keys) byKey.delete(key)
  }

  function register(monitor: ApiMonitor): void {
    for (const key of monitor.keys) byKey.set(key, monitor)
  }

  function unwatch(scope: string): void {
    const monitor = monitors.get(scope)
    if (monitor === undefined) return
    monitor.release()
    evict(monitor)
    monitors.delete(scope)
  }

  function watch(scope: string, monitored: MonitoredApi): void {
    const running = monitors.get(scope)
    if (running?.tenant === monitored.tenant) {
      evict(running)
      running.setBackend(monitored.backend)
      return register(running)
    }
    unwatch(scope)
    const monitor = new ApiMonitor(monitored, scope, options)
    monitors.set(scope, monitor)
    register(monitor)
  }

  return {
    watch: (tenant, api, backend) => watch(api, { tenant, api, backend }),
    watchCanary(tenant, api, backend) {
      const scope = canaryScope(api)
      if (backend === null) unwatch(scope)
      else watch(scope, { tenant, api, backend })
    },
    unwatch(api) {
      unwatch(api)
      unwatch(canaryScope(api))
    },
    report(reports) {
      for (const report of reports) byKey.get(report.key)?.report(report)
    },
    stateOf: (api) => monitors.get(api)?.state ?? 'healthy',
    issues: () =>
      [...monitors]
        .filter(([scope, { api, state }]) => scope === api && state !== 'healthy')
        .map(([, { tenant, api, state, severity }]) => ({ tenant, api, state, severity })),
    stop() {
      for (const monitor of monitors.values()) monitor.stop()
    },
  }
}
