/**
 * Risks as they are read: the position now, and the live feed with its recent past.
 *
 * The past is a ring of the latest events in memory and the store behind it. A subscriber that resumes
 * gets what it missed from the store up to where the ring begins, then from the ring, then live; ids sort
 * by time, so an event that is met twice on the way is told once.
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
const PAGE = 1_000

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

  async function resume(tenant: string, afterId: string, listener: Listener): Promise<() => void> {
    let last = afterId
    let missed: RiskEvent[] | null = []
    const tell = (event: RiskEvent): void => {
      if (event.id <= last) return
      last = event.id
      listener(event)
    }
    const stop = listen(tenant, (event) => (missed === null ? tell(event) : void missed.push(event)))
    try {
      const reachesBack = ringFrom !== null && ringFrom !== '' && ringFrom <= afterId
      if (!reachesBack) await fromStore(tenant, afterId, tell)
    } catch (cause) {
      stop()
      throw cause
    }
    for (const event of ring) if (event.tenant === tenant) tell(event)
    for (const event of missed) tell(event)
    missed = null
    return stop
  }

  async function fromStore(tenant: string, afterId: string, tell: Listener): Promise<void> {
    for (let after = afterId; ;) {
      const page = await store.eventsAfter(tenant, after, PAGE)
      for (const event of page) tell(event)
      if (page.length < PAGE) return
      after = page.at(-1)!.id
    }
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
    subscribe: async (tenant, afterId, listener) =>
      afterId === null ? listen(tenant, listener) : resume(tenant, afterId, listener),
  }
}
