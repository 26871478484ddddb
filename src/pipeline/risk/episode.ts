/**
 * One open risk episode: its sliding window, its severity, its evidence, and the events that it emits.
 *
 * Time is the time of the calls; `evaluate` advances it, also past silence. An episode that is first evaluated long after
 * its last call (a replay) still opens before it clears.
 */

import { changeOnQuiet, changeOnWindow, stateAfter, type EpisodeChange, type EpisodeState } from './episode-severity.ts'
import { severityOf, type RiskRule } from './risk-rules.ts'
import {
  QUIET_MS,
  type AttributedTo,
  type Phase,
  type RiskEvent,
  type RiskEvidence,
  type RiskType,
  type Severity,
} from '../../foundation/domain/risk.ts'
import type { SavedEpisode } from '../../storage/store/risk-checkpoint.ts'
import { createEvidence, type Evidence } from './evidence.ts'
import type { RiskReason } from './risk-reason.ts'
import { riskMessage } from './risk-message.ts'
import { createSlidingCount, type SlidingCount } from './sliding-count.ts'

export interface EpisodeKey {
  readonly tenant: string
  readonly type: RiskType
  readonly api: string
  readonly attributedTo: AttributedTo
}

/** Returns a text that equal keys share; the name of a party is no part of it. */
export function textOf({
  tenant,
  type,
  api,
  attributedTo: { kind, id, consumer = '', onBehalfOf = '' },
}: EpisodeKey): string {
  return JSON.stringify([tenant, type, api, kind, id, consumer, onBehalfOf])
}

/** One call, note or measured minute that raises a risk. */
export interface RiskOccurrence {
  readonly timeMs: number
  /** HTTP status; 0 if there is none. */
  readonly status: number
  readonly reason: RiskReason
  /** Makes the episode Critical while it is in the window. */
  readonly isGrave: boolean
  readonly operation: string
  readonly requestId: string
  readonly channel?: 'mcp' | undefined
}

export interface EpisodeOptions {
  readonly key: EpisodeKey
  readonly rule: RiskRule
  readonly riskId: string
  readonly newEventId: () => string
  readonly onEvent: (event: RiskEvent) => void
  /** Null for a new episode. */
  readonly saved: SavedEpisode | null
}

/** Part of a saved episode that only this module reads. The store holds its member names, so they must not change. */
interface Resume {
  /** Null if no event was emitted yet. */
  readonly phase: Phase | null
  readonly actor: { readonly value: EpisodeState }
  readonly window: readonly (readonly [number, number])[]
  readonly grave?: readonly (readonly [number, number])[]
  readonly toldMs: number
  readonly toldTotal: number
  readonly changedMs: number
  /** Calls that were reported late; missing: none. */
  readonly late?: number
}

/** Calls that were counted together. */
export interface CallSummary {
  readonly firstMs: number
  readonly lastMs: number
  /** Operation of the latest call. */
  readonly operation: string
  readonly evidence: RiskEvidence
}

const UPDATE_EVERY_MS = 10_000
const DETAILED: ReadonlySet<RiskType> = new Set(['RecordsDamaged', 'CertificateExpiring', 'CanaryFailing'])

export class Episode {
  readonly key: EpisodeKey
  readonly riskId: string
  readonly #rule: RiskRule
  readonly #newEventId: () => string
  readonly #onEvent: (event: RiskEvent) => void
  readonly #window: SlidingCount
  /** Null if no event of this type is grave. */
  readonly #grave: SlidingCount | null
  readonly #evidence: Evidence
  #firstSeenMs: number
  #lastSeenMs: number
  #operation: string
  #state: EpisodeState
  #severity: Severity
  #phase: Phase | null
  #emittedMs: number
  #emittedTotal: number
  #changedMs: number
  #late: number
  #nowMs: number
  #isDirty: boolean
  #isEvicted = false

  constructor({ key, rule, riskId, newEventId, onEvent, saved }: EpisodeOptions) {
    const resume = saved === null ? null : (saved.resume as Resume)
    this.key = key
    this.riskId = riskId
    this.#rule = rule
    this.#newEventId = newEventId
    this.#onEvent = onEvent
    this.#window = createSlidingCount(rule.windowSeconds, resume?.window)
    this.#grave = rule.isGraded ? createSlidingCount(rule.windowSeconds, resume?.grave) : null
    this.#evidence = createEvidence(saved?.event.evidence)
    this.#firstSeenMs = saved?.event.firstSeenMs ?? Infinity
    this.#lastSeenMs = saved?.event.lastSeenMs ?? 0
    this.#operation = saved?.event.operation ?? ''
    this.#state = resume?.actor.value ?? 'new'
    this.#severity = saved?.event.severity ?? rule.base
    this.#phase = resume?.phase ?? null
    this.#emittedMs = resume?.toldMs ?? 0
    this.#emittedTotal = resume?.toldTotal ?? 0
    this.#changedMs = resume?.changedMs ?? 0
    this.#late = resume?.late ?? 0
    this.#nowMs = this.#lastSeenMs
    this.#isDirty = saved === null
  }

  get lastSeenMs(): number {
    return this.#lastSeenMs
  }

  /** Whether the episode has changed since the last `save`. */
  get isDirty(): boolean {
    return this.#isDirty
  }

