/**
 * One open episode of risk: its window, its actor, its evidence, and the events that follow from them.
 *
 * Time is the time of the calls; silence is told by `evaluate`. An episode that is evaluated only long
 * after its last call (a replay) still opens before it clears.
 */

import { startEpisode, type EpisodeChanged, type EpisodeSnapshot } from './risk-episode-machine.ts'
import { severityOf, type RiskRule } from './risk-rules.ts'
import {
  QUIET_MS,
  type AttributedTo,
  type Phase,
  type RiskEvent,
  type RiskType,
  type Severity,
} from '../domain/risk.ts'
import type { SavedEpisode } from '../store/risk-checkpoint.ts'
import { createEvidence } from './evidence.ts'
import type { RiskReason } from './risk-reason.ts'
import { riskMessage } from './risk-message.ts'
import { createSlidingCount } from './sliding-count.ts'

export interface EpisodeKey {
  readonly tenant: string
  readonly type: RiskType
  readonly api: string
  readonly attributedTo: AttributedTo
}

export interface Seen {
  readonly timeMs: number
  readonly status: number
  readonly reason: RiskReason
  readonly isGrave: boolean
  readonly operation: string
  readonly requestId: string
}

export interface Episode {
  readonly key: EpisodeKey
  readonly riskId: string
  readonly lastSeenMs: number
  /** Has something that is not saved yet. */
  readonly isDirty: boolean
  readonly isCleared: boolean
  readonly severity: Severity
  see(seen: Seen): void
  /** Looks at the window as of `nowMs`; what follows goes to `onEvent`. */
  evaluate(nowMs: number): void
  /** Clears it before its time, since room is needed and it has been quiet for its window. */
  letGo(nowMs: number): void
  /** The last word, with the numbers of `nowMs`. Changes nothing. */
  latest(nowMs: number): RiskEvent
  save(): SavedEpisode
}

export interface EpisodeOptions {
  readonly key: EpisodeKey
  readonly rule: RiskRule
  readonly riskId: string
  readonly newEventId: () => string
  readonly onEvent: (event: RiskEvent) => void
  readonly saved: SavedEpisode | null
}

interface Resume {
  /** Null: nothing was told yet. */
  readonly phase: Phase | null
  readonly actor: EpisodeSnapshot
  readonly window: readonly (readonly [number, number])[]
  readonly grave?: readonly (readonly [number, number])[]
  readonly toldMs: number
  readonly toldTotal: number
  readonly changedMs: number
}

const UPDATE_EVERY_MS = 10_000

export function createEpisode({ key, rule, riskId, newEventId, onEvent, saved }: EpisodeOptions): Episode {
  const resume = saved === null ? null : (saved.resume as Resume)
  const window = createSlidingCount(rule.windowSeconds, resume?.window)
  const grave = rule.isGraded ? createSlidingCount(rule.windowSeconds, resume?.grave) : null
  const evidence = createEvidence(saved?.event.evidence)
  let { firstSeenMs, lastSeenMs, operation } = saved?.event ?? { firstSeenMs: Infinity, lastSeenMs: 0, operation: '' }
  let severity: Severity = saved?.event.severity ?? rule.base
  let phase: Phase | null = resume?.phase ?? null
  let { toldMs, toldTotal, changedMs } = resume ?? { toldMs: 0, toldTotal: 0, changedMs: 0 }
  let isDirty = saved === null
  let nowMs = lastSeenMs
  let isEarly = false
  const actor = startEpisode(rule, resume?.actor ?? null, changed)

  function changed(change: EpisodeChanged): void {
    severity = change.severity
    changedMs = nowMs
    tell(change.phase)
  }

  function tell(next: Phase): void {
    phase = next
    toldMs = nowMs
    toldTotal = evidence.total
    isDirty = true
    onEvent(toEvent(newEventId(), nowMs))
  }

  /** The actor hears of a window only where it calls for another severity than the present one. */
  function countWindow(): void {
    const count = window.at(nowMs)
    const graveCount = grave?.at(nowMs) ?? 0
    if (phase === null || severityOf(rule, count, graveCount) !== severity)
      actor.send({ type: 'window.counted', count, grave: graveCount, heldMs: nowMs - changedMs })
  }

  function toEvent(id: string, atMs: number): RiskEvent {
    const { category, windowSeconds } = rule
    const { tenant, type, api, attributedTo } = key
    const count = window.at(atMs)
    const is: Phase = phase ?? 'opened'
    return {
      id,
      riskId,
      tenant,
      phase: is,
      type,
      category,
      severity,
      attributedTo,
      api,
      operation,
      count,
      windowSeconds,
      firstSeenMs,
      lastSeenMs,
      message: riskMessage({ attributedTo, api, phase: is, count, rule, isEarly, detail: detailOf(type, operation) }),
      evidence: evidence.show(),
    }
  }

  return {
    key,
    riskId,
    get lastSeenMs() {
      return lastSeenMs
    },
    get isDirty() {
      return isDirty
    },
    get severity() {
      return severity
    },
    get isCleared() {
      return phase === 'cleared'
    },
    see(seen) {
      firstSeenMs = Math.min(firstSeenMs, seen.timeMs)
      if (seen.timeMs >= lastSeenMs) operation = seen.operation
      lastSeenMs = Math.max(lastSeenMs, seen.timeMs)
      window.add(seen.timeMs)
      if (seen.isGrave) grave?.add(seen.timeMs)
      evidence.add(seen)
      isDirty = true
    },
    evaluate(atMs) {
      if (phase === null) {
        nowMs = lastSeenMs
        countWindow()
      }
      nowMs = Math.max(nowMs, atMs)
      if (nowMs - lastSeenMs >= QUIET_MS) return actor.send({ type: 'quiet' })
      countWindow()
      if (evidence.total > toldTotal && nowMs - toldMs >= UPDATE_EVERY_MS) tell('updated')
    },
    letGo(atMs) {
      nowMs = Math.max(nowMs, atMs)
      isEarly = true
      actor.send({ type: 'quiet' })
    },
    latest: (atMs) => toEvent('', Math.max(nowMs, atMs)),
    save() {
      isDirty = false
      const state: Resume = {
        phase,
        actor: actor.snapshot(),
        window: window.toJSON(),
        ...(grave !== null && { grave: grave.toJSON() }),
        toldMs,
        toldTotal,
        changedMs,
      }
      const { tenant } = key
      return {
        riskId,
        tenant,
        state: phase === 'cleared' ? 'cleared' : 'open',
        event: toEvent('', nowMs),
        resume: state,
      }
    },
  }
}

/** The note of damaged records carries their number and time range in place of an operation. */
function detailOf(type: RiskType, operation: string): string {
  return type === 'RecordsDamaged' ? operation : ''
}
