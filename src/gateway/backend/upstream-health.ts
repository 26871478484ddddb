/**
 * Circuit breakers of all backends, on the main thread. They combine the reports of the gateway threads on calls
 * with probes of the health path, if the proxy declares one.
 *
 * A backend that is down is closed to calls on every thread: callers receive 503 with `Retry-After` immediately
 * instead of a time-out. It is retried by probes or, without a health path, by one call per second and
 * thread. The failure ratio covers all responses of the last ten seconds.
 */

import type { BackendPlan } from '../../plan/route-plan.ts'
import type { UpstreamState } from '../../plan/upstream-state.ts'
import { BackendMonitor, type BackendMonitorOptions } from './backend-monitor.ts'
import type { UpstreamReport } from './upstream-gate.ts'

export interface UpstreamHealth {
  /** Monitors the new backend of an API. A backend that differs from the previous one is assumed to be healthy. */
  watch(tenant: string, api: string, backend: BackendPlan): void
  /** Ends the monitoring of an API that is no longer served. */
  unwatch(api: string): void
  report(reports: readonly UpstreamReport[]): void
  stateOf(api: string): UpstreamState
  /** The APIs whose backends are not healthy. */
  issues(): readonly { readonly tenant: string; readonly api: string; readonly state: UpstreamState }[]
  stop(): void
}

export function createUpstreamHealth(options: BackendMonitorOptions): UpstreamHealth {
  const monitors = new Map<string, BackendMonitor>()

  return {
    watch(tenant, api, backend) {
      const before = monitors.get(api)
      if (before !== undefined && isSame(before.backend, backend)) return
      before?.release()
      monitors.set(api, new BackendMonitor({ tenant, api, backend }, options))
    },
    unwatch(api) {
      monitors.get(api)?.release()
      monitors.delete(api)
    },
    report(reports) {
      for (const report of reports) monitors.get(report.api)?.report(report)
    },
    stateOf: (api) => monitors.get(api)?.state ?? 'healthy',
    issues: () =>
      [...monitors]
        .filter(([, { state }]) => state !== 'healthy')
        .map(([api, { tenant, state }]) => ({ tenant, api, state })),
    stop() {
      for (const monitor of monitors.values()) monitor.stop()
    },
  }
}

function isSame(a: BackendPlan, b: BackendPlan): boolean {
  return (
    a.origin === b.origin &&
    a.basePath === b.basePath &&
    a.health === b.health &&
    a.timeoutMs === b.timeoutMs &&
    a.mayBePrivate === b.mayBePrivate
  )
}
