/** Reads risks that several nodes share: the episodes and the timeline from the shared store, the live feed from this process. */

import type { RiskEvent } from '../../foundation/domain/risk.ts'
import type { RiskFeed, RiskPosition, RiskPositionQuery, RiskStore } from '../../storage/store/risk-store.ts'
import type { SavedEpisode } from '../../storage/store/risk-checkpoint.ts'
import type { EpisodeReader, EventsAfter, RiskEventFeed } from '../../storage/store/shared-risks.ts'
import { Episode } from './episode.ts'
import type { LiveRiskFeed } from './live-risk-feed.ts'
import type { RiskRules } from './risk-rules.ts'

export interface SharedRiskFeedOptions {
  readonly live: LiveRiskFeed
  readonly episodes: EpisodeReader
  readonly feed: Pick<RiskEventFeed, 'eventsOf'>
  readonly store: Pick<RiskStore, 'eventsOf'>
  readonly rules: RiskRules
  readonly nowMs: () => number
  readonly matches: (event: RiskEvent, query: RiskPositionQuery) => boolean
}

const TIMELINE_MAX = 500
const PAGE = 500
const EVENTS_PAGE = 1_000

export function createSharedRiskFeed(options: SharedRiskFeedOptions): RiskFeed {
  const { live } = options
  return {
    subscribe: (tenant, afterId, listener, drained = async () => {}) =>
      live.subscribe(tenant, afterId, listener, drained),
    position: (query) => positionOf(options, query),
    episode: (tenant, riskId) => episodeOf(options, tenant, riskId),
  }
}

/** Returns events that the history may not have when this is called, in pages that are read when they are needed. */
export async function waitingEvents(
  feed: Pick<RiskEventFeed, 'inHistory' | 'eventsAfter'>,
  tenant: string,
  afterId: string,
): Promise<AsyncIterable<readonly RiskEvent[]>> {
  return pagesAfter(feed, { tenant, position: await feed.inHistory(), id: afterId, limit: EVENTS_PAGE })
}

async function* pagesAfter(
  feed: Pick<RiskEventFeed, 'eventsAfter'>,
  query: EventsAfter,
): AsyncGenerator<readonly RiskEvent[]> {
  for (let id = query.id; ;) {
    const page = await feed.eventsAfter({ ...query, id })
    yield page
    const last = page.at(-1)
    if (last === undefined || page.length < query.limit) return
    id = last.id
  }
}

async function positionOf(options: SharedRiskFeedOptions, query: RiskPositionQuery): Promise<readonly RiskPosition[]> {
  const { tenant, state, limit } = query
  const found: RiskPosition[] = []
  for (let after = query.after ?? '', isMore = true; isMore && found.length < limit;) {
    const page = await options.episodes.list({ tenant, state, after, limit: PAGE })
    const matching = page.filter(({ event }) => options.matches(event, query))
    found.push(...matching.map((episode) => ({ event: latestOf(options, episode), state })))
    after = page.at(-1)?.riskId ?? ''
    isMore = page.length === PAGE
  }
  return found.slice(0, limit)
}

/** Events that move to the history in between are read twice and returned once. */
async function episodeOf(
  options: SharedRiskFeedOptions,
  tenant: string,
  riskId: string,
): ReturnType<RiskFeed['episode']> {
  const episode = await options.episodes.get(tenant, riskId)
  if (episode === null) return null
  const recent = await options.feed.eventsOf(tenant, riskId, TIMELINE_MAX)
  const stored = await options.store.eventsOf(tenant, riskId, TIMELINE_MAX)
  const byId = new Map([...stored, ...recent].map((event) => [event.id, event]))
  const timeline = [...byId.values()].sort((a, b) => (a.id < b.id ? -1 : 1)).slice(-TIMELINE_MAX)
  return { event: latestOf(options, episode), state: episode.state, timeline }
}

/** The count of an open episode is that of now. */
function latestOf({ rules, nowMs }: SharedRiskFeedOptions, saved: SavedEpisode): RiskEvent {
  const { event, riskId, state } = saved
  if (state === 'cleared') return event
  const { tenant, type, api, attributedTo } = event
  const key = { tenant, type, api, attributedTo }
  const none = { newEventId: () => '', onEvent: () => {} }
  return new Episode({ key, rule: rules[type], riskId, saved, ...none }).latest(nowMs())
}
