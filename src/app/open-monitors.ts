/**
 * Composes the monitoring on the main thread: drift that the gateway reports, backend health (reported and probed), spool
 * pressure, and the compliance of active revisions.
 */

import type { UpstreamIssueState } from '../control/attention/attention.ts'
import { createCompliance, CRITICAL_BELOW, type Compliance } from '../control/programmes/compliance.ts'
import { createDrifts } from '../control/programmes/drifts.ts'
import { watchBackendCertificates, type BackendCertificates } from '../control/publishing/backend-certificates.ts'
import { shareUpstreams, type SharedUpstreams } from '../control/publishing/shared-upstreams.ts'
import {
  createUpstreamEvents,
  retryUpstreamEvents,
  type UpstreamEvents,
} from '../control/publishing/upstream-events.ts'
import type { KeyedMutex } from '../control/command/keyed-mutex.ts'
import type { Drift } from '../foundation/domain/drift.ts'
import type { BackendConnect } from '../gateway/backend/backend-connect.ts'
import type { UpstreamChange } from '../gateway/backend/api-monitor.ts'
import { createHealthProbe } from '../gateway/backend/health-probe.ts'
import type { GatePlan } from '../gateway/backend/upstream-gate.ts'
import { createUpstreamHealth, type UpstreamHealth } from '../gateway/backend/upstream-health.ts'
import { createLinter } from '../documents/governance/lint/linter.ts'
import type { PlatformRecorder } from '../interfaces/platform/self-metering/platform-recorder.ts'
import type { SpoolGauge } from '../storage/spool/spool-gauge.ts'
import type { CountEvent } from '../foundation/runtime/event-reasons.ts'
import type { Clock } from '../foundation/runtime/clock.ts'
import type { CreateId } from '../foundation/runtime/ids.ts'
import type { Opened } from '../foundation/runtime/lifecycle.ts'
import type { Log } from '../foundation/runtime/log.ts'
import type { Metrics } from '../foundation/runtime/metrics.ts'
import { watchLeases, type LeaseWatchOptions } from '../interfaces/platform/self-metering/lease-watch.ts'
import { watchSpool } from '../interfaces/platform/self-metering/spool-pressure.ts'
import type { Registry } from '../storage/store/registry.ts'
import type { Shared } from './open-shared.ts'

export interface MonitorsOptions {
  readonly registry: Registry
  readonly recorder: Pick<PlatformRecorder, 'note'>
  readonly gauge: Pick<SpoolGauge, 'share'>
  /** Null if limits hold on this node only. */
  readonly leases: LeaseWatchOptions['leases'] | null
  readonly setGate: (api: string, key: string, gate: GatePlan) => Promise<void>
  readonly connectBackend: BackendConnect
  readonly mutex: KeyedMutex
  /** The tenant of the operator. */
  readonly tenant: string
  /** Null: a single node. */
  readonly shared: Pick<Shared, 'upstreams' | 'incarnation'> | null
  readonly createId: CreateId
  readonly metrics: Pick<Metrics, 'measured'>
  readonly clock: Clock
  readonly log: Log
  readonly count: CountEvent
  readonly opened: Opened
}

export interface Monitors {
  readonly onDrift: (drift: Drift) => void
  readonly upstreams: UpstreamHealth
  /** The APIs of a tenant whose backends are not healthy, as all nodes see them. */
  readonly upstreamIssues: (tenant: string) => Promise<readonly UpstreamIssueState[]>
  readonly compliance: Compliance
  readonly backendCertificates: Pick<BackendCertificates, 'serve' | 'withdraw'>
}

/** Time limit for linting the platform's own document, long enough for a busy machine. */
const OWN_DEADLINE_MS = 120_000

export function openMonitors(options: MonitorsOptions): Monitors {
  const { setGate, clock, log, count, opened } = options
  const drifts = createDrifts(options)
  opened('drifts', drifts.settled)
  opened('spool pressure', watchSpool(options))
  const { leases } = options
  if (leases !== null) opened('watch on leases', watchLeases({ ...options, leases }))
  const events = openEvents(options)
  const probe = createHealthProbe(options.connectBackend)
  opened('health probes', probe.close)

  let sharedUpstreams: SharedUpstreams | null = null
  function onChange({ tenant, api, isCanary, origin, from, to, ok, failed, ...change }: UpstreamChange): void {
    count(`upstream_${to}`)
    log[to === 'healthy' ? 'info' : 'warn'](
      { tenant, api, ...(isCanary && { isCanary }), ...(origin !== null && { origin }), from, to, ok, failed },
      'backend health of an API has changed',
    )
    // The event and the list of issues are about the backend that serves all other callers.
    if (isCanary) return
    sharedUpstreams?.changed()
    void events.raise({ tenant, api, from, to, ok, failed, ...change })
  }

  const upstreams = createUpstreamHealth({
    clock,
    setGate,
    probe: probe.check,
    onChange,
    onFailure: (cause) =>
      log.error(
        { err: cause },
        'circuit breaker state could not be sent to the gateway threads; they keep the previous state',
      ),
  })
  opened('upstream health', upstreams.stop)
  sharedUpstreams = options.shared === null ? null : openSharedUpstreams(options, options.shared, upstreams, events)
  const compliance = createCompliance({
    ...options,
    linter: createLinter({ clock, log }),
    ownDeadlineMs: OWN_DEADLINE_MS,
    async onLow(of, api, score) {
      log.warn({ tenant: of, api, score }, 'activated revision has a low compliance score')
      await options.recorder.note(score < CRITICAL_BELOW ? 'score_critical' : 'score_low', of, api, null)
    },
  })
  opened('compliance', compliance.stop)
  const upstreamIssues =
    sharedUpstreams?.issuesOf ??
    (async (tenant: string) => upstreams.issues().filter((issue) => issue.tenant === tenant))
  const backendCertificates = openBackendCertificates(options)
  return { onDrift: drifts.record, upstreams, upstreamIssues, compliance, backendCertificates }
}

function openEvents(options: MonitorsOptions): UpstreamEvents {
  const { shared, clock, log, count, opened } = options
  const events = createUpstreamEvents({
    ...options,
    onFailed(cause, api) {
      count('upstream_issue_not_told')
      log.error({ err: cause, api }, 'health of a backend, or the event about it, could not be stored; retrying')
    },
  })
  if (shared === null) opened('events of backends', retryUpstreamEvents(events, clock))
  return events
}

function openBackendCertificates(options: MonitorsOptions): BackendCertificates {
  const watch = watchBackendCertificates(options)
  options.opened('watch on certificates of backends', watch.stop)
  const help = 'Days until the first certificate for a backend expires; negative: since it has expired'
  options.metrics.measured('backend_certificate_days_left', help, watch.daysLeft)
  return watch
}

function openSharedUpstreams(
  { clock, log, opened }: MonitorsOptions,
  shared: NonNullable<MonitorsOptions['shared']>,
  { issues }: UpstreamHealth,
  events: UpstreamEvents,
): SharedUpstreams {
  const upstreams = shareUpstreams({
    ...shared,
    own: issues,
    events,
    clock,
    onFailed: (cause) => log.warn({ err: cause }, 'failing backends could not be reported to other nodes; retrying'),
  })
  opened('failing backends', upstreams.stop)
  return upstreams
}