  get severity(): Severity {
    return this.#severity
  }

  get isCleared(): boolean {
    return this.#phase === 'cleared'
  }

  add(occurrence: RiskOccurrence): void {
    const { timeMs } = occurrence
    this.#firstSeenMs = Math.min(this.#firstSeenMs, timeMs)
    if (timeMs >= this.#lastSeenMs) this.#operation = occurrence.operation
    this.#lastSeenMs = Math.max(this.#lastSeenMs, timeMs)
    this.#window.add(timeMs)
    if (occurrence.isGrave) this.#grave?.add(timeMs)
    this.#evidence.add(occurrence)
    this.#isDirty = true
  }

  /** Adds the evidence of calls; `addCounts` follows for each of their seconds. */
  addSummary({ firstMs, lastMs, operation, evidence }: CallSummary, isLate: boolean): void {
    this.#firstSeenMs = Math.min(this.#firstSeenMs, firstMs)
    if (lastMs >= this.#lastSeenMs) this.#operation = operation
    this.#evidence.merge(evidence)
    if (isLate) this.#late += evidence.total
    this.#isDirty = true
  }

  /** Adds calls of one second. */
  addCounts(timeMs: number, count: number, grave: number): void {
    this.#lastSeenMs = Math.max(this.#lastSeenMs, timeMs)
    this.#window.add(timeMs, count)
    if (grave > 0) this.#grave?.add(timeMs, grave)
    this.#isDirty = true
  }

  /** Evaluates the window as of `atMs` and emits the events that follow. */
  evaluate(atMs: number): void {
    if (this.#phase === null) {
      this.#nowMs = this.#lastSeenMs
      this.#evaluateWindow()
    }
    this.#nowMs = Math.max(this.#nowMs, atMs)
    if (this.#nowMs - this.#lastSeenMs >= QUIET_MS) return this.#apply(changeOnQuiet(this.#state))
    this.#evaluateWindow()
    const isUpdateDue = this.#nowMs - this.#emittedMs >= UPDATE_EVERY_MS
    if (isUpdateDue && this.#evidence.total > this.#emittedTotal) this.#emit('updated')
  }

  /** Clears the episode before its quiet time is over, to make room for another. */
  evict(atMs: number): void {
    this.#nowMs = Math.max(this.#nowMs, atMs)
    this.#isEvicted = true
    this.#apply(changeOnQuiet(this.#state))
  }

  /** Returns the latest event with the numbers of `atMs`, and changes nothing. */
  latest(atMs: number): RiskEvent {
    return this.#toEvent('', Math.max(this.#nowMs, atMs))
  }

  save(): SavedEpisode {
    this.#isDirty = false
    const resume: Resume = {
      phase: this.#phase,
      actor: { value: this.#state },
      window: this.#window.toJSON(),
      ...(this.#grave !== null && { grave: this.#grave.toJSON() }),
      toldMs: this.#emittedMs,
      toldTotal: this.#emittedTotal,
      changedMs: this.#changedMs,
      ...(this.#late > 0 && { late: this.#late }),
    }
    return {
      riskId: this.riskId,
      tenant: this.key.tenant,
      state: this.isCleared ? 'cleared' : 'open',
      event: this.#toEvent('', this.#nowMs),
      resume,
    }
  }

  #evaluateWindow(): void {
    const count = this.#window.at(this.#nowMs)
    const grave = this.#grave?.at(this.#nowMs) ?? 0
    if (this.#phase !== null && severityOf(this.#rule, count, grave) === this.#severity) return
    this.#apply(changeOnWindow(this.#rule, this.#state, { count, grave, heldMs: this.#nowMs - this.#changedMs }))
  }

  #apply(change: EpisodeChange | null): void {
    if (change === null) return
    this.#state = stateAfter(change)
    this.#severity = change.severity
    this.#changedMs = this.#nowMs
    this.#emit(change.phase)
  }

  #emit(phase: Phase): void {
    this.#phase = phase
    this.#emittedMs = this.#nowMs
    this.#emittedTotal = this.#evidence.total
    this.#isDirty = true
    this.#onEvent(this.#toEvent(this.#newEventId(), this.#nowMs))
  }

  #toEvent(id: string, atMs: number): RiskEvent {
    const { category, windowSeconds } = this.#rule
    const { tenant, type, api, attributedTo } = this.key
    const count = this.#window.at(atMs)
    const phase: Phase = this.#phase ?? 'opened'
    const detail = detailOf(type, this.#operation)
    const message = {
      attributedTo,
      api,
      phase,
      count,
      rule: this.#rule,
      isEvicted: this.#isEvicted,
      detail,
      late: this.#late,
    }
    return {
      id,
      riskId: this.riskId,
      tenant,
      phase,
      type,
      category,
      severity: this.#severity,
      attributedTo,
      api,
      operation: this.#operation,
      count,
      windowSeconds,
      firstSeenMs: this.#firstSeenMs,
      lastSeenMs: this.#lastSeenMs,
      message: riskMessage(message),
      evidence: this.#evidence.show(),
    }
  }
}

/** Some notes say more in place of an operation: how many records are damaged, which certificate expires, which canary fails. */
function detailOf(type: RiskType, operation: string): string {
  return DETAILED.has(type) ? operation : ''
}
