/**
 * Evaluates each complete minute of an API against the promises of the declarations in force.
 *
 * A minute is complete five seconds after its end, by the time of the calls or, if everything is read, by the clock. Later calls
 * are counted and not evaluated. Open minutes are not saved: after a crash they are read again from their first record, and
 * minutes that were evaluated are skipped, so nothing is repeated or lost. A minute with few calls is not significant and is
 * not evaluated.
 */

import { evaluate, loadsOf, promisesOf, type ServicePromise } from './promises.ts'
import { sumOfMeasures } from '../../foundation/domain/service-level.ts'
import { DAY_MS } from '../../foundation/domain/calendar.ts'
import type { RuntimePlan } from '../../boundary/plan/sla-plan.ts'
import { isValid } from '../../boundary/plan/validity-span.ts'
import type { RecordBatch } from '../../storage/spool/record-batch.ts'
import type { SpoolPosition } from '../../storage/store/checkpoint.ts'
import type { LevelMark } from '../../storage/store/risk-checkpoint.ts'
import { SERVICE_WINDOW_MS, type ServiceLevelRow } from '../../storage/store/service-level-store.ts'
import { createServiceMeter, type ServiceMeter } from './service-meter.ts'
import type { CountEvent } from '../../foundation/runtime/event-reasons.ts'

export interface Breach {
  readonly tenant: string
  readonly api: string
  readonly measure: ServicePromise['measure']
  /** Twice as bad as promised, or broken in five consecutive minutes. */
  readonly isGrave: boolean
  /** The end of the minute. */
  readonly timeMs: number
}

export interface ServiceEvaluator {
  /** Sets the position of the records that are added next. */
  reading(from: SpoolPosition): void
  add(batch: RecordBatch): void
  /** Evaluates the complete minutes: by the latest call, and by `nowMs` if it is given. */
  close(nowMs?: number): readonly Breach[]
  /** Returns the state to save together with the breaches that were returned; null if nothing has changed. */
  mark(at: SpoolPosition): LevelMark | null
}

/** Promises of providers. */
export interface PromiseSource {
  of(api: string): readonly RuntimePlan[]
  /** Whether any API has a promise; otherwise nothing is measured. */
  readonly isAny: boolean
}

export interface ServiceEvaluatorOptions {
  readonly promises: PromiseSource
  readonly saved: LevelMark | null
  readonly count: CountEvent
}

const GRACE_MS = 5_000
const CALLS_MIN = 20
/** A promise that is broken in so many consecutive minutes is a grave breach. */
export const LASTING_MINUTES = 5

export function createServiceEvaluator(options: ServiceEvaluatorOptions): ServiceEvaluator {
  const evaluator = new Evaluator(options)
  return {
    reading: (from) => evaluator.reading(from),
    add: (batch) => evaluator.add(batch),
    close: (nowMs) => evaluator.close(nowMs),
    mark: (at) => evaluator.mark(at),
  }
}

class Evaluator implements ServiceEvaluator {
  readonly #promises: PromiseSource
  readonly #meter: ServiceMeter
  /** Position of the first record of each open minute. */
  readonly #begins = new Map<number, SpoolPosition>()
  #from: SpoolPosition
  #latestMs = -Infinity
  #closedMs: number
  #lastEvaluatedMs: number
  /** Number of consecutive minutes with a breach, by API. */
  #streaks: ReadonlyMap<string, number>
  #isChanged: boolean

  constructor({ promises, saved, count }: ServiceEvaluatorOptions) {
    this.#promises = promises
    this.#from = saved?.position ?? {}
    this.#closedMs = saved?.closedMs ?? -Infinity
    this.#lastEvaluatedMs = saved?.lastJudgedMs ?? -Infinity
    this.#streaks = new Map(Object.entries(saved?.streaks ?? {}))
    this.#isChanged = saved === null
    this.#meter = createServiceMeter({ fromMs: () => this.#closedMs, onLate: () => count('service_level_late') })
  }

  reading(from: SpoolPosition): void {
    this.#from = from
  }

