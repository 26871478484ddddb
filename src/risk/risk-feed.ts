/**
 * Risks as they are read: the position now, and the live feed with its recent past.
 *
 * The past is a ring of the latest events in memory; behind it what waits for the store, and behind that
 * the store. The store holds a prefix of all events, what waits follows it, and what is told while a
 * subscriber catches up is kept for it: no gap. Ids rise, so what is met twice on the way is told once.
 * It is told its past no faster than it takes it.
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
  readonly store: Pick<RiskStore, 'eventsAfter' | 'eventsOf'>
  readonly checkpoint: Pick<RiskCheckpoint, 'clearedEpisode' | 'clearedEpisodes' | 'waiting' | 'lastEventId'>
  readonly open: () => Iterable<Episode>
  readonly nowMs: () => number
  readonly matches: (event: RiskEvent, query: RiskPositionQuery) => boolean
  /** A subscriber threw; it is not told anything more. */
  readonly onBroken: (cause: unknown) => void
}

type Listener = (event: RiskEvent) => void

const RING_MAX = 10_000
const PAGE = 1_000
const TIMELINE_MAX = 500
/** What a subscriber is told of its past before it is waited for. */
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

  /** Beyond it lies no id that was ever given. */
  const newest = (): string => ring.at(-1)?.id ?? ringFrom

  function publish(events: readonly RiskEvent[]): void {
    for (const event of events) {
      ring.push(event)
      for (const listener of byTenant.get(event.tenant) ?? []) tellSafely(event, listener)
    }
    if (ring.length > RING_MAX * 2) ringFrom = ring.splice(0, ring.length - RING_MAX).at(-1)?.id ?? ringFrom
  }

  /** One subscriber's trouble is not that of the others, nor of the pipeline. */
  function tellSafely(event: RiskEvent, listener: Listener): void {
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
    const tell = (event: RiskEvent): void => {
      if (event.id <= last) return
      last = event.id
      listener(event)
    }
    const tellAll = async (events: readonly RiskEvent[]): Promise<void> => {
      for (let from = 0; from < events.length; from += STRETCH) {
        events.slice(from, from + STRETCH).forEach(tell)
        await drained()
      }
    }
    const stop = listen(tenant, (event) => (isCatchingUp ? void missed.push(event) : tell(event)))
    try {
      if (ringFrom > afterId) {
        // Before the store is asked: what moves from here to there meanwhile is found there.
        const waiting = checkpoint.waiting(tenant, afterId)
        await fromStore(tenant, afterId, tellAll)
        await tellAll(waiting)
      } else await tellAll(ring.filter((event) => event.tenant === tenant && event.id > afterId))
      while (missed.length > 0) await tellAll(missed.splice(0))
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
    tellAll: (events: readonly RiskEvent[]) => Promise<void>,
  ): Promise<void> {
    for (let after = afterId; ;) {
      const page = await store.eventsAfter(tenant, after, PAGE)
      await tellAll(page)
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

  /** What moves from waiting to the store meanwhile is met twice, and shown once. */
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
