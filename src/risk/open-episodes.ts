/**
 * The episodes that are open, by (tenant, type, API, party).
 *
 * Bounded, in all and by tenant. A newcomer beyond the bound takes the place of one that has been quiet for
 * its window, which is cleared before its time; where there is none it is counted in an episode of `others`
 * of its tenant, type and API. What is Critical never gives way, and one tenant's crowd leaves room for the
 * parties of others.
 */

import type { RiskRules } from './risk-rules.ts'
import type { RiskEvent } from '../domain/risk.ts'
import type { SavedEpisode } from '../store/risk-checkpoint.ts'
import { createEpisode, type Episode, type EpisodeKey } from './episode.ts'
import { OTHERS } from './attributed-party.ts'
import type { CountEvent } from '../runtime/event-reasons.ts'

export interface EpisodeBoardOptions {
  readonly rules: RiskRules
  readonly newRiskId: () => string
  readonly newEventId: () => string
  readonly onEvent: (event: RiskEvent) => void
  readonly count: CountEvent
  /** An episode was cleared to make room. */
  readonly onLetGo: (episode: Episode) => void
  readonly saved: readonly SavedEpisode[]
  readonly episodesMax?: number
  readonly tenantEpisodesMax?: number
}

export interface EpisodeBoard {
  /** The open episode of `key`, opened where there is none as of `nowMs`. */
  for(key: EpisodeKey, nowMs: number): Episode
  remove(episode: Episode): void
  readonly open: Iterable<Episode>
}

const EPISODES_MAX = 50_000
const TENANT_EPISODES_MAX = 10_000
/** How many are looked at for one newcomer; the next newcomer goes on from there. */
const LOOKS_MAX = 16

export function createEpisodeBoard(options: EpisodeBoardOptions): EpisodeBoard {
  const { rules, newRiskId, newEventId, onEvent, onLetGo, count, saved } = options
  const { episodesMax = EPISODES_MAX, tenantEpisodesMax = TENANT_EPISODES_MAX } = options
  const episodes = new Map<string, Episode>()
  const byTenant = new Map<string, number>()
  let search = episodes.values()

  for (const episode of saved) {
    const { tenant, type, api, attributedTo } = episode.event
    open({ tenant, type, api, attributedTo }, episode)
  }

  function open(key: EpisodeKey, from: SavedEpisode | null): Episode {
    const rule = rules[key.type]
    const riskId = from?.riskId ?? newRiskId()
    const episode = createEpisode({ key, rule, riskId, newEventId, onEvent, saved: from })
    episodes.set(textOf(key), episode)
    byTenant.set(key.tenant, (byTenant.get(key.tenant) ?? 0) + 1)
    return episode
  }

  /** Makes room for an episode of `tenant` where it can. */
  function makeRoom(tenant: string, nowMs: number): boolean {
    const isOwn = (byTenant.get(tenant) ?? 0) >= tenantEpisodesMax
    for (let looks = 0; looks < LOOKS_MAX; looks++) {
      const { value: episode, done } = search.next()
      if (done === true) {
        search = episodes.values()
        continue
      }
      if (isOwn && episode.key.tenant !== tenant) continue
      const { windowSeconds } = rules[episode.key.type]
      if (episode.severity === 'Critical' || nowMs - episode.lastSeenMs < windowSeconds * 1_000) continue
      count('risk_episode_let_go')
      episode.letGo(nowMs)
      remove(episode)
      onLetGo(episode)
      return true
    }
    return false
  }

  function remove({ key }: Episode): void {
    if (!episodes.delete(textOf(key))) return
    const left = (byTenant.get(key.tenant) ?? 0) - 1
    if (left > 0) byTenant.set(key.tenant, left)
    else byTenant.delete(key.tenant)
  }

  function hasRoom(tenant: string): boolean {
    return episodes.size < episodesMax && (byTenant.get(tenant) ?? 0) < tenantEpisodesMax
  }

  return {
    for(key, nowMs) {
      const known = episodes.get(textOf(key))
      if (known !== undefined) return known
      if (hasRoom(key.tenant) || makeRoom(key.tenant, nowMs)) return open(key, null)
      count('risk_episode_merged')
      const merged = { ...key, attributedTo: OTHERS }
      return episodes.get(textOf(merged)) ?? open(merged, null)
    },
    remove,
    get open() {
      return episodes.values()
    },
  }
}

function textOf({ tenant, type, api, attributedTo: { kind, id, onBehalfOf = '' } }: EpisodeKey): string {
  return JSON.stringify([tenant, type, api, kind, id, onBehalfOf])
}
