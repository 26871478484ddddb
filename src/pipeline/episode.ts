/** One open episode of risk: its window, its actor, its evidence, and the events that follow from them. */

import { startEpisode, type EpisodeActor, type EpisodeChanged } from '../actors/risk-episode.ts'
import { QUIET_MS, type RiskRule } from '../domain/risk-rules.ts'
import type { AttributedTo, Phase, RiskEvent, RiskType, Severity } from '../domain/risk.ts'
import type { SavedEpisode } from '../store/risk-checkpoint.ts'
import { createSlidingCount, type SlidingCount } from './sliding-count.ts'

export interface EpisodeKey {
  readonly tenant: string
  readonly type: RiskType
  readonly api: string
  readonly attributedTo: AttributedTo
}

export interface Seen {
  readonly timeMs: number
  readonly status: number
  readonly operation: string
  readonly requestId: string
}

export interface Episode {
  readonly key: EpisodeKey
  readonly riskId: string
  readonly lastSeenMs: number
  readonly severity: Severity
  /** Has something that is not saved yet. */
  readonly isDirty: boolean
  readonly isCleared: boolean
  see(seen: Seen): void
  /** Looks at the window as of `nowMs`; events go to `onEvent`. */
  evaluate(nowMs: number): void
  /** The last word, with present numbers. */
  latest(nowMs: number): RiskEvent
  save(nowMs: number): SavedEpisode
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
  readonly actor: unknown
  readonly window: readonly (readonly [number, number])[]
  readonly toldMs: number
  readonly toldTotal: number
}

const UPDATE_EVERY_MS = 10_000
const REQUEST_IDS_MAX = 5
const NAMES_MAX = 50

export function createEpisode(options: EpisodeOptions): Episode {
  const { key, rule, riskId, newEventId, onEvent, saved } = options
  const resume = saved === null ? null : (saved.resume as Resume)
  const window: SlidingCount = createSlidingCount(rule.windowSeconds, resume?.window)
  const { total: savedTotal = 0, statuses = {}, operations = {}, requestIds = [] } = saved?.event.evidence ?? {}
  let total = savedTotal
  const byStatus = new Map(Object.entries(statuses))
  const byOperation = new Map(Object.entries(operations))
  let latestIds = [...requestIds]
  let firstSeenMs = saved?.event.firstSeenMs ?? 0
  let lastSeenMs = saved?.event.lastSeenMs ?? 0
  let operation = saved?.event.operation ?? ''
  let severity: Severity = saved?.event.severity ?? rule.base
  let phase: Phase = saved?.event.phase ?? 'opened'
  let toldMs = resume?.toldMs ?? 0
  let toldTotal = resume?.toldTotal ?? 0
  let isDirty = saved === null
  let nowMs = lastSeenMs
  const actor: EpisodeActor = startEpisode(rule, resume?.actor ?? null, changed)

  function changed(change: EpisodeChanged): void {
    severity = change.severity
    tell(change.phase)
  }

  function tell(next: Phase): void {
    phase = next
    toldMs = nowMs
    toldTotal = total
    isDirty = true
    onEvent(toEvent(newEventId()))
  }

  function toEvent(id: string): RiskEvent {
    const { category, windowSeconds, phrase } = rule
    const { tenant, type, api, attributedTo } = key
    const count = window.at(nowMs)
    return {
      id,
      riskId,
      tenant,
      phase,
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
      message: messageOf(attributedTo, phrase, api, phase, count, windowSeconds),
      evidence: {
        total,
        statuses: Object.fromEntries(byStatus),
        operations: Object.fromEntries(byOperation),
        requestIds: latestIds,
      },
    }
  }

  return {
    key,
    riskId,
    get lastSeenMs() {
      return lastSeenMs
    },
    get severity() {
      return severity
    },
    get isDirty() {
      return isDirty
    },
    get isCleared() {
      return phase === 'cleared'
    },
    see(seen) {
      total++
      if (total === 1) firstSeenMs = seen.timeMs
      lastSeenMs = Math.max(lastSeenMs, seen.timeMs)
      operation = seen.operation
      window.add(seen.timeMs)
      bump(byStatus, String(seen.status))
      bump(byOperation, seen.operation)
      latestIds = [...latestIds.slice(1 - REQUEST_IDS_MAX), seen.requestId]
      isDirty = true
    },
    evaluate(atMs) {
      nowMs = Math.max(nowMs, atMs)
      if (nowMs - lastSeenMs >= QUIET_MS) return actor.send({ type: 'quiet' })
      actor.send({ type: 'window.counted', count: window.at(nowMs) })
      if (total > toldTotal && nowMs - toldMs >= UPDATE_EVERY_MS) tell('updated')
    },
    latest: (atMs) => {
      nowMs = Math.max(nowMs, atMs)
      return toEvent('')
    },
    save() {
      isDirty = false
      const state: Resume = { actor: actor.snapshot(), window: window.toJSON(), toldMs, toldTotal }
      return {
        riskId,
        tenant: key.tenant,
        state: phase === 'cleared' ? 'cleared' : 'open',
        event: toEvent(''),
        resume: state,
      }
    },
  }
}

function bump(counts: Map<string, number>, name: string): void {
  if (!counts.has(name) && counts.size >= NAMES_MAX) return
  counts.set(name, (counts.get(name) ?? 0) + 1)
}

function messageOf(
  by: AttributedTo,
  phrase: string,
  api: string,
  phase: Phase,
  count: number,
  seconds: number,
): string {
  const who = by.onBehalfOf === undefined ? by.name : `${by.name}, acting for ${by.onBehalfOf},`
  if (phase === 'cleared') return `${who} has been quiet at ${api} for five minutes.`
  return `${who} ${phrase} at ${api}: ${count} in the last ${seconds} s.`
}
