/**
 * Reduces call records to signals: one per tenant, type, API and attributed party.
 *
 * Bounded: above the limit of signals, in total or of one tenant, calls are counted for the party `others` of their tenant, type and
 * API. A party that pauses for a minute gets another signal, so that a signal never spans the quiet time of an episode.
 */

import type { OutcomeRisk } from '../../foundation/domain/outcome.ts'
import { RISK_TYPES } from '../../foundation/domain/risk.ts'
import type { RecordBatch } from '../../storage/spool/record-batch.ts'
import type { RiskSignal } from '../../storage/store/shared-risks.ts'
import { attributedPartyOf, OTHERS, providerOf } from './attributed-party.ts'
import { textOf, type EpisodeKey, type RiskOccurrence } from './episode.ts'
import { createEvidence, type Evidence } from './evidence.ts'
import type { RiskReason } from './risk-reason.ts'
import { forEachRisk } from './risky-calls.ts'

export interface SignalReducer {
  readonly isEmpty: boolean
  add(batch: RecordBatch): void
  addOccurrence(key: EpisodeKey, occurrence: RiskOccurrence): void
  /** Returns the signals in the order in which they began, and begins again. */
  take(): readonly RiskSignal[]
}

export interface SignalReducerOptions {
  readonly signalsMax?: number
  readonly tenantSignalsMax?: number
  /** Called for each call that is counted for `others`. */
  readonly onMerged: () => void
}

/** Also the number of signals that a node sends in a second. */
export const SIGNALS_MAX = 1_000
/** Leaves room for other tenants. */
const TENANT_SIGNALS_MAX = 800
const PAUSE_MS = 60_000

interface OpenSignal {
  readonly key: EpisodeKey
  readonly evidence: Evidence
  readonly seconds: Map<number, { count: number; grave: number }>
  firstMs: number
  lastMs: number
  operation: string
}

export function createSignalReducer(options: SignalReducerOptions): SignalReducer {
  return new Reducer(options)
}

class Reducer implements SignalReducer {
  readonly #options: SignalReducerOptions
  #signals: OpenSignal[] = []
  readonly #byKey = new Map<string, OpenSignal>()
  readonly #countByTenant = new Map<string, number>()
  /** Signals by segment, then by a number made of attribution, type and party, which avoids building a string for each call. */
  readonly #bySegment = new Map<number, OpenSignal[]>()
  /** Signals that count against the limit: those of `others` do not. */
  #counted = 0

  constructor(options: SignalReducerOptions) {
    this.#options = options
  }

  get isEmpty(): boolean {
    return this.#signals.length === 0
  }

  add(batch: RecordBatch): void {
    forEachRisk(batch, this.#addCall)
  }

  addOccurrence(key: EpisodeKey, occurrence: RiskOccurrence): void {
    addTo(this.#signalOf(key, occurrence.timeMs), occurrence)
  }

  take(): readonly RiskSignal[] {
    const signals = this.#signals.map(toSignal)
    this.#signals = []
    this.#byKey.clear()
    this.#countByTenant.clear()
    this.#bySegment.clear()
    this.#counted = 0
    return signals
  }

  readonly #addCall = (batch: RecordBatch, index: number, risk: OutcomeRisk, reason: RiskReason): void => {
    const timeMs = batch.timeMs(index)
    const { operation, channel } = batch.attributions[batch.attributionId(index)]!
    const { isGrave } = risk
    const [status, requestId] = [batch.status(index), batch.requestId(index)]
    const signal = this.#signalOfCall(batch, index, risk, timeMs)
    addTo(signal, { timeMs, status, reason, isGrave, operation, requestId, channel })
  }

  #signalOfCall(batch: RecordBatch, index: number, { type, attributedTo }: OutcomeRisk, timeMs: number): OpenSignal {
    const isProvider = attributedTo === 'provider'
    const id = batch.attributionId(index)
    let signals = this.#bySegment.get(batch.segmentKey)
    if (signals === undefined) this.#bySegment.set(batch.segmentKey, (signals = []))
    const slot = (id * RISK_TYPES.length + RISK_TYPES.indexOf(type)) * 2 + (isProvider ? 1 : 0)
    const known = signals[slot]
    if (known !== undefined && Math.abs(timeMs - known.lastMs) < PAUSE_MS) {
      if (known.key.attributedTo === OTHERS) this.#options.onMerged()
      return known
    }
    const attribution = batch.attributions[id]!
    const { tenant, api } = attribution
    const party = isProvider ? providerOf(tenant) : attributedPartyOf(attribution)
    return (signals[slot] = this.#signalOf({ tenant, type, api, attributedTo: party }, timeMs))
  }

  #signalOf(key: EpisodeKey, timeMs: number): OpenSignal {
    const known = this.#byKey.get(textOf(key))
    if (known !== undefined && Math.abs(timeMs - known.lastMs) < PAUSE_MS) return known
    if (key.attributedTo === OTHERS) return this.#open(key, timeMs)
    const { signalsMax = SIGNALS_MAX, tenantSignalsMax = TENANT_SIGNALS_MAX, onMerged } = this.#options
    const ofTenant = this.#countByTenant.get(key.tenant) ?? 0
    if (this.#counted >= signalsMax || ofTenant >= tenantSignalsMax) {
      onMerged()
      return this.#signalOf({ ...key, attributedTo: OTHERS }, timeMs)
    }
    this.#counted++
    this.#countByTenant.set(key.tenant, ofTenant + 1)
    return this.#open(key, timeMs)
  }

  #open(key: EpisodeKey, timeMs: number): OpenSignal {
    const evidence = createEvidence()
    const signal = { key, evidence, seconds: new Map(), firstMs: timeMs, lastMs: timeMs, operation: '' }
    this.#byKey.set(textOf(key), signal)
    this.#signals.push(signal)
    return signal
  }
}

function addTo(signal: OpenSignal, occurrence: RiskOccurrence): void {
  const { timeMs, isGrave, operation } = occurrence
  const second = Math.floor(timeMs / 1_000)
  const counts = signal.seconds.get(second) ?? { count: 0, grave: 0 }
  counts.count++
  if (isGrave) counts.grave++
  signal.seconds.set(second, counts)
  signal.firstMs = Math.min(signal.firstMs, timeMs)
  if (timeMs >= signal.lastMs) signal.operation = operation
  signal.lastMs = Math.max(signal.lastMs, timeMs)
  signal.evidence.add(occurrence)
}

function toSignal({ key, evidence, seconds, firstMs, lastMs, operation }: OpenSignal): RiskSignal {
  const bySecond = [...seconds].sort(([a], [b]) => a - b)
  return {
    ...key,
    firstMs,
    lastMs,
    seconds: bySecond.map(([second, { count, grave }]) => [second, count, grave] as const),
    operation,
    evidence: evidence.show(),
  }
}
