/**
 * Live risk events by tenant, with a resume after a known event.
 *
 * Recent events come from a ring in memory, older ones from the outbox, and the oldest from the store. The store holds a prefix
 * of all events and the outbox continues it. Events that are published while a subscriber catches up are queued for it, so
 * there is no gap. Ids increase, so an event that is read twice is sent once. Past events are sent only as fast as the
 * subscriber reads them.
 */

import type { RiskEvent } from '../../foundation/domain/risk.ts'
import type { RiskCheckpoint } from '../../storage/store/risk-checkpoint.ts'
import type { RiskStore } from '../../storage/store/risk-store.ts'

export interface LiveRiskFeedOptions {
  readonly store: Pick<RiskStore, 'eventsAfter'>
  readonly checkpoint: Pick<RiskCheckpoint, 'lastEventId'> & {
    /** Returns events of a tenant after `afterId` that the store may not have at this moment, oldest first; at once, or in pages. */
    waiting(tenant: string, afterId: string): readonly RiskEvent[] | Promise<AsyncIterable<readonly RiskEvent[]>>
  }
  /** Publishes what other nodes have committed before now; returns whether it could. Missing: there are none. */
  readonly refresh?: () => Promise<boolean>
  /** Called if a subscriber threw; it receives no more events. */
  readonly onBroken: (cause: unknown) => void
}

type Listener = (event: RiskEvent) => void
type SendAll = (events: readonly RiskEvent[]) => Promise<void>

const RING_MAX = 10_000
const PAGE = 1_000
/** Number of past events that are sent before the subscriber must have read them. */
const STRETCH = 100

export class LiveRiskFeed {
  readonly #options: LiveRiskFeedOptions
  readonly #byTenant = new Map<string, Set<Listener>>()
  readonly #ring: RiskEvent[] = []
  /** The ring holds every event after this id. */
  #ringFrom: string
  /** Last event of a gap that was sent to the subscribers of a tenant. */
  readonly #sentOfGap = new Map<string, string>()

  constructor(options: LiveRiskFeedOptions) {
    this.#options = options
    this.#ringFrom = options.checkpoint.lastEventId()
  }

  publish(events: readonly RiskEvent[]): void {
    const ring = this.#ring
    for (const event of events) {
      ring.push(event)
      if (event.id <= (this.#sentOfGap.get(event.tenant) ?? '')) continue
      for (const listener of this.#byTenant.get(event.tenant) ?? []) this.#sendSafely(event, listener)
    }
    if (ring.length > RING_MAX * 2) this.#ringFrom = ring.splice(0, ring.length - RING_MAX).at(-1)?.id ?? this.#ringFrom
  }

  /**
   * Sends the events after `afterId` from the store, because they will not be published. `fromId` is the first event that will be, or
   * the last one that was not. If it rejects, it is repeated.
   */
  async fillGap(afterId: string, fromId: string): Promise<void> {
    this.#ring.length = 0
    this.#ringFrom = fromId
    for (const tenant of this.#byTenant.keys()) {
      const from = this.#sentOfGap.get(tenant) ?? ''
      await this.#sendStored(tenant, from > afterId ? from : afterId, async (events) => {
        for (const event of events) {
          this.#sentOfGap.set(tenant, event.id)
          for (const listener of this.#byTenant.get(tenant) ?? []) this.#sendSafely(event, listener)
        }
      })
    }
  }

  /** Starts with the next event if `afterId` is null or newer than every event. Returns a function that unsubscribes. */
  async subscribe(
    tenant: string,
    afterId: string | null,
    listener: Listener,
    drained: () => Promise<void>,
  ): Promise<() => void> {
    if (afterId === null) return this.#listen(tenant, listener)
    const { refresh } = this.#options
    let isCurrent = true
    // Another node may have published an event that this one has not read yet.
    if (afterId > this.#newestId && refresh !== undefined) isCurrent = await refresh()
    return isCurrent && afterId > this.#newestId
      ? this.#listen(tenant, listener)
      : this.#resume(tenant, afterId, listener, drained)
  }

  get #newestId(): string {
    return this.#ring.at(-1)?.id ?? this.#ringFrom
  }

  #listen(tenant: string, listener: Listener): () => void {
    let listeners = this.#byTenant.get(tenant)
    if (listeners === undefined) this.#byTenant.set(tenant, (listeners = new Set()))
    listeners.add(listener)
    return () => {
      listeners.delete(listener)
      if (listeners.size === 0 && this.#byTenant.get(tenant) === listeners) this.#byTenant.delete(tenant)
    }
  }

  /** Isolates a failing subscriber from the others and from the pipeline. */
  #sendSafely(event: RiskEvent, listener: Listener): void {
    try {
      listener(event)
    } catch (cause) {
      this.#byTenant.get(event.tenant)?.delete(listener)
      this.#options.onBroken(cause)
    }
  }

  async #resume(
    tenant: string,
    afterId: string,
    listener: Listener,
    drained: () => Promise<void>,
  ): Promise<() => void> {
    let last = afterId
    let isCatchingUp = true
    const missed: RiskEvent[] = []
    const send = (event: RiskEvent): void => {
      if (event.id <= last) return
      last = event.id
      listener(event)
    }
    const sendAll: SendAll = async (events) => {
      for (let from = 0; from < events.length; from += STRETCH) {
        events.slice(from, from + STRETCH).forEach(send)
        await drained()
      }
    }
    const stop = this.#listen(tenant, (event) => (isCatchingUp ? void missed.push(event) : send(event)))
    try {
      await this.#sendPast(tenant, afterId, sendAll)
      while (missed.length > 0) await sendAll(missed.splice(0))
    } catch (cause) {
      stop()
      throw cause
    }
    isCatchingUp = false
    return stop
  }

  async #sendPast(tenant: string, afterId: string, sendAll: SendAll): Promise<void> {
    if (this.#ringFrom <= afterId)
      return sendAll(this.#ring.filter((event) => event.tenant === tenant && event.id > afterId))
    // The outbox is read first: events that move from the outbox to the store in between are then found in the store.
    const waiting = await this.#options.checkpoint.waiting(tenant, afterId)
    await this.#sendStored(tenant, afterId, sendAll)
    if (Symbol.asyncIterator in waiting) for await (const page of waiting) await sendAll(page)
    else await sendAll(waiting)
  }

  async #sendStored(tenant: string, afterId: string, sendAll: SendAll): Promise<void> {
    for (let after = afterId; ;) {
      const page = await this.#options.store.eventsAfter(tenant, after, PAGE)
      await sendAll(page)
      const last = page.at(-1)
      if (last === undefined || page.length < PAGE) return
      after = last.id
    }
  }
}
