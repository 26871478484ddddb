/**
 * The episodes that are open, by (tenant, type, API, party).
 *
 * Bounded, in all and by tenant: a newcomer beyond the bound is counted in an episode of `others` of its
 * tenant, type and API, and one tenant's crowd leaves room for the parties of others. What is open is
 * never pushed out, whatever its severity.
 */

import type { RiskRules } from '../domain/risk-rules.ts'
import type { RiskEvent } from '../domain/risk.ts'
import type { SavedEpisode } from '../store/risk-checkpoint.ts'
import { createEpisode, type Episode, type EpisodeKey } from './episode.ts'
import { OTHERS } from './party.ts'

export interface EpisodeBoardOptions {
  readonly rules: RiskRules
  readonly newRiskId: () => string
  readonly newEventId: () => string
  readonly onEvent: (event: RiskEvent) => void
  readonly count: (reason: string) => void
  readonly saved: readonly SavedEpisode[]
  readonly episodesMax?: number
  readonly tenantEpisodesMax?: number
}

export interface EpisodeBoard {
  /** The open episode of `key`, opened where there is none. */
  for(key: EpisodeKey): Episode
  remove(episode: Episode): void
  readonly open: Iterable<Episode>
}

const EPISODES_MAX = 50_000
const TENANT_EPISODES_MAX = 10_000

export function createEpisodeBoard(options: EpisodeBoardOptions): EpisodeBoard {
  const { rules, newRiskId, newEventId, onEvent, count, saved } = options
  const { episodesMax = EPISODES_MAX, tenantEpisodesMax = TENANT_EPISODES_MAX } = options
  const episodes = new Map<string, Episode>()
  const byTenant = new Map<string, number>()

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

  function hasRoom(tenant: string): boolean {
    return episodes.size < episodesMax && (byTenant.get(tenant) ?? 0) < tenantEpisodesMax
  }

  return {
    for(key) {
      const known = episodes.get(textOf(key))
      if (known !== undefined) return known
      if (hasRoom(key.tenant)) return open(key, null)
      count('risk_episode_merged')
      const merged = { ...key, attributedTo: OTHERS }
      return episodes.get(textOf(merged)) ?? open(merged, null)
    },
    remove({ key }) {
      if (!episodes.delete(textOf(key))) return
      const left = (byTenant.get(key.tenant) ?? 0) - 1
      if (left > 0) byTenant.set(key.tenant, left)
      else byTenant.delete(key.tenant)
    },
    get open() {
      return episodes.values()
    },
  }
}

function textOf({ tenant, type, api, attributedTo: { kind, id, onBehalfOf = '' } }: EpisodeKey): string {
  return JSON.stringify([tenant, type, api, kind, id, onBehalfOf])
}
