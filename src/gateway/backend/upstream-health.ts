/**
 * Circuit breakers of all targets of all backends, on the main thread. They combine the reports of the gateway threads on calls
 * with probes of the health path, if the proxy declares one.
 *
 * A target that is down is closed to calls on every thread: callers receive 503 with `Retry-After` immediately
 * instead of a time-out. It is retried by probes or, without a health path, by one call per second and
 * thread. The failure ratio covers all responses of the last ten seconds.
 */

import type { BackendPlan } from '../../plan/route-plan.ts'
import type { UpstreamState } from '../../plan/upstream-state.ts'
import { ApiMonitor, type ApiMonitorOptions } from './api-monitor.ts'
import type { UpstreamReport } from './upstream-gate.ts'

export interface UpstreamHealth {
  /** Monitors the new backend of an API. A target that differs from the previous ones is assumed to be healthy. */
  watch(tenant: string, api: string, backend: BackendPlan): void
  /** Ends the monitoring of an API that is no longer served. */
  unwatch(api: string): void
  report(reports: readonly UpstreamReport[]): void
  stateOf(api: string): UpstreamState
  /** The APIs whose backends are not healthy. */
  issues(): readonly { readonly tenant: string; readonly api: string; readonly state: UpstreamState }[]
  stop(): void
}

export function createUpstreamHealth(options: ApiMonitorOptions): UpstreamHealth {
  /** By scope (`gate-key.ts`), which is the name of the API. */
  const monitors = new Map<string, ApiMonitor>()
  const byKey = new Map<string, ApiMonitor>()

  function forget(monitor: ApiMonitor): void {
    for (const key of monitor.keys) byKey.delete(key)
  }

  function register(monitor: ApiMonitor): void {
    for (const key of monitor.keys) byKey.set(key, monitor)
  }

  function unwatch(api: string): void {
    const monitor = monitors.get(api)
    if (monitor === undefined) return
    monitor.release()
    forget(monitor)
    monitors.delete(api)
  }

  return {
    watch(tenant, api, backend) {
      const running = monitors.get(api)
      if (running?.tenant === tenant) {
        forget(running)
        running.setBackend(backend)
        return register(running)
      }
      unwatch(api)
      const monitor = new ApiMonitor({ tenant, api, backend }, api, options)
      monitors.set(api, monitor)
      register(monitor)
    },
    unwatch,
    report(reports) {
      for (const report of reports) byKey.get(report.key)?.report(report)
    },
    stateOf: (api) => monitors.get(api)?.state ?? 'healthy',
    issues: () =>
      [...monitors.values()]
        .filter(({ state }) => state !== 'healthy')
        .map(({ tenant, api, state }) => ({ tenant, api, state })),
    stop() {
      for (const monitor of monitors.values()) monitor.stop()
    },
  }
}
