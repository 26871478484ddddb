/**
 * Publishes `UpstreamHealthIssue` when a target of an API's backend gets worse; a recovery is only logged.
 *
 * With several nodes, each judges the backend for itself. A node publishes the event unless another one has published one that is as
 * severe, so that one failure is one event. An event that the store does not accept stays pending, and is tried again until it is
 * published. There is one for each API, the most severe: several failures while the store is away are one event.
 */

import { isWorse, type UpstreamState } from '../../boundary/plan/upstream-state.ts'
import type { Clock } from '../../foundation/runtime/clock.ts'
import type { CreateId } from '../../foundation/runtime/ids.ts'
import { createMonotonicClock } from '../../foundation/runtime/monotonic.ts'
import { RevisionConflict, type Commit, type Registry } from '../../storage/store/registry.ts'
import { isFromDisk } from '../../storage/store/unwritable.ts'
import type { UpstreamReport, UpstreamReports } from '../../storage/store/upstream-reports.ts'
import { toReport, type PendingEvents } from './shared-upstreams.ts'
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
  readonly clock: Pick<Clock, 'nowMs'>
  /** Measures how long an event is pending. */
  readonly monotonicMs?: () => number
  /** Reports of all nodes, and the name of this one; null: a single node. */
  readonly shared: { readonly upstreams: UpstreamReports; readonly incarnation: string } | null
  /** A change could not be stored. Its event is pending, if it has one. */
  readonly onFailed: (cause: unknown, api: string) => void
}

export interface UpstreamEvents extends PendingEvents {
  /** Receives every change of a backend, and publishes those that are issues. Never rejects. */
  raise(issue: UpstreamIssue): Promise<void>
}

interface PendingEvent {
  readonly severity: number
  readonly commit: Commit
  readonly sinceMs: number
  readonly isDelayed: boolean
  /** How the backend is for this node. */
  readonly report: UpstreamReport | null
}

const RETRY_EVERY_MS = 10_000

export function createUpstreamEvents(options: UpstreamEventsOptions): UpstreamEvents {
  const { monotonicMs = createMonotonicClock(), onFailed } = options
  const mutex = createKeyedMutex()
  const pending = new Map<string, PendingEvent>()
  /** Number of changes of an API that are not stored yet. */
  const unstored = new Map<string, number>()

  /** Returns why the change could not be stored; null: it was. */
  async function settle(api: string, report: UpstreamReport | null): Promise<unknown> {
    const event = pending.get(api)
    try {
      await store(options, { api, report, event, nowMs: monotonicMs() })
      pending.delete(api)
      return null
    } catch (cause) {
      if (event !== undefined) pending.set(api, { ...event, isDelayed: true, report })
      onFailed(cause, api)
      return cause
    }
  }

  function note(issue: UpstreamIssue): void {
    const before = pending.get(issue.api)
    if (!isIssue(issue) || (before !== undefined && before.severity > issue.severity)) return
    const [commit, report] = [toCommit(issue, options), toReport(issue)]
    pending.set(issue.api, { severity: issue.severity, commit, sinceMs: monotonicMs(), isDelayed: false, report })
  }

  return {
    async raise(issue) {
      const { api } = issue
      unstored.set(api, (unstored.get(api) ?? 0) + 1)
      await mutex.runExclusive([api], () => {
        note(issue)
        return settle(api, toReport(issue))
      })
      const left = unstored.get(api)! - 1
      if (left === 0) unstored.delete(api)
      else unstored.set(api, left)
    },
    isPending: (api) => pending.has(api) || unstored.has(api),
    async retry() {
      for (const api of [...pending.keys()]) {
        const cause = await mutex.runExclusive([api], async () => {
          const event = pending.get(api)
          return event === undefined ? null : settle(api, event.report)
        })
        // The others would fail as well.
        if (isFromDisk(cause)) return
      }
    },
  }
}

/** Tries again every ten seconds, on a single node. Returns the function that stops it. */
export function retryUpstreamEvents(events: Pick<UpstreamEvents, 'retry'>, clock: Pick<Clock, 'every'>) {
  let current = Promise.resolve()
  const cancel = clock.every(RETRY_EVERY_MS, () => void (current = current.then(events.retry)))
  return async (): Promise<void> => {
    cancel()
    await current
  }
}

interface Change {
  readonly api: string
  readonly report: UpstreamReport | null
  /** Undefined: none is pending. */
  readonly event: PendingEvent | undefined
  readonly nowMs: number
}

/** Reports every change to the other nodes, also those that are no event. */
async function store(
  { registry, shared }: Pick<UpstreamEventsOptions, 'registry' | 'shared'>,
  { api, report, event, nowMs }: Change,
): Promise<void> {
  if (shared === null) return event === undefined ? undefined : commitOnce(registry, event.commit)
  const { upstreams, incarnation } = shared
  const isMissing = await upstreams.report(incarnation, api, report, event?.severity ?? 0)
  if (event === undefined || !isMissing) return
  const { severity, commit, isDelayed, sinceMs } = event
  await upstreams.publish(incarnation, { api, severity, commit, delayedMs: isDelayed ? nowMs - sinceMs : null })
}

function toCommit(
  issue: UpstreamIssue,
  { createId, clock }: Pick<UpstreamEventsOptions, 'createId' | 'clock'>,
): Commit {
  const { tenant, api, state, ok, failed, failing } = issue
  const targets = failing.length === 0 ? {} : { targets: failing }
  const data = { api, state, ...targets, calls: ok + failed, failed, seenAt: toTime(clock.nowMs()) }
  const writes = [eventWrite(createId, tenant, 'UpstreamHealthIssue', data)]
  return { author: { tenant, consumer: 'system' }, action: 'upstream.issue', writes }
}

async function commitOnce(registry: Pick<Registry, 'commit'>, { author, action, writes }: Commit): Promise<void> {
  try {
    await registry.commit(author, action, writes)
  } catch (cause) {
    // An earlier attempt has committed it.
    if (!(cause instanceof RevisionConflict)) throw cause
  }
}

/** Returns whether a change is an event. While no target is open, and one recovers, another attempt that fails is none. */
function isIssue({ from, to, state }: Pick<UpstreamIssue, 'from' | 'to' | 'state'>): boolean {
  return isWorse(from, to) && state !== 'recovering'
}
