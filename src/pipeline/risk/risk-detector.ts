/**
 * Detects risks in call records, and groups repeated occurrences of a risk into episodes.
 *
 * Episodes are evaluated once per batch, and once per second by the times of the records: a flood of calls does not become a flood of events, and
 * a replay emits the same events as the first reading. Whether an episode has become quiet is checked against the clock, but only
 * when the whole spool is read.
 */

import type { OutcomeRisk } from '../../foundation/domain/outcome.ts'
import { QUIET_MS, RISK_TYPES, type RiskEvent } from '../../foundation/domain/risk.ts'
import type { RecordBatch } from '../../storage/spool/record-batch.ts'
import type { SavedEpisode } from '../../storage/store/risk-checkpoint.ts'
import type { RiskSignal } from '../../storage/store/shared-risks.ts'
import type { RiskReason } from './risk-reason.ts'
import { forEachRisk } from './risky-calls.ts'
import { OpenEpisodes, type OpenEpisodesOptions } from './open-episodes.ts'
import type { Episode, EpisodeKey, RiskOccurrence } from './episode.ts'
import { attributedPartyOf, providerOf } from './attributed-party.ts'

export type RiskDetectorOptions = Omit<OpenEpisodesOptions, 'onEvent' | 'onEvicted'>

/** Events and episodes that changed since the last `take`. */
export interface DetectedChanges {
  /** In the order in which they were emitted. */
  readonly events: readonly RiskEvent[]
  readonly episodes: readonly SavedEpisode[]
}

const EVALUATE_EVERY_MS = 1_000
const SEGMENTS_MAX = 64

export class RiskDetector {
  readonly #episodes: OpenEpisodes
  /** Episodes by segment, then by a number made of attribution, type and party, which avoids building a string for each call. */
  readonly #bySegment = new Map<number, Episode[]>()
  /** Episodes with an occurrence since they were evaluated. */
  readonly #toEvaluate = new Set<Episode>()
  /** Episodes to save. */
  readonly #toSave = new Set<Episode>()
  #events: RiskEvent[] = []
  #cleared: SavedEpisode[] = []
  #evaluatedMs = 0

  constructor(options: RiskDetectorOptions) {
    this.#episodes = new OpenEpisodes({
      ...options,
      onEvent: (event) => void this.#events.push(event),
      onEvicted: (episode) => this.#close(episode),
    })
  }

  get hasEvents(): boolean {
    return this.#events.length > 0
  }

  get openEpisodes(): Iterable<Episode> {
    return this.#episodes.all
  }

  add(batch: RecordBatch): void {
    forEachRisk(batch, this.#addCall)
  }

  /** Adds what another process has counted. `isLate`: it was counted long after its calls. */
  addSignal({ seconds, ...signal }: RiskSignal, isLate: boolean): void {
    const { tenant, type, api, attributedTo } = signal
    const episode = this.#currentEpisode({ tenant, type, api, attributedTo }, signal.firstMs)
    episode.addSummary(signal, isLate)
    for (const [index, [second, count, grave]] of seconds.entries()) {
      const isLast = index === seconds.length - 1
      const timeMs = isLast ? signal.lastMs : second * 1_000 + 999
      episode.addCounts(timeMs, count, grave)
      // As if the calls had been read one by one: the window of an earlier second may be worse than that of the last one.
      if (!isLast) this.#evaluate(episode, timeMs)
    }
    this.#toEvaluate.add(episode)
  }

  /** Adds an occurrence of a risk that is visible only across several calls. */
  addOccurrence(key: EpisodeKey, occurrence: RiskOccurrence): void {
    const episode = this.#currentEpisode(key, occurrence.timeMs)
    episode.add(occurrence)
    this.#toEvaluate.add(episode)
  }

  /** Evaluates the episodes that changed, each as of its latest call. */
  evaluateChanged(): void {
    // If the clock was set back, the latest call of all would make every episode look old.
    for (const episode of this.#toEvaluate) this.#evaluate(episode, episode.lastSeenMs)
    this.#toEvaluate.clear()
  }

  /** Evaluates every episode as of `nowMs`. */
  evaluateAll(nowMs: number): void {
    for (const episode of this.#episodes.all) this.#evaluate(episode, nowMs)
    this.#toEvaluate.clear()
  }

  take(): DetectedChanges {
    this.evaluateChanged()
    const episodes = [...this.#cleared, ...[...this.#toSave].map((episode) => episode.save())]
    const changes = { events: this.#events, episodes }
    this.#events = []
    this.#cleared = []
    this.#toSave.clear()
    return changes
  }

  readonly #addCall = (batch: RecordBatch, index: number, risk: OutcomeRisk, reason: RiskReason): void => {
    const timeMs = batch.timeMs(index)
    if (timeMs - this.#evaluatedMs >= EVALUATE_EVERY_MS) {
      this.evaluateChanged()
      this.#evaluatedMs = timeMs
    }
    const episode = this.#episodeOf(batch, index, risk, timeMs)
    const { operation, channel } = batch.attributions[batch.attributionId(index)]!
    const { isGrave } = risk
    const [status, requestId] = [batch.status(index), batch.requestId(index)]
    episode.add({ timeMs, status, reason, isGrave, operation, requestId, channel })
    this.#toEvaluate.add(episode)
  }

  #episodeOf(batch: RecordBatch, index: number, { type, attributedTo }: OutcomeRisk, timeMs: number): Episode {
    const isProvider = attributedTo === 'provider'
    const id = batch.attributionId(index)
    const episodes = this.#episodesOfSegment(batch.segmentKey)
    const slot = (id * RISK_TYPES.length + RISK_TYPES.indexOf(type)) * 2 + (isProvider ? 1 : 0)
    const episode = episodes[slot]
    if (episode !== undefined && !episode.isCleared && timeMs - episode.lastSeenMs < QUIET_MS) return episode
    const attribution = batch.attributions[id]!
    const { tenant, api } = attribution
    const party = isProvider ? providerOf(tenant) : attributedPartyOf(attribution)
    return (episodes[slot] = this.#currentEpisode({ tenant, type, api, attributedTo: party }, timeMs))
  }

  #episodesOfSegment(segment: number): Episode[] {
    let episodes = this.#bySegment.get(segment)
    if (episodes === undefined) {
      if (this.#bySegment.size >= SEGMENTS_MAX) this.#bySegment.clear()
      this.#bySegment.set(segment, (episodes = []))
    }
    return episodes
  }

  /** Returns the open episode. If it has been quiet for `QUIET_MS` at `timeMs`, clears it and opens a new one. */
  #currentEpisode(key: EpisodeKey, timeMs: number): Episode {
    const episode = this.#episodes.getOrOpen(key, timeMs)
    if (episode.lastSeenMs === 0 || timeMs - episode.lastSeenMs < QUIET_MS) return episode
    this.#evaluate(episode, timeMs)
    return this.#episodes.getOrOpen(key, timeMs)
  }

  #evaluate(episode: Episode, atMs: number): void {
    episode.evaluate(atMs)
    if (episode.isCleared) {
      this.#episodes.remove(episode)
      this.#close(episode)
    } else if (episode.isDirty) this.#toSave.add(episode)
  }

  #close(episode: Episode): void {
    this.#toSave.delete(episode)
    this.#toEvaluate.delete(episode)
    this.#cleared.push(episode.save())
  }
}
