/**
 * Publishes calls to subscribers while they are read from the spool: those that the request log selects.
 *
 * Each subscriber receives a limited number of calls per second; the others are counted and reported to it. Without subscribers a
 * batch costs nothing. After a failure of the pipeline, calls of the last minute may be published again.
 */

import { IS_NOTE, OUTCOMES, outcomeIndex } from '../../foundation/domain/outcome.ts'
import { UNKNOWN_REVISION, type Attribution } from '../../foundation/domain/attribution.ts'
import type { RecordBatch } from '../../storage/spool/record-batch.ts'
import type { Clock } from '../../foundation/runtime/clock.ts'
import type {
  LoggedRequest,
  RequestFeed,
  RequestFeedListener,
  RequestFilter,
} from '../../storage/store/request-store.ts'
import { toRequest, type RequestLogMode } from './request-log.ts'

export interface LiveRequests extends RequestFeed {
  add(batch: RecordBatch): void
}

export interface LiveRequestsOptions {
  readonly mode: RequestLogMode
  readonly clock: Pick<Clock, 'nowMs' | 'every'>
  readonly perSecondMax?: number
}

interface Subscriber extends RequestFeedListener {
  readonly filter: RequestFilter
  room: number
  skipped: number
}

const PER_SECOND_MAX = 100
const SECOND_MS = 1_000
/** A start reads what an earlier process left in the spool; only calls of the last minute are live. */
const LIVE_MS = 60_000

export function createLiveRequests({ mode, clock, perSecondMax = PER_SECOND_MAX }: LiveRequestsOptions): LiveRequests {
  const subscribers = new Set<Subscriber>()
  let stopClock: (() => void) | null = null

  function refill(): void {
    for (const subscriber of subscribers) {
      const { skipped } = subscriber
      subscriber.room = perSecondMax
      subscriber.skipped = 0
      if (skipped > 0) subscriber.onSkipped(skipped)
    }
  }

  return {
    isResumable: false,
    add(batch) {
      if (subscribers.size > 0) publish(batch, subscribers, { mode, sinceMs: clock.nowMs() - LIVE_MS })
    },
    subscribe(filter, listener) {
      const subscriber = { ...listener, filter, room: perSecondMax, skipped: 0 }
      subscribers.add(subscriber)
      stopClock ??= clock.every(SECOND_MS, refill)
      return () => {
        subscribers.delete(subscriber)
        if (subscribers.size > 0) return
        stopClock?.()
        stopClock = null
      }
    },
  }
}

const SERVED = OUTCOMES[outcomeIndex.served]

interface Selection {
  readonly mode: RequestLogMode
  readonly sinceMs: number
}

function publish(batch: RecordBatch, subscribers: ReadonlySet<Subscriber>, { mode, sinceMs }: Selection): void {
  if (mode === 'off') return
  for (let index = 0; index < batch.count; index++) {
    const outcome = batch.outcome(index)
    const isLogged = IS_NOTE[outcome] === false && (mode === 'all' || outcome !== outcomeIndex.served)
    const attribution = batch.attributions[batch.attributionId(index)]
    if (!isLogged || attribution === undefined || batch.timeMs(index) < sinceMs) continue
    let request: LoggedRequest | null = null
    for (const subscriber of subscribers) {
      if (!matches(subscriber.filter, attribution, OUTCOMES[outcome] ?? '')) continue
      if (subscriber.room === 0) subscriber.skipped++
      else {
        subscriber.room--
        subscriber.onRequest((request ??= toRequest(batch, index)))
      }
    }
  }
}

function matches(
  { tenant, api, customer, outcome, isRefused, revision }: RequestFilter,
  by: Attribution,
  given: string,
): boolean {
  return (
    by.tenant === tenant &&
    (api === undefined || by.api === api) &&
    (customer === undefined || by.consumer === customer) &&
    (outcome === undefined || outcome === given) &&
    (isRefused !== true || given !== SERVED) &&
    (revision === undefined || revision === (by.revision ?? UNKNOWN_REVISION))
  )
}
