/**
 * Drift: behaviour of running implementations that their published contract does not declare.
 *
 * Stores one document per drift of an API. Publishes `DesignDrift` when a drift is first seen, and again if
 * it is still seen a day later; in between only the risk stream counts it.
 */

import type { Drift } from '../domain/drift.ts'
import type { CountEvent } from '../runtime/event-reasons.ts'
import type { Clock } from '../runtime/clock.ts'
import type { CreateId } from '../runtime/ids.ts'
import type { Log } from '../runtime/log.ts'
import { documentKind, type Document, type Registry } from '../store/registry.ts'
import { toTime } from '../command/commands.ts'
import { eventWrite } from '../command/event-outbox.ts'

export interface DriftBody extends Omit<Drift, 'tenant'> {
  readonly firstSeenMs: number
  readonly lastSeenMs: number
}

export interface Drifts {
  note(drift: Drift): void
  /** Resolves when all that was noted is written. */
  settled(): Promise<void>
}

export interface DriftsOptions {
  readonly registry: Registry
  readonly createId: CreateId
  readonly clock: Clock
  readonly log: Pick<Log, 'warn' | 'error'>
  readonly count: CountEvent
}

export const DRIFT_KIND = documentKind<DriftBody>('drift')
const TELL_AGAIN_MS = 86_400_000
/** Beyond it things are looked up in the registry again. */
const REMEMBERED_MAX = 10_000
/** Upper bound per API, for its whole life: callers choose the paths, and each one costs a document and an event. */
const UNKNOWN_OPERATIONS_MAX = 100
/** That wait to be written; more are dropped and seen again soon. */
const WAITING_MAX = 100

export function createDrifts({ registry, createId, clock, log, count }: DriftsOptions): Drifts {
  /** When each was last told. */
  const told = new Map<string, number>()
  let waiting = 0
  let queue: Promise<void> = Promise.resolve()

  async function write(drift: Drift, key: string): Promise<void> {
    const nowMs = clock.nowMs()
    const found: Document<DriftBody> | null = await registry.find(DRIFT_KIND, 'what', key)
    if (found !== null && nowMs - found.body.lastSeenMs < TELL_AGAIN_MS) return
    const { tenant, api, operation, kind, status, detail, requestId } = drift
    if (found === null && (await isFull(drift))) return count('drift_not_told')
    const body: DriftBody = {
      api,
      operation,
      kind,
      status,
      detail,
      requestId,
      firstSeenMs: found?.body.firstSeenMs ?? nowMs,
      lastSeenMs: nowMs,
    }
    const id = found?.id ?? createId('drf')
    const keys = { what: key, api, kind }
    const data = { api, operation: operation || null, kind, status, detail, requestId, seenAt: toTime(nowMs) }
    await registry.commit({ tenant, consumer: 'system' }, 'drift.seen', [
      { kind: DRIFT_KIND, id, tenant, expected: found?.revision ?? 0, body, keys, unique: ['what'] },
      eventWrite(createId, tenant, 'DesignDrift', data),
    ])
    log.warn({ tenant, ...data }, 'backend deviates from its published contract')
  }

  async function isFull({ tenant, api, kind }: Drift): Promise<boolean> {
    if (kind !== 'undeclared_operation') return false
    const limit = UNKNOWN_OPERATIONS_MAX
    return (await registry.list(DRIFT_KIND, { tenant, where: { api, kind }, limit })).length >= limit
  }

  return {
    note(drift) {
      const { tenant, api, operation, kind, status, detail } = drift
      // For a body the place is sufficient: the rest of the text may differ with every value.
      const what = kind === 'undeclared_body' ? detail.split(' ', 1)[0] : detail
      const key = JSON.stringify([tenant, api, operation, kind, status, what])
      const nowMs = clock.nowMs()
      if (nowMs - (told.get(key) ?? -Infinity) < TELL_AGAIN_MS) return
      if (waiting >= WAITING_MAX) return count('drift_not_told')
      if (told.size >= REMEMBERED_MAX) told.clear()
      told.set(key, nowMs)
      waiting++
      queue = queue
        .then(() => write(drift, key))
        .catch((cause: unknown) => {
          told.delete(key)
          count('drift_not_told')
          log.error({ err: cause }, 'drift could not be stored; it is reported when it recurs')
        })
        .finally(() => {
          waiting--
        })
    },
    settled: () => queue,
  }
}
