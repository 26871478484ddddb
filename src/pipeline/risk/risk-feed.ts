/** Reads risks: the open and cleared episodes, one episode with its timeline, and the live feed. */

import type { RiskEvent } from '../../foundation/domain/risk.ts'
import type { RiskCheckpoint } from '../../storage/store/risk-checkpoint.ts'
import type { RiskFeed, RiskPosition, RiskPositionQuery, RiskStore } from '../../storage/store/risk-store.ts'
import type { Episode } from './episode.ts'
import { LiveRiskFeed, type LiveRiskFeedOptions } from './live-risk-feed.ts'

export interface OpenRiskFeed extends RiskFeed {
  /** Sends committed events to the subscribers. */
  publish(events: readonly RiskEvent[]): void
}

export interface RiskFeedOptions extends LiveRiskFeedOptions {
  readonly store: Pick<RiskStore, 'eventsAfter' | 'eventsOf'>
  readonly checkpoint: Pick<RiskCheckpoint, 'clearedEpisode' | 'clearedEpisodes' | 'waiting' | 'lastEventId'>
  readonly open: () => Iterable<Episode>
  readonly nowMs: () => number
  readonly matches: (event: RiskEvent, query: RiskPositionQuery) => boolean
}

const TIMELINE_MAX = 500

export function createRiskFeed(options: RiskFeedOptions): OpenRiskFeed {
  const live = new LiveRiskFeed(options)
  return {
    publish: (events) => live.publish(events),
    subscribe: (tenant, afterId, listener, drained = async () => {}) =>
      live.subscribe(tenant, afterId, listener, drained),
    episode: (tenant, riskId) => episodeOf(options, tenant, riskId),
    position: async (query) =>
      query.state === 'open' ? openPositions(options, query) : options.checkpoint.clearedEpisodes(query),
  }
}

function openPositions({ open, nowMs, matches }: RiskFeedOptions, query: RiskPositionQuery): RiskPosition[] {
  const atMs = nowMs()
  return [...open()]
    .filter(({ key, riskId }) => key.tenant === query.tenant && riskId > (query.after ?? ''))
    .sort((a, b) => (a.riskId < b.riskId ? -1 : 1))
    .map((episode) => ({ event: episode.latest(atMs), state: 'open' as const }))
    .filter(({ event }) => matches(event, query))
    .slice(0, query.limit)
}

async function episodeOf(options: RiskFeedOptions, tenant: string, riskId: string): ReturnType<RiskFeed['episode']> {
  const { open, checkpoint, nowMs } = options
  const running = [...open()].find((episode) => episode.riskId === riskId && episode.key.tenant === tenant)
  const event = running === undefined ? checkpoint.clearedEpisode(tenant, riskId) : running.latest(nowMs())
  if (event === null) return null
  const state = running === undefined ? 'cleared' : 'open'
  return { event, state, timeline: await timelineOf(options, tenant, riskId) }
}

/** Events that move from the outbox to the store in between are read twice and returned once. */
async function timelineOf(
  { checkpoint, store }: RiskFeedOptions,
  tenant: string,
  riskId: string,
): Promise<readonly RiskEvent[]> {
  const waiting = checkpoint.waiting(tenant, '').filter((event) => event.riskId === riskId)
  const stored = await store.eventsOf(tenant, riskId, TIMELINE_MAX)
  const byId = new Map([...stored, ...waiting].map((event) => [event.id, event]))
  return [...byId.values()].sort((a, b) => (a.id < b.id ? -1 : 1)).slice(-TIMELINE_MAX)
}
