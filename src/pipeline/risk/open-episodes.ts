/**
 * Open risk episodes, by tenant, type, API and attributed party.
 *
 * Bounded in total and by tenant. At the bound, a new episode replaces one that has been quiet for its window, which is
 * cleared early. If there is none, the occurrence is counted in an episode of `others` of the same tenant, type and API. A
 * Critical episode is never evicted, and the bound by tenant leaves room for other tenants.
 */

import type { RiskRules } from './risk-rules.ts'
import type { CountEvent } from '../../foundation/runtime/event-reasons.ts'
import type { RiskEvent } from '../../foundation/domain/risk.ts'
import type { SavedEpisode } from '../../storage/store/risk-checkpoint.ts'
import { Episode, textOf, type EpisodeKey } from './episode.ts'
import { OTHERS } from './attributed-party.ts'

export interface OpenEpisodesOptions {
  readonly rules: RiskRules
  readonly newRiskId: () => string
  readonly newEventId: () => string
  readonly onEvent: (event: RiskEvent) => void
  readonly count: CountEvent
  /** Called after an episode was cleared early to make room. */
  readonly onEvicted: (episode: Episode) => void
  readonly saved: readonly SavedEpisode[]
  readonly episodesMax?: number
  readonly tenantEpisodesMax?: number
}

const EPISODES_MAX = 50_000
const TENANT_EPISODES_MAX = 10_000
/** Episodes that are examined to make room for one. The next search continues there. */
const EXAMINED_MAX = 16

export class OpenEpisodes {
  readonly #options: OpenEpisodesOptions
  readonly #episodes = new Map<string, Episode>()
  readonly #countByTenant = new Map<string, number>()
  readonly #episodesMax: number
  readonly #tenantEpisodesMax: number
  #search = this.#episodes.values()

  constructor(options: OpenEpisodesOptions) {
    this.#options = options
    this.#episodesMax = options.episodesMax ?? EPISODES_MAX
    this.#tenantEpisodesMax = options.tenantEpisodesMax ?? TENANT_EPISODES_MAX
    for (const saved of options.saved) {
      const { tenant, type, api, attributedTo } = saved.event
      this.#open({ tenant, type, api, attributedTo }, saved)
    }
  }

  get all(): Iterable<Episode> {
    return this.#episodes.values()
  }

  /** Returns the episode of `key`, and opens it as of `nowMs` if there is none. */
  getOrOpen(key: EpisodeKey, nowMs: number): Episode {
    const known = this.#episodes.get(textOf(key))
    if (known !== undefined) return known
    if (this.#hasRoom(key.tenant) || this.#makeRoom(key.tenant, nowMs)) return this.#open(key, null)
    this.#options.count('risk_episode_merged')
    const merged = { ...key, attributedTo: OTHERS }
    return this.#episodes.get(textOf(merged)) ?? this.#open(merged, null)
  }

  remove({ key }: Episode): void {
    if (!this.#episodes.delete(textOf(key))) return
    const left = this.#countOf(key.tenant) - 1
    if (left > 0) this.#countByTenant.set(key.tenant, left)
    else this.#countByTenant.delete(key.tenant)
  }

  #open(key: EpisodeKey, saved: SavedEpisode | null): Episode {
    const { rules, newRiskId, newEventId, onEvent } = this.#options
    const riskId = saved?.riskId ?? newRiskId()
    const episode = new Episode({ key, rule: rules[key.type], riskId, newEventId, onEvent, saved })
    this.#episodes.set(textOf(key), episode)
    this.#countByTenant.set(key.tenant, this.#countOf(key.tenant) + 1)
    return episode
  }

  #hasRoom(tenant: string): boolean {
    return this.#episodes.size < this.#episodesMax && this.#countOf(tenant) < this.#tenantEpisodesMax
  }

  /** Evicts one quiet episode; of `tenant` itself if that tenant is at its bound. Returns whether it found one. */
  #makeRoom(tenant: string, nowMs: number): boolean {
    const isTenantFull = this.#countOf(tenant) >= this.#tenantEpisodesMax
    for (let examined = 0; examined < EXAMINED_MAX; examined++) {
      const { value: episode, done: isDone } = this.#search.next()
      if (isDone === true) this.#search = this.#episodes.values()
      else if ((!isTenantFull || episode.key.tenant === tenant) && this.#mayEvict(episode, nowMs)) {
        this.#evict(episode, nowMs)
        return true
      }
    }
    return false
  }

  #mayEvict({ key, severity, lastSeenMs }: Episode, nowMs: number): boolean {
    const { windowSeconds } = this.#options.rules[key.type]
    return severity !== 'Critical' && nowMs - lastSeenMs >= windowSeconds * 1_000
  }

  #evict(episode: Episode, nowMs: number): void {
    this.#options.count('risk_episode_let_go')
    episode.evict(nowMs)
    this.remove(episode)
    this.#options.onEvicted(episode)
  }

  #countOf(tenant: string): number {
    return this.#countByTenant.get(tenant) ?? 0
  }
}
