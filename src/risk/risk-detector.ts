/**
 * Finds risks among call records and keeps their episodes.
 *
 * Records are looked at by their outcome alone, so that a good call costs one comparison. Episodes are
 * evaluated once a batch and once a second of the calls' own time, so that a flood of calls is never a
 * flood of events, and a replay of an hour tells what the hour told. Silence is told by the clock, and
 * only by somebody who knows that nothing is left to read.
 */

import { QUIET_MS, RISK_TYPES, type RiskEvent, type RiskType } from '../domain/risk.ts'
import { OUTCOME_TABLE, type OutcomeRisk } from '../domain/outcome.ts'
import { FLAG_APPROACHING_LIMIT, FLAG_PAST_RETIREMENT } from '../record/call-record.ts'
import type { RecordBatch } from '../record/record-batch.ts'
import type { SavedEpisode } from '../store/risk-checkpoint.ts'
import type { RiskReason } from './risk-reason.ts'
import { createEpisodeBoard, type EpisodeBoardOptions } from './open-episodes.ts'
import type { Episode, EpisodeKey, Seen } from './episode.ts'
import { partyOf, providerOf } from './attributed-party.ts'

export interface RiskDetector {
  add(batch: RecordBatch): void
  /** What no single call shows. */
  tell(key: EpisodeKey, seen: Seen): void
  /** Looks at the episodes that changed, each as of its latest call. */
  evaluate(): void
  /** Looks at every episode as of `nowMs`. */
  calm(nowMs: number): void
  /** Events since the last take, in order, and the episodes that changed since. */
  take(): Taken
  readonly hasEvents: boolean
  readonly open: Iterable<Episode>
}

export interface Taken {
  readonly events: readonly RiskEvent[]
  readonly episodes: readonly SavedEpisode[]
}

export type RiskDetectorOptions = Omit<EpisodeBoardOptions, 'onEvent' | 'onLetGo'>

const STEP_MS = 1_000
const SEGMENTS_MAX = 64
const RISKY_FLAGS = FLAG_APPROACHING_LIMIT | FLAG_PAST_RETIREMENT
const APPROACHING_LIMIT: OutcomeRisk = { type: 'ApproachingLimit', isGrave: false, attributedTo: 'caller' }
const PAST_RETIREMENT: OutcomeRisk = { type: 'DeprecatedVersionInUse', isGrave: false, attributedTo: 'caller' }

export function createRiskDetector(options: RiskDetectorOptions): RiskDetector {
  let events: RiskEvent[] = []
  let cleared: SavedEpisode[] = []
  const board = createEpisodeBoard({ ...options, onEvent: (event) => events.push(event), onLetGo: letGo })
  /** By segment: the episode of an attribution and type, so that a flood needs no text. */
  const known = new Map<number, Episode[]>()
  const changed = new Set<Episode>()
  const dirty = new Set<Episode>()
  let steppedMs = 0

  function add(batch: RecordBatch): void {
    const { count } = batch
    for (let index = 0; index < count; index++) {
      const outcome = batch.outcome(index)
      const flags = batch.flags(index) & RISKY_FLAGS
      if (outcome === 0 && flags === 0) continue
      // The warning comes before the breach, also where one call is both.
      if ((flags & FLAG_APPROACHING_LIMIT) !== 0) see(batch, index, APPROACHING_LIMIT, 'approaching_limit')
      if ((flags & FLAG_PAST_RETIREMENT) !== 0) see(batch, index, PAST_RETIREMENT, 'past_retirement')
      const row = OUTCOME_TABLE[outcome]
      if (row === undefined || row.risk === 'none') continue
      if (row.risk.attributedTo === 'verified' && !isVerified(batch, index)) continue
      see(batch, index, row.risk, row.name)
    }
  }

  function see(batch: RecordBatch, index: number, risk: OutcomeRisk, reason: RiskReason): void {
    const timeMs = batch.timeMs(index)
    if (timeMs - steppedMs >= STEP_MS) {
      evaluate()
      steppedMs = timeMs
    }
    const episode = episodeOf(batch, index, risk.type, timeMs, risk.attributedTo === 'provider')
    const { operation } = batch.attributions[batch.attributionId(index)]!
    const { isGrave } = risk
    episode.see({ timeMs, status: batch.status(index), reason, isGrave, operation, requestId: batch.requestId(index) })
    changed.add(episode)
  }

  function episodeOf(batch: RecordBatch, index: number, type: RiskType, timeMs: number, isProvider: boolean): Episode {
    const id = batch.attributionId(index)
    let ofSegment = known.get(batch.segmentKey)
    if (ofSegment === undefined) {
      if (known.size >= SEGMENTS_MAX) known.clear()
      known.set(batch.segmentKey, (ofSegment = []))
    }
    const slot = (id * RISK_TYPES.length + RISK_TYPES.indexOf(type)) * 2 + (isProvider ? 1 : 0)
    let episode = ofSegment[slot]
    if (episode === undefined || episode.isCleared || timeMs - episode.lastSeenMs >= QUIET_MS) {
      const attribution = batch.attributions[id]!
      const { tenant, api } = attribution
      const attributedTo = isProvider ? providerOf(tenant) : partyOf(attribution)
      episode = freshFor({ tenant, type, api, attributedTo }, timeMs)
      ofSegment[slot] = episode
    }
    return episode
  }

  /** What was quiet for long enough by the time of this call is over, and this call begins another. */
  function freshFor(key: EpisodeKey, timeMs: number): Episode {
    const episode = board.for(key, timeMs)
    if (episode.lastSeenMs === 0 || timeMs - episode.lastSeenMs < QUIET_MS) return episode
    look(episode, timeMs)
    return board.for(key, timeMs)
  }

  function letGo(episode: Episode): void {
    dirty.delete(episode)
    changed.delete(episode)
    cleared.push(episode.save())
  }

  function look(episode: Episode, atMs: number): void {
    episode.evaluate(atMs)
    if (episode.isCleared) {
      board.remove(episode)
      letGo(episode)
    } else if (episode.isDirty) dirty.add(episode)
  }

  function evaluate(): void {
    // Not as of the latest call of all: a clock that was set back must not make everything look long past.
    for (const episode of changed) look(episode, episode.lastSeenMs)
    changed.clear()
  }

  return {
    add,
    tell(key, seen) {
      const episode = freshFor(key, seen.timeMs)
      episode.see(seen)
      changed.add(episode)
    },
    evaluate,
    calm(nowMs) {
      for (const episode of board.open) look(episode, nowMs)
      changed.clear()
    },
    take() {
      evaluate()
      const taken = { events, episodes: [...cleared, ...[...dirty].map((episode) => episode.save())] }
      events = []
      cleared = []
      dirty.clear()
      return taken
    },
    get hasEvents() {
      return events.length > 0
    },
    get open() {
      return board.open
    },
  }
}

function isVerified(batch: RecordBatch, index: number): boolean {
  return batch.attributions[batch.attributionId(index)]!.consumer !== ''
}
