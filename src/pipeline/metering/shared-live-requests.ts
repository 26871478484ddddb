/**
 * Publishes the calls of all nodes to subscribers: reads the request log once a second, for all subscribers of this node at once.
 *
 * Each read returns what was stored since the last one: flushes have numbers, per writer. A subscriber that joins gets the calls since
 * then, or since the time at which it resumes. Rows that this node cannot read for a minute are left out. Without subscribers there
 * are no reads.
 */

import type { CountEvent } from '../../foundation/runtime/event-reasons.ts'
import type { Clock } from '../../foundation/runtime/clock.ts'
import type { Log } from '../../foundation/runtime/log.ts'
import type {
  FollowedFilter,
  FollowedLog,
  FollowedRequests,
  LoggedRequest,
  RequestFeed,
  RequestFeedListener,
  RequestFilter,
} from '../../storage/store/request-store.ts'
import type { RequestLogMode } from './request-log.ts'

export interface SharedLiveRequests extends RequestFeed {
  stop(): Promise<void>
}

export interface SharedLiveRequestsOptions {
  readonly mode: RequestLogMode
  readonly store: FollowedLog
  readonly clock: Pick<Clock, 'nowMs' | 'every'>
  readonly log: Pick<Log, 'warn'>
  readonly count: CountEvent
  readonly perSecondMax?: number
}

interface Subscriber extends RequestFeedListener {
  readonly filter: RequestFilter
  /** Null once it follows the position. */
  freshSinceMs: number | null
}

const PER_SECOND_MAX = 100
/** Calls of one read, for all subscribers together. */
const PER_READ_MAX = 2_000
const READ_EVERY_MS = 1_000
/** Only calls of the last minute are live. */
const LIVE_MS = 60_000
/** The clocks of nodes may differ by that. */
const CLOCK_MS = 1_000
/** A call is stored some seconds after it ended; a stream that resumes gets those again that ended shortly before its last one. */
const LATE_MS = 5_000

export function createSharedLiveRequests(options: SharedLiveRequestsOptions): SharedLiveRequests {
  return new LogFollower(options)
}

class LogFollower implements SharedLiveRequests {
  readonly isResumable = true
  readonly #options: SharedLiveRequestsOptions
  readonly #perSecondMax: number
  readonly #subscribers = new Set<Subscriber>()
  readonly #stopping = new AbortController()
  /** The last flush that was read of each writer, and when. */
  #position = new Map<string, { readonly flush: number; readonly readMs: number }>()
  #reading: Promise<void> | null = null
  #stopClock: (() => void) | null = null
  #isFailing = false

  constructor(options: SharedLiveRequestsOptions) {
    this.#options = options
    this.#perSecondMax = options.perSecondMax ?? PER_SECOND_MAX
  }

  subscribe(filter: RequestFilter, listener: RequestFeedListener, sinceMs?: number): () => void {
    const { mode, clock } = this.#options
    const nowMs = clock.nowMs()
    const fromMs = sinceMs === undefined ? nowMs - CLOCK_MS : Math.min(sinceMs - LATE_MS, nowMs - CLOCK_MS)
    const subscriber: Subscriber = { ...listener, filter, freshSinceMs: Math.max(fromMs, nowMs - LIVE_MS) }
    if (mode === 'off' || this.#stopping.signal.aborted) return () => {}
    this.#subscribers.add(subscriber)
    this.#stopClock ??= clock.every(READ_EVERY_MS, () => this.#read())
    return () => {
      this.#subscribers.delete(subscriber)
      if (this.#subscribers.size > 0) return
      this.#stopClock?.()
      this.#stopClock = null
    }
  }

  async stop(): Promise<void> {
    this.#stopClock?.()
    this.#stopping.abort()
    await this.#reading
  }

  /** One read at a time: a slow store is asked less often. */
  #read(): void {
    if (this.#subscribers.size === 0) return
    this.#reading ??= this.#readOnce().finally(() => (this.#reading = null))
  }

  async #readOnce(): Promise<void> {
    const { store, clock, log, count } = this.#options
    const nowMs = clock.nowMs()
    const groups = groupsOf(this.#subscribers, nowMs)
    const filters = groups.map(({ filter }) => filter)
    const position = new Map([...this.#position].map(([writer, { flush }]) => [writer, flush]))
    const share = Math.floor(PER_READ_MAX / (filters.length * Math.max(1, position.size)))
    const limit = Math.max(1, Math.min(this.#perSecondMax, share))
    try {
      const found = await store.follow({ filters, position, limit }, this.#stopping.signal)
      this.#isFailing = false
      this.#advance(found, nowMs)
      for (const [index, { members }] of groups.entries()) {
        this.#publish(
          found.filter(({ filter }) => filter === index),
          members,
        )
      }
    } catch (cause) {
      if (this.#isFailing || this.#stopping.signal.aborted) return
      this.#isFailing = true
      count('live_requests_not_read')
      log.warn({ err: cause }, 'streams of calls receive nothing: the request log could not be read; retrying')
    }
  }

  #advance(found: readonly FollowedRequests[], readMs: number): void {
    for (const { writer, lastFlush } of found) {
      const flush = Math.max(lastFlush, this.#position.get(writer)?.flush ?? 0)
      this.#position.set(writer, { flush, readMs })
    }
    for (const [writer, { readMs: lastMs }] of this.#position)
      if (readMs - lastMs > 2 * LIVE_MS) this.#position.delete(writer)
  }

  #publish(found: readonly FollowedRequests[], members: readonly Subscriber[]): void {
    const requests = found
      .flatMap((each) => each.requests)
      .toSorted(byTime)
      .slice(0, this.#perSecondMax)
    const skipped = found.reduce((sum, each) => sum + each.found, 0) - requests.length
    for (const subscriber of members) {
      subscriber.freshSinceMs = null
      for (const request of requests) if (this.#subscribers.has(subscriber)) subscriber.onRequest(request)
      if (skipped > 0 && this.#subscribers.has(subscriber)) subscriber.onSkipped(skipped)
    }
  }
}

interface Group {
  readonly filter: FollowedFilter
  readonly members: Subscriber[]
}

/** Subscribers with one filter that have read as far share what is read. */
function groupsOf(subscribers: ReadonlySet<Subscriber>, nowMs: number): readonly Group[] {
  const groups = new Map<string, Group>()
  for (const subscriber of subscribers) {
    const { tenant, api, customer, outcome, isRefused, revision } = subscriber.filter
    const key = JSON.stringify([tenant, api, customer, outcome, isRefused, revision, subscriber.freshSinceMs])
    const isFresh = subscriber.freshSinceMs !== null
    const filter = { ...subscriber.filter, sinceMs: subscriber.freshSinceMs ?? nowMs - LIVE_MS, isFresh }
    const group = groups.get(key) ?? { filter, members: [] }
    group.members.push(subscriber)
    groups.set(key, group)
  }
  return [...groups.values()]
}

function byTime(one: LoggedRequest, other: LoggedRequest): number {
  return one.timeMs - other.timeMs
}
