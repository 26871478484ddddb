/**
 * Risks as they are read: the position now, and the live feed with its recent past.
 *
 * The past is a ring of the latest events in memory and the store behind it. A subscriber that resumes
 * gets what it missed from the store up to where the ring begins, then from the ring, then live; ids sort
 * by time, so an event that is met twice on the way is told once. It is told its past no faster than it
 * takes it: nothing queues up for it meanwhile.
 */

import type { RiskEvent } from '../domain/risk.ts'
import type { RiskCheckpoint } from '../store/risk-checkpoint.ts'
import type { RiskFeed, RiskPosition, RiskPositionQuery, RiskStore } from '../store/risk-store.ts'
import type { Episode } from './episode.ts'

export interface OpenRiskFeed extends RiskFeed {
  /** Hands events that are committed to the subscribers. */
  publish(events: readonly RiskEvent[]): void
}

export interface RiskFeedOptions {
  readonly store: Pick<RiskStore, 'eventsAfter'>
  readonly checkpoint: Pick<RiskCheckpoint, 'clearedEpisodes'>
  readonly open: () => Iterable<Episode>
  readonly nowMs: () => number
  readonly matches: (event: RiskEvent, query: RiskPositionQuery) => boolean
  /** Events that are committed but may not be in the store yet. */
  readonly waiting: readonly RiskEvent[]
}

type Listener = (event: RiskEvent) => void

const RING_MAX = 10_000
/** Events that a subscriber is told of its past before it is waited for. */
const PAGE = 200

export function createRiskFeed(options: RiskFeedOptions): OpenRiskFeed {
  const { store, checkpoint, open, nowMs, matches, waiting } = options
  const ring: RiskEvent[] = [...waiting]
  const byTenant = new Map<string, Set<Listener>>()
  /** The ring holds every event after this id. */
  let ringFrom = waiting.length === 0 ? null : ''

  function listen(tenant: string, listener: Listener): () => void {
    let listeners = byTenant.get(tenant)
    if (listeners === undefined) byTenant.set(tenant, (listeners = new Set()))
    listeners.add(listener)
    return () => {
      listeners.delete(listener)
      if (listeners.size === 0) byTenant.delete(tenant)
    }
  }

  function publish(events: readonly RiskEvent[]): void {
    for (const event of events) {
      ring.push(event)
      const listeners = byTenant.get(event.tenant)
      if (listeners !== undefined) for (const listener of listeners) listener(event)
    }
    if (ring.length > RING_MAX * 2) ringFrom = ring.splice(0, ring.length - RING_MAX).at(-1)?.id ?? ringFrom
  }

  async function resume(
    tenant: string,
    afterId: string,
    listener: Listener,
    drained: () => Promise<void>,
  ): Promise<() => void> {
    let last = afterId
    const tell = (event: RiskEvent): void => {
      if (event.id <= last) return
      last = event.id
      listener(event)
    }
    let isInRing = holdsAfter(last)
    for (;;) {
      if (!isInRing) {
        const cut = ringFrom
        const page = await store.eventsAfter(tenant, last, PAGE)
        for (const event of page) tell(event)
        // What left the ring during the reading may have reached the store after it.
        if (page.length > 0) await drained()
        isInRing = page.length < PAGE && ringFrom === cut
      } else {
        const page = ringAfter(tenant, last)
        // Between the last look into the ring and listening nothing can come.
        if (page.length === 0) return listen(tenant, tell)
        for (const event of page) tell(event)
        const cut = ringFrom
        await drained()
        isInRing = ringFrom === cut
      }
    }
  }

  function holdsAfter(id: string): boolean {
    return ringFrom !== null && ringFrom !== '' && ringFrom <= id
  }

  function ringAfter(tenant: string, id: string): RiskEvent[] {
    const page: RiskEvent[] = []
    for (const event of ring) {
      if (event.tenant !== tenant || event.id <= id) continue
      page.push(event)
      if (page.length === PAGE) break
    }
    return page
  }

  function openPositions(query: RiskPositionQuery): RiskPosition[] {
    return [...open()]
      .filter(({ key, riskId }) => key.tenant === query.tenant && riskId > (query.after ?? ''))
      .map((episode) => ({ event: episode.latest(nowMs()), state: 'open' as const }))
      .filter(({ event }) => matches(event, query))
      .sort((a, b) => (a.event.riskId < b.event.riskId ? -1 : 1))
      .slice(0, query.limit)
  }

  return {
    publish,
    position: async (query) => (query.state === 'open' ? openPositions(query) : checkpoint.clearedEpisodes(query)),
    subscribe: async (tenant, afterId, listener, drained = async () => {}) =>
      afterId === null ? listen(tenant, listener) : resume(tenant, afterId, listener, drained),
  }
}
