/**
 * Failing backends of all nodes. A node states its own again and again while there are any, because a report can be lost with the
 * connection to PostgreSQL, and because the backend of an API that is withdrawn does not recover. Then it tries to publish the events
 * that are pending.
 */

import type { UpstreamState } from '../../boundary/plan/upstream-state.ts'
import type { Clock } from '../../foundation/runtime/clock.ts'
import type { OwnUpstreamReport, UpstreamReport, UpstreamReports } from '../../storage/store/upstream-reports.ts'

/** An API whose backend is not healthy. */
export interface FailingBackend {
  readonly tenant: string
  readonly api: string
  readonly state: UpstreamState
  /** How badly all targets fail together, so that a node reports the second one that fails to the others. */
  readonly severity: number
}

export interface PendingEvents {
  /** Whether an event about an API may be missing. */
  isPending(api: string): boolean
  /** Never rejects. */
  retry(): Promise<void>
}

export interface SharedUpstreamsOptions {
  readonly upstreams: UpstreamReports
  /** Names this node. */
  readonly incarnation: string
  /** Those of this node. */
  readonly own: () => readonly FailingBackend[]
  /** Those about the backends of this node. */
  readonly events: PendingEvents
  readonly clock: Pick<Clock, 'every'>
  /** They could not be stated; they are stated again. */
  readonly onFailed: (cause: unknown) => void
}

export interface SharedUpstreams {
  /** A backend of this node has changed. */
  changed(): void
  /** Returns the APIs of a tenant whose backends are not healthy for some node, each with its worst state. */
  issuesOf(tenant: string): Promise<readonly Pick<FailingBackend, 'api' | 'state'>[]>
  stop(): Promise<void>
}

/** The worst comes first: few calls reach a backend that recovers. */
const STATES = ['unhealthy', 'recovering', 'degraded'] as const
const STATE_EVERY_MS = 10_000

/** Returns null for a healthy backend. */
export function toReport({ tenant, api, state, severity }: FailingBackend): UpstreamReport | null {
  return state === 'healthy' ? null : { tenant, api, state, severity }
}

function toOwnReport(backend: FailingBackend, { isPending }: PendingEvents): OwnUpstreamReport | null {
  const report = toReport(backend)
  return report === null ? null : { ...report, isPending: isPending(backend.api) }
}

export function shareUpstreams(options: SharedUpstreamsOptions): SharedUpstreams {
  const { upstreams, incarnation, own, events, clock, onFailed } = options
  // Whether the store may have reports of this node.
  let mayHaveReports = false
  let current = Promise.resolve()

  async function restate(): Promise<void> {
    const reports = own().flatMap((backend) => toOwnReport(backend, events) ?? [])
    if (reports.length === 0 && !mayHaveReports) return
    mayHaveReports = reports.length > 0
    try {
      await upstreams.restate(incarnation, reports)
    } catch (cause) {
      mayHaveReports = true
      onFailed(cause)
    }
  }

  const cancel = clock.every(STATE_EVERY_MS, () => void (current = current.then(restate).then(events.retry)))
  return {
    changed: () => void (mayHaveReports = true),
    async issuesOf(tenant) {
      const states = new Map<string, UpstreamState>()
      for (const { api, state } of await upstreams.list(tenant)) {
        const worst = STATES.find((each) => each === state || each === states.get(api))
        if (worst !== undefined) states.set(api, worst)
      }
      return [...states].map(([api, state]) => ({ api, state }))
    },
    async stop() {
      cancel()
      await current
    },
  }
}