  add(batch: RecordBatch): void {
    if (!this.#promises.isAny) return
    const begins = this.#begins
    this.#meter.add(batch)
    for (const minuteMs of this.#meter.minutesMs) if (!begins.has(minuteMs)) begins.set(minuteMs, this.#from)
    if (batch.count > 0) this.#latestMs = Math.max(this.#latestMs, batch.timeMs(batch.count - 1))
  }

  close(nowMs = -Infinity): readonly Breach[] {
    const overMs = Math.max(this.#latestMs, nowMs) - GRACE_MS
    const upToMs = overMs - (overMs % SERVICE_WINDOW_MS)
    if (!(upToMs > this.#closedMs)) return []
    const rows = this.#meter.take(upToMs)
    for (const minuteMs of this.#begins.keys()) if (minuteMs < upToMs) this.#begins.delete(minuteMs)
    this.#closedMs = upToMs
    this.#isChanged = true
    return [...Map.groupBy(rows, ({ minuteMs }) => minuteMs)].flatMap(([minuteMs, ofMinute]) =>
      this.#evaluateMinute(minuteMs, ofMinute),
    )
  }

  mark(at: SpoolPosition): LevelMark | null {
    if (!this.#isChanged) return null
    this.#isChanged = false
    const earliest = [...this.#begins].sort(([a], [b]) => a - b)[0]
    return {
      position: earliest === undefined ? at : earliest[1],
      closedMs: Math.max(0, this.#closedMs),
      lastJudgedMs: Math.max(0, this.#lastEvaluatedMs),
      streaks: Object.fromEntries(this.#streaks),
    }
  }

  #evaluateMinute(minuteMs: number, rows: readonly ServiceLevelRow[]): readonly Breach[] {
    const isConsecutive = minuteMs - this.#lastEvaluatedMs === SERVICE_WINDOW_MS
    const streaks = new Map<string, number>()
    const breaches: Breach[] = []
    for (const [key, ofApi] of Map.groupBy(rows, ({ tenant, api }) => JSON.stringify([tenant, api]))) {
      const { tenant, api } = ofApi[0]!
      const broken = brokenIn(this.#promises.of(api), minuteMs, ofApi)
      if (broken.size === 0) continue
      const streak = isConsecutive ? (this.#streaks.get(key) ?? 0) + 1 : 1
      streaks.set(key, streak)
      const isLasting = streak >= LASTING_MINUTES
      const timeMs = minuteMs + SERVICE_WINDOW_MS
      for (const [measure, isGrave] of broken) {
        breaches.push({ tenant, api, measure, isGrave: isGrave || isLasting, timeMs })
      }
    }
    this.#streaks = streaks
    this.#lastEvaluatedMs = minuteMs
    return breaches
  }
}

/** Returns the measures whose promises were broken in a minute, and whether by far (`isByFar`). */
export function brokenIn(
  plans: readonly RuntimePlan[],
  minuteMs: number,
  rows: readonly ServiceLevelRow[],
): ReadonlyMap<ServicePromise['measure'], boolean> {
  const broken = new Map<ServicePromise['measure'], boolean>()
  for (const plan of plans) {
    const { operationIds, validity } = plan
    if (!isValid(validity, minuteMs % DAY_MS)) continue
    const measure = sumOfMeasures(
      operationIds === null ? rows : rows.filter((row) => operationIds.includes(row.operation)),
    )
    if (measure.calls < CALLS_MIN) continue
    const perSecond = measure.calls / (SERVICE_WINDOW_MS / 1_000)
    const loads = loadsOf(plan)
    const load = loads.findIndex((most) => perSecond <= most)
    for (const promise of promisesOf(plan)) {
      if (promise.load !== null && promise.load !== (load < 0 ? loads.length : load)) continue
      const { measured, isKept } = evaluate(promise, measure)
      if (measured === null || isKept !== false) continue
      broken.set(promise.measure, (broken.get(promise.measure) ?? false) || isByFar(promise, measured))
    }
  }
  return broken
}

/** Whether a measure is twice as bad as promised; for a promise of zero failures, one in a hundred. */
function isByFar({ measure, promised }: ServicePromise, measured: number): boolean {
  if (measure === 'availability') return 100 - measured >= Math.max(1, 2 * (100 - promised))
  if (measure === '5xxResponsePercent') return measured >= Math.max(1, 2 * promised)
  return measured >= 2 * promised
}
