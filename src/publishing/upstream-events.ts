/**
 * Publishes `UpstreamHealthIssue` when a target of an API's backend gets worse; a recovery is only logged.
 *
 * With several nodes, each judges the backend for itself. A node publishes the event if the backend fails worse for it than for all
 * others, so that one failure is one event.
 */

import { isWorse, type UpstreamState } from '../plan/upstream-state.ts'
import type { Clock } from '../runtime/clock.ts'
import type { CreateId } from '../runtime/ids.ts'
import type { Registry } from '../store/registry.ts'
import type { UpstreamReports } from '../store/upstream-reports.ts'
import { toReport } from './shared-upstreams.ts'
import { toTime } from '../command/commands.ts'
import { eventWrite } from '../command/event-outbox.ts'
import { createKeyedMutex } from '../command/keyed-mutex.ts'

export interface UpstreamIssue {
  readonly tenant: string
  readonly api: string
  /** State of the API. */
  readonly state: UpstreamState
  /** How badly all targets fail together. */
  readonly severity: number
  /** State of the target that changed. */
  readonly from: UpstreamState
  readonly to: UpstreamState
  readonly ok: number
  readonly failed: number
  /** Origins of the targets that are not healthy, if the backend has several; empty for a single target. */
  readonly failing: readonly string[]
}

export interface UpstreamEventsOptions {
  readonly registry: Pick<Registry, 'commit'>
  readonly createId: CreateId
  readonly clock: Clock
  /** Reports of all nodes, and the name of this one; null: a single node. */
  readonly shared: { readonly upstreams: UpstreamReports; readonly incarnation: string } | null
}

/** Returns a function that receives every change of a backend, and publishes those that are issues. */
export function createUpstreamEvents({ registry, createId, clock, shared }: UpstreamEventsOptions) {
  const mutex = createKeyedMutex()

  /** Tells the other nodes of every change, also of those that are no event. */
  async function isFirst(issue: UpstreamIssue): Promise<boolean> {
    return shared === null || shared.upstreams.report(shared.incarnation, issue.api, toReport(issue))
  }

  async function publish(issue: UpstreamIssue): Promise<void> {
    const { tenant, api, state, ok, failed, failing } = issue
    if (!(await isFirst(issue)) || !isIssue(issue)) return
    const targets = failing.length === 0 ? {} : { targets: failing }
    const data = { api, state, ...targets, calls: ok + failed, failed, seenAt: toTime(clock.nowMs()) }
    await registry.commit({ tenant, consumer: 'system' }, 'upstream.issue', [
      eventWrite(createId, tenant, 'UpstreamHealthIssue', data),
    ])
  }

  return (issue: UpstreamIssue): Promise<void> => mutex.runExclusive([issue.api], () => publish(issue))
}

/** Returns whether a change is an event. While no target is open, and one recovers, another attempt that fails is none. */
function isIssue({ from, to, state }: Pick<UpstreamIssue, 'from' | 'to' | 'state'>): boolean {
  return isWorse(from, to) && state !== 'recovering'
}
