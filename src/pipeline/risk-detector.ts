/**
 * Finds risks among call records and keeps their episodes.
 *
 * An episode is one (tenant, type, API, party). Records are looked at by their outcome alone, so that
 * good calls cost one comparison; episodes are evaluated once a batch and once a tick, so that a flood of
 * calls is never a flood of events. Bounded: beyond `episodesMax` a new party is counted in an episode
 * of `others` of its tenant, type and API, and what is Critical is never pushed out.
 */

import type { Attribution } from '../domain/attribution.ts'
import { OUTCOME_RISKS } from '../domain/risk-outcomes.ts'
import type { RiskRules } from '../domain/risk-rules.ts'
import type { AttributedTo, RiskEvent, RiskType } from '../domain/risk.ts'
import { FLAG_APPROACHING_LIMIT, OUTCOMES } from '../record/call-record.ts'
import type { RecordBatch } from '../record/record-batch.ts'
import type { SavedEpisode } from '../store/risk-checkpoint.ts'
import { createEpisode, type Episode, type EpisodeKey } from './episode.ts'

export interface RiskDetector {
  add(batch: RecordBatch): void
  /** Evaluates what has changed (or, on a tick, everything) as of the latest time seen or `nowMs`. */
  evaluate(nowMs: number, everything: boolean): void
  /** Events since the last take, in order, and episodes to save. */
  take(all: boolean): { readonly events: readonly RiskEvent[]; readonly episodes: readonly SavedEpisode[] }
  readonly hasEvents: boolean
  readonly open: Iterable<Episode>
}

export interface RiskDetectorOptions {
  readonly rules: RiskRules
  readonly newRiskId: () => string
  readonly newEventId: () => string
  readonly count: (reason: string) => void
  readonly saved: readonly SavedEpisode[]
  readonly episodesMax?: number
}

const EPISODES_MAX = 20_000
const OTHERS: AttributedTo = { kind: 'anonymous', id: 'others', name: 'Other parties' }
const ANYBODY: AttributedTo = { kind: 'anonymous', id: 'anonymous', name: 'An unknown caller' }
/** Outcome → type of risk, by position. */
const TYPES: readonly (RiskType | undefined)[] = OUTCOMES.map((outcome) => OUTCOME_RISKS[outcome])

export function createRiskDetector(options: RiskDetectorOptions): RiskDetector {
  const { rules, newRiskId, newEventId, count, saved, episodesMax = EPISODES_MAX } = options
  const episodes = new Map<string, Episode>()
  const changed = new Set<Episode>()
  let events: RiskEvent[] = []
  let cleared: SavedEpisode[] = []
  let latestMs = 0

  for (const episode of saved) {
    const { tenant, type, api, attributedTo } = episode.event
    open({ tenant, type, api, attributedTo }, episode)
  }

  function open(key: EpisodeKey, from: SavedEpisode | null): Episode {
    const episode = createEpisode({
      key,
      rule: rules[key.type],
      riskId: from?.riskId ?? newRiskId(),
      newEventId,
      onEvent: (event) => events.push(event),
      saved: from,
    })
    episodes.set(textOf(key), episode)
    return episode
  }

  function add(batch: RecordBatch): void {
    for (let index = 0; index < batch.count; index++) {
      const outcome = batch.outcome(index)
      const flags = batch.flags(index)
      if (outcome === 0 && (flags & FLAG_APPROACHING_LIMIT) === 0) continue
      // The warning comes before the breach, also where one call is both.
      if ((flags & FLAG_APPROACHING_LIMIT) !== 0) see(batch, index, 'ApproachingLimit')
      const type = TYPES[outcome]
      if (type !== undefined) see(batch, index, type)
    }
  }

  function see(batch: RecordBatch, index: number, type: RiskType): void {
    const { attribution, timeMs, status } = batch.at(index)
    latestMs = Math.max(latestMs, timeMs)
    const episode = episodeFor({
      tenant: attribution.tenant,
      type,
      api: attribution.api,
      attributedTo: partyOf(attribution),
    })
    episode.see({ timeMs, status, operation: attribution.operation, requestId: batch.requestId(index) })
    changed.add(episode)
  }

  function episodeFor(key: EpisodeKey): Episode {
    const known = episodes.get(textOf(key))
    if (known !== undefined) return known
    if (episodes.size < episodesMax) return open(key, null)
    count('episode_merged')
    const merged = { ...key, attributedTo: OTHERS }
    return episodes.get(textOf(merged)) ?? open(merged, null)
  }

  return {
    add,
    get hasEvents() {
      return events.length > 0
    },
    get open() {
      return episodes.values()
    },
    evaluate(nowMs, everything) {
      const atMs = Math.max(nowMs, latestMs)
      for (const episode of everything ? episodes.values() : changed) {
        episode.evaluate(atMs)
        if (!episode.isCleared) continue
        episodes.delete(textOf(episode.key))
        cleared.push(episode.save(atMs))
      }
      changed.clear()
    },
    take(all) {
      const taken = { events, episodes: cleared }
      events = []
      cleared = []
      const dirty = [...episodes.values()].filter(({ isDirty }) => isDirty)
      if (!all && taken.events.length === 0) return taken
      return { ...taken, episodes: [...taken.episodes, ...dirty.map((episode) => episode.save(latestMs))] }
    },
  }
}

/** Never an address: a consumer, an agent (and whom it acts for), or nobody we know. */
function partyOf({ consumer, consumerName, agent, person }: Attribution): AttributedTo {
  if (agent !== '') {
    const name = agent === consumer ? consumerName : agent
    return { kind: 'agent', id: agent, name, ...(person !== '' && { onBehalfOf: person }) }
  }
  return consumer === '' ? ANYBODY : { kind: 'consumer', id: consumer, name: consumerName }
}

function textOf({ tenant, type, api, attributedTo: { kind, id, onBehalfOf = '' } }: EpisodeKey): string {
  return JSON.stringify([tenant, type, api, kind, id, onBehalfOf])
}
