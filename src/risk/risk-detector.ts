/**
 * Detects risks in call records and keeps their episodes.
 *
 * A record is examined by its outcome and flags alone, so that a served call costs one comparison. Episodes are evaluated
 * once per batch and once per second of call time: a flood of calls does not become a flood of events, and a replay emits the
 * same events as the first reading. Silence is evaluated by the clock, and only after the whole spool is read.
 */

import { OUTCOME_TABLE, RISK_FLAGS, type OutcomeRisk } from '../domain/outcome.ts'
import { QUIET_MS, RISK_TYPES, type RiskEvent } from '../domain/risk.ts'
import type { RecordBatch } from '../record/record-batch.ts'
import type { SavedEpisode } from '../store/risk-checkpoint.ts'
import type { RiskReason } from './risk-reason.ts'
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
const FLAGS = Object.entries(RISK_FLAGS).map(([reason, flag]) => ({
  reason: reason as keyof typeof RISK_FLAGS,
  ...flag,
}))
const RISKY_FLAGS = FLAGS.reduce((bits, { bit }) => bits | bit, 0)

export class RiskDetector {
  readonly #episodes: OpenEpisodes
  /** Episodes by segment, attribution and type, so that a flood of calls builds no text keys. */
  readonly #bySegment = new Map<number, Episode[]>()
  /** Episodes with an occurrence since they were evaluated. */
  readonly #changed = new Set<Episode>()
  /** Episodes to save. */
  readonly #dirty = new Set<Episode>()
  #events: RiskEvent[] = []
  #cleared: SavedEpisode[] = []
  #evaluatedMs = 0

  constructor(options: RiskDetectorOptions) {
    this.#episodes = new OpenEpisodes({
      ...options,
      onEvent: (event) => void this.#events.push(event),
      onEvicted: (episode) => this.#drop(episode),
    })
  }

  get hasEvents(): boolean {
    return this.#events.length > 0
  }

  get open(): Iterable<Episode> {
    return this.#episodes.all
  }

  add(batch: RecordBatch): void {
    const { count } = batch
    for (let index = 0; index < count; index++) {
      const outcome = batch.outcome(index)
      const flags = batch.flags(index) & RISKY_FLAGS
      if (outcome === 0 && flags === 0) continue
      if (flags !== 0) {
        for (const { bit, risk, reason } of FLAGS) if ((flags & bit) !== 0) this.#addCall(batch, index, risk, reason)
      }
      const row = OUTCOME_TABLE[outcome]
      if (row === undefined || row.risk === 'none') continue
      if (row.risk.attributedTo === 'verified' && !isVerified(batch, index)) continue
      this.#addCall(batch, index, row.risk, row.name)
    }
  }

  /** Adds a risk that no single call shows. */
  addOccurrence(key: EpisodeKey, occurrence: RiskOccurrence): void {
    const episode = this.#currentEpisode(key, occurrence.timeMs)
    episode.add(occurrence)
    this.#changed.add(episode)
  }

  /** Evaluates the episodes that changed, each as of its latest call. */
  evaluateChanged(): void {
    // As of its own latest call: after a clock was set back, the latest call of all would make every episode look old.
    for (const episode of this.#changed) this.#evaluate(episode, episode.lastSeenMs)
    this.#changed.clear()
  }

  /** Evaluates every episode as of `nowMs`. */
  evaluateAll(nowMs: number): void {
    for (const episode of this.#episodes.all) this.#evaluate(episode, nowMs)
    this.#changed.clear()
  }

  take(): DetectedChanges {
    this.evaluateChanged()
    const episodes = [...this.#cleared, ...[...this.#dirty].map((episode) => episode.save())]
    const changes = { events: this.#events, episodes }
    this.#events = []
    this.#cleared = []
    this.#dirty.clear()
    return changes
  }

  #addCall(batch: RecordBatch, index: number, risk: OutcomeRisk, reason: RiskReason): void {
    const timeMs = batch.timeMs(index)
    if (timeMs - this.#evaluatedMs >= EVALUATE_EVERY_MS) {
      this.evaluateChanged()
      this.#evaluatedMs = timeMs
    }
    const episode = this.#episodeOf(batch, index, risk, timeMs)
    const { operation } = batch.attributions[batch.attributionId(index)]!
    const { isGrave } = risk
    episode.add({ timeMs, status: batch.status(index), reason, isGrave, operation, requestId: batch.requestId(index) })
    this.#changed.add(episode)
  }

  #episodeOf(batch: RecordBatch, index: number, { type, attributedTo }: OutcomeRisk, timeMs: number): Episode {
    const isProvider = attributedTo === 'provider'
    const id = batch.attributionId(index)
    const known = this.#knownIn(batch.segmentKey)
    const slot = (id * RISK_TYPES.length + RISK_TYPES.indexOf(type)) * 2 + (isProvider ? 1 : 0)
    const episode = known[slot]
    if (episode !== undefined && !episode.isCleared && timeMs - episode.lastSeenMs < QUIET_MS) return episode
    const attribution = batch.attributions[id]!
    const { tenant, api } = attribution
    const party = isProvider ? providerOf(tenant) : attributedPartyOf(attribution)
    return (known[slot] = this.#currentEpisode({ tenant, type, api, attributedTo: party }, timeMs))
  }

  #knownIn(segment: number): Episode[] {
    let known = this.#bySegment.get(segment)
    if (known === undefined) {
      if (this.#bySegment.size >= SEGMENTS_MAX) this.#bySegment.clear()
      this.#bySegment.set(segment, (known = []))
    }
    return known
  }

  /** Returns the open episode. One that was quiet for long enough by `timeMs` is cleared first, and a new one opens. */
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
      this.#drop(episode)
    } else if (episode.isDirty) this.#dirty.add(episode)
  }

  #drop(episode: Episode): void {
    this.#dirty.delete(episode)
    this.#changed.delete(episode)
    this.#cleared.push(episode.save())
  }
}

function isVerified(batch: RecordBatch, index: number): boolean {
  return batch.attributions[batch.attributionId(index)]!.consumer !== ''
}
