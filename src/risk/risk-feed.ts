/**
 * Reads risks: the current position, one episode, and the live feed with its recent events.
 *
 * Recent events come from a ring in memory, older ones from the outbox, and the oldest from the store. The store holds a prefix
 * of all events and the outbox continues it. Events that are published while a subscriber catches up are queued for it, so
 * there is no gap. Ids increase, so an event that is read twice is sent once. Recent events are sent only as fast as the
 * subscriber reads them.
 */

import type { RiskEvent } from '../domain/risk.ts'
import type { RiskCheckpoint } from '../store/risk-checkpoint.ts'
import type { RiskFeed, RiskPosition, RiskPositionQuery, RiskStore } from '../store/risk-store.ts'
import type { Episode } from './episode.ts'

export interface OpenRiskFeed extends RiskFeed {
  /** Sends committed events to the subscribers. */
  publish(events: readonly RiskEvent[]): void
}

export interface RiskFeedOptions {
  readonly store: Pick<RiskStore, 'eventsAfter' | 'eventsOf'>
  readonly checkpoint: Pick<RiskCheckpoint, 'clearedEpisode' | 'clearedEpisodes' | 'waiting' | 'lastEventId'>
  readonly open: () => Iterable<Episode>
  readonly nowMs: () => number
  readonly matches: (event: RiskEvent, query: RiskPositionQuery) => boolean
  /** Called if a subscriber threw; it receives no more events. */
  readonly onBroken: (cause: unknown) => void
}

type Listener = (event: RiskEvent) => void

const RING_MAX = 10_000
const PAGE = 1_000
const TIMELINE_MAX = 500
/** Number of past events that are sent before the subscriber must have read them. */
const STRETCH = 100

export function createRiskFeed(options: RiskFeedOptions): OpenRiskFeed {
  const { store, checkpoint, open, nowMs, matches, onBroken } = options
  const ring: RiskEvent[] = []
  const byTenant = new Map<string, Set<Listener>>()
  /** The ring holds every event after this id. */
  let ringFrom = checkpoint.lastEventId()

  function listen(tenant: string, listener: Listener): () => void {
    let listeners = byTenant.get(tenant)
    if (listeners === undefined) byTenant.set(tenant, (listeners = new Set()))
    listeners.add(listener)
    return () => {
      listeners.delete(listener)
      if (listeners.size === 0 && byTenant.get(tenant) === listeners) byTenant.delete(tenant)
    }
  }

  /** Returns the id of the latest event. */
  const newest = (): string => ring.at(-1)?.id ?? ringFrom

  function publish(events: readonly RiskEvent[]): void {
    for (const event of events) {
      ring.push(event)
      for (const listener of byTenant.get(event.tenant) ?? []) sendSafely(event, listener)
    }
    if (ring.length > RING_MAX * 2) ringFrom = ring.splice(0, ring.length - RING_MAX).at(-1)?.id ?? ringFrom
  }

  /** Isolates a failing subscriber from the others and from the pipeline. */
  function sendSafely(event: RiskEvent, listener: Listener): void {
    try {
      listener(event)
    } catch (cause) {
      byTenant.get(event.tenant)?.delete(listener)
      onBroken(cause)
    }
  }

  async function resume(
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
    const sendAll = async (events: readonly RiskEvent[]): Promise<void> => {
      for (let from = 0; from < events.length; from += STRETCH) {
        events.slice(from, from + STRETCH).forEach(send)
        await drained()
      }
    }
    const stop = listen(tenant, (event) => (isCatchingUp ? void missed.push(event) : send(event)))
    try {
      if (ringFrom > afterId) {
        // Read before the store: events that move from the outbox to the store in between are found there.
        const waiting = checkpoint.waiting(tenant, afterId)
        await fromStore(tenant, afterId, sendAll)
        await sendAll(waiting)
      } else await sendAll(ring.filter((event) => event.tenant === tenant && event.id > afterId))
      while (missed.length > 0) await sendAll(missed.splice(0))
    } catch (cause) {
      stop()
      throw cause
    }
    isCatchingUp = false
    return stop
  }

  async function fromStore(
    tenant: string,
    afterId: string,
    sendAll: (events: readonly RiskEvent[]) => Promise<void>,
  ): Promise<void> {
    for (let after = afterId; ;) {
      const page = await store.eventsAfter(tenant, after, PAGE)
      await sendAll(page)
      const last = page.at(-1)
      if (last === undefined || page.length < PAGE) return
      after = last.id
    }
  }

  function openPositions(query: RiskPositionQuery): RiskPosition[] {
    const atMs = nowMs()
    return [...open()]
      .filter(({ key, riskId }) => key.tenant === query.tenant && riskId > (query.after ?? ''))
      .sort((a, b) => (a.riskId < b.riskId ? -1 : 1))
      .map((episode) => ({ event: episode.latest(atMs), state: 'open' as const }))
      .filter(({ event }) => matches(event, query))
      .slice(0, query.limit)
  }

  /** Events that move from the outbox to the store in between are read twice and returned once. */
  async function timelineOf(tenant: string, riskId: string): Promise<readonly RiskEvent[]> {
    const waiting = checkpoint.waiting(tenant, '').filter((event) => event.riskId === riskId)
    const stored = await store.eventsOf(tenant, riskId, TIMELINE_MAX)
    const byId = new Map([...stored, ...waiting].map((event) => [event.id, event]))
    return [...byId.values()].sort((a, b) => (a.id < b.id ? -1 : 1)).slice(-TIMELINE_MAX)
  }

  async function episodeOf(tenant: string, riskId: string): ReturnType<RiskFeed['episode']> {
    const running = [...open()].find((episode) => episode.riskId === riskId && episode.key.tenant === tenant)
    const event = running === undefined ? checkpoint.clearedEpisode(tenant, riskId) : running.latest(nowMs())
    if (event === null) return null
    const state = running === undefined ? 'cleared' : 'open'
    return { event, state, timeline: await timelineOf(tenant, riskId) }
  }

  return {
    publish,
    episode: episodeOf,
    position: async (query) => (query.state === 'open' ? openPositions(query) : checkpoint.clearedEpisodes(query)),
    subscribe: async (tenant, afterId, listener, drained = async () => {}) =>
      afterId === null || afterId > newest() ? listen(tenant, listener) : resume(tenant, afterId, listener, drained),
  }
}
