/**
 * Drift: behaviour of running implementations that their published contract does not declare, or for a canary, its own document.
 *
 * Stores one document per drift of an API. Publishes `DesignDrift` when a drift is first seen, and again if
 * it is still seen a day later; in between only the risk stream counts it.
 */

import type { Drift } from '../../foundation/domain/drift.ts'
import type { CountEvent } from '../../foundation/runtime/event-reasons.ts'
import type { Clock } from '../../foundation/runtime/clock.ts'
import type { CreateId } from '../../foundation/runtime/ids.ts'
import type { Log } from '../../foundation/runtime/log.ts'
import { documentKind, type Document, type Registry } from '../../storage/store/registry.ts'
import { toTime } from '../command/commands.ts'
import { eventWrite } from '../command/event-outbox.ts'

export interface DriftBody extends Omit<Drift, 'tenant'> {
  readonly firstSeenMs: number
  readonly lastSeenMs: number
}

export interface Drifts {
  record(drift: Drift): void
  /** Resolves when all recorded drifts are stored. */
  settled(): Promise<void>
}

export interface DriftsOptions {
  readonly registry: Registry
  readonly createId: CreateId
  readonly clock: Clock
  readonly log: Pick<Log, 'warn' | 'error'>
  readonly count: CountEvent
}

export const DRIFT_KIND = documentKind<DriftBody>('drift', 'hidden', 'exported')
const REPORT_AGAIN_MS = 86_400_000
/** The cache of reported drifts is cleared at this size; the registry then answers which drifts are known. */
const CACHE_MAX = 10_000
/** Upper bound per API over its whole life: callers choose the paths, and each one costs a document and an event. */
const UNKNOWN_OPERATIONS_MAX = 100
/** Drifts beyond this queue length are dropped; they usually recur soon. */
const QUEUED_MAX = 100

export function createDrifts(options: DriftsOptions): Drifts {
  const { clock, log, count } = options
  /** Time of the last report of each drift. */
  const reported = new Map<string, number>()
  let queued = 0
  let queue: Promise<void> = Promise.resolve()

  return {
    record(drift) {
      const key = keyOf(drift)
      const nowMs = clock.nowMs()
      if (nowMs - (reported.get(key) ?? -Infinity) < REPORT_AGAIN_MS) return
      if (queued >= QUEUED_MAX) return count('drift_not_told')
      if (reported.size >= CACHE_MAX) reported.clear()
      reported.set(key, nowMs)
      queued++
      queue = queue
        .then(() => report(options, drift, key))
        .catch((cause: unknown) => {
          reported.delete(key)
          count('drift_not_told')
          log.error({ err: cause }, 'drift could not be stored; it is reported when it recurs')
        })
        .finally(() => {
          queued--
        })
    },
    settled: () => queue,
  }
}

/** For bodies only the place counts, because the rest of the detail may differ with every value. */
function keyOf({ tenant, api, revision, operation, kind, status, detail }: Drift): string {
  const place = kind === 'undeclared_body' ? detail.split(' ', 1)[0] : detail
  const ofCanary = revision === undefined ? [] : [revision]
  return JSON.stringify([tenant, api, operation, kind, status, place, ...ofCanary])
}

async function report(
  { registry, createId, clock, log, count }: DriftsOptions,
  drift: Drift,
  key: string,
): Promise<void> {
  const nowMs = clock.nowMs()
  const found: Document<DriftBody> | null = await registry.find(DRIFT_KIND, 'what', key)
  if (found !== null && nowMs - found.body.lastSeenMs < REPORT_AGAIN_MS) return
  if (found === null && (await isFull(registry, drift))) return count('drift_not_told')
  const { tenant, api, operation, kind, status, detail, requestId } = drift
  const ofCanary = drift.revision === undefined ? {} : { revision: drift.revision }
  const firstSeenMs = found?.body.firstSeenMs ?? nowMs
  const seen = { firstSeenMs, lastSeenMs: nowMs }
  const body: DriftBody = { api, ...ofCanary, operation, kind, status, detail, requestId, ...seen }
  const id = found?.id ?? createId('drf')
  const keys = { what: key, api, kind }
  const data = {
    api,
    ...ofCanary,
    operation: operation || null,
    kind,
    status,
    detail,
    requestId,
    seenAt: toTime(nowMs),
  }
  await registry.commit({ tenant, consumer: 'system' }, 'drift.seen', [
    { kind: DRIFT_KIND, id, tenant, expected: found?.revision ?? 0, body, keys, unique: ['what'] },
    eventWrite(createId, tenant, 'DesignDrift', data),
  ])
  log.warn({ tenant, ...data }, 'backend deviates from its published contract')
}

async function isFull(registry: Pick<Registry, 'list'>, { tenant, api, kind }: Drift): Promise<boolean> {
  if (kind !== 'undeclared_operation') return false
  const limit = UNKNOWN_OPERATIONS_MAX
  return (await registry.list(DRIFT_KIND, { tenant, where: { api, kind }, limit })).length >= limit
}
