/** Publishes `UpstreamHealthIssue` when the backend of an API degrades; a recovery is only logged. */

import type { UpstreamState } from '../plan/upstream-state.ts'
import type { Clock } from '../runtime/clock.ts'
import type { CreateId } from '../runtime/ids.ts'
import type { Registry } from '../store/registry.ts'
import { toTime } from '../command/commands.ts'
import { eventWrite } from '../command/event-outbox.ts'

export interface UpstreamIssue {
  readonly tenant: string
  readonly api: string
  readonly state: UpstreamState
  readonly ok: number
  readonly failed: number
}

export interface UpstreamEventsOptions {
  readonly registry: Pick<Registry, 'commit'>
  readonly createId: CreateId
  readonly clock: Clock
}

export function createUpstreamEvents({ registry, createId, clock }: UpstreamEventsOptions) {
  return async ({ tenant, api, state, ok, failed }: UpstreamIssue): Promise<void> => {
    const data = { api, state, calls: ok + failed, failed, seenAt: toTime(clock.nowMs()) }
    await registry.commit({ tenant, consumer: 'system' }, 'upstream.issue', [
      eventWrite(createId, tenant, 'UpstreamHealthIssue', data),
    ])
  }
}
