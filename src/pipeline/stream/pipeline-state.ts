/**
 * The in-memory state of the pipeline, which runs from the spool to the stores, and the commits of this state.
 *
 * Metering and risk are committed separately, each with its own spool position: metering after its rows are stored, risk together with the events that it emitted. An exception in reading, evaluating or committing risk makes the state in memory unreliable: it is discarded, and the next
 * operation rebuilds it from the checkpoint.
 */

import { DAY_MS } from '../../foundation/domain/calendar.ts'
import type { RiskRules } from '../risk/risk-rules.ts'
import type { RiskEvent } from '../../foundation/domain/risk.ts'
import type { RecordBatch } from '../../storage/spool/record-batch.ts'
import type { SpoolReader } from '../../storage/spool/spool-reader.ts'
import type { CountEvent } from '../../foundation/runtime/event-reasons.ts'
import type { Clock } from '../../foundation/runtime/clock.ts'
import type { Gate } from '../../foundation/runtime/gate.ts'
import { createIdFactory, timeOfId, type CreateId } from '../../foundation/runtime/ids.ts'
import type { Log } from '../../foundation/runtime/log.ts'
import type { Checkpoint, SpoolPosition } from '../../storage/store/checkpoint.ts'
import type { FlushLog } from '../../storage/store/flush-log.ts'
import type { LimitCheckpoint, SavedCounters } from '../../storage/store/limit-checkpoint.ts'
import type { RiskCheckpoint } from '../../storage/store/risk-checkpoint.ts'
import type { RequestStore } from '../../storage/store/request-store.ts'
import type { ServiceLevelStore } from '../../storage/store/service-level-store.ts'
import type { UsageStore } from '../../storage/store/usage-store.ts'
import { createCallCounter, type CallCounter, type CountedCalls } from '../metering/call-counter.ts'
import type { Episode } from '../risk/episode.ts'
import { createFlusher, type Flusher } from '../metering/flush.ts'
import { createIntake, type Intake } from './intake.ts'
import { createMetering, type Metering } from '../metering/metering.ts'
import { RiskDetector } from '../risk/risk-detector.ts'
import type { RequestLogMode } from '../metering/request-log.ts'
import { readRange } from '../../storage/spool/read-range.ts'
import { providerOf } from '../risk/attributed-party.ts'
import {
  createServiceEvaluator,
  type PromiseSource,
  type ServiceEvaluator,
} from '../service-level/service-evaluator.ts'
import { earlierOf, isSame } from '../../storage/spool/spool-position.ts'

export interface PipelineStateOptions {
  readonly reader: SpoolReader
  readonly checkpoint: Checkpoint & RiskCheckpoint & LimitCheckpoint & { readonly instance: string }
  readonly usage: Pick<UsageStore, 'insert' | 'insertTotals' | 'insertWithoutTotals'>
  readonly levels: Pick<ServiceLevelStore, 'insert'>
  readonly requests: Pick<RequestStore, 'insert'>
  readonly flushLog: FlushLog
  readonly requestLog: RequestLogMode
  readonly rules: RiskRules
  /** Days for which cleared episodes are kept. */
  readonly clearedDays: number
  readonly limits: LimitSink
  readonly promises: PromiseSource
  readonly clock: Clock
  readonly createId: CreateId
  readonly log: Log
  readonly count: CountEvent
  /** Receives calls by API and outcome after each commit of risk: about once a second while calls arrive, and more often while there are events. */
  readonly onCalls: (calls: readonly CountedCalls[]) => void
  /** Receives each batch that is read for risk. */
  readonly onRead?: (batch: RecordBatch) => void
  /** Receives each batch that is read for risk, and what became of it. */
  readonly telemetry?: BatchObserver | null
  /** Whether this pipeline groups risks into episodes; otherwise nodes do it together. */
  readonly detectsRisks?: boolean
  /** Returns the position before which nothing else needs the spool. `read`: what the pipeline does not need any more. */
  readonly held?: (read: SpoolPosition) => SpoolPosition
  /** Receives events after they are committed. */
  readonly publish: (events: readonly RiskEvent[]) => void
  /** Flushes run within the gate, so that a backup copies the store while no flush runs. */
  readonly gate: Gate
}

/** Follows the records that are read for risk; records that were added and not committed are added again after a failure. */
export interface BatchObserver {
  add(batch: RecordBatch): void
  /** Everything that was added is committed, and is not read again. */
  commit(): void
  /** Discards what was not committed. */
  reset(): void
}

/** Counts, for each limit, how much of it the calls have used. */
export interface LimitSink {
  add(batch: RecordBatch): void
  /** Returns the counters that changed since the last take. */
  take(): readonly SavedCounters[]
  /** Number of counters that `take` would return. */
  readonly changed: number
  /** Reports to the sink that the counters of the last `take` are on disk. */
  saved(): void
  /** Discards what was not saved; the same records are added again. */
  reset(): void
}

/** How far the pipeline has come: the times until when everything was read, and stored. Both follow the clock every second. */
export interface PipelineLag {
  readonly readMs: number
  readonly storedMs: number
}

/** Rebuilt as a whole from the checkpoint. */
interface Stages {
  readonly metering: Metering
  readonly detector: RiskDetector
  readonly intake: Intake
  readonly evaluator: ServiceEvaluator
  readonly counter: CallCounter
}

/** Up to this many changed counters are saved every second; if more have changed, they are saved every ten seconds. A start counts the records after the last save again. */
const SAVED_EVERY_SECOND_MAX = 1_000
const SAVE_MANY_MS = 10_000

export class PipelineState {
  readonly #options: PipelineStateOptions
  readonly #flusher: Flusher
  readonly #newEventId: CreateId
  #limitsSavedMs: number
  /** Null until the first operation, because limits are not configured yet in the constructor. Null again after a failure. */
  #stages: Stages | null = null
  /** When everything that was written had been read. */
  #readMs: number
  /** When everything that was read had been stored. */
  #storedMs: number
  /** Settles when the last flush has ended. */
  #flushing: Promise<void>

  constructor(options: PipelineStateOptions) {
    const { reader, checkpoint, clock, gate } = options
    this.#options = options
    this.#flusher = createFlusher(options)
    // Ids of events keep increasing even if the clock was set back before a restart.
    const lastEventMs = timeOfId(checkpoint.lastEventId())
    this.#newEventId = createIdFactory(() => Math.max(clock.nowMs(), lastEventMs + 1))
    this.#limitsSavedMs = this.#readMs = this.#storedMs = clock.nowMs()
    this.#flushing = gate.run(() => this.#flusher.resume(reader))
  }

  /** Reads one stretch of the spool and commits the risk events that result from it; returns whether there is more to read. */
  readNext(): boolean {
    return this.#use((stages) => {
      stages.evaluator.reading(stages.intake.evaluated)
      const isMore = stages.intake.read()
      if (!isMore) this.#readMs = this.#options.clock.nowMs()
      addBreaches(stages)
      stages.detector.evaluateChanged()
      if (stages.detector.hasEvents) this.#commitRisk(stages)
      return isMore
    })
  }

  /** If the spool is read to its end, evaluates the absence of calls up to now. Commits the position of risk, and saves the counters of limits if that is due. */
  evaluateSilence(): void {
    const { clock, checkpoint, limits } = this.#options
    this.#use((stages) => {
      const { intake, detector } = stages
      if (intake.isLevel) {
        addBreaches(stages, clock.nowMs())
        detector.evaluateAll(clock.nowMs())
      }
      if (detector.hasEvents || !isSame(intake.evaluated, checkpoint.riskPosition())) this.#commitRisk(stages)
      const sinceMs = clock.nowMs() - this.#limitsSavedMs
      if (limits.changed <= SAVED_EVERY_SECOND_MAX || sinceMs >= SAVE_MANY_MS || sinceMs < 0) this.#saveLimits(stages)
    })
  }

  /** Saves the counters of limits now, if records were read since the last save. The position of risk must be committed first. */
  saveLimits(): void {
    this.#use((stages) => this.#saveLimits(stages))
  }

  /** Waits for a running flush, then stores what was metered. Rejects if `abortFlush` ended this flush. */
  flush(): Promise<void> {
    const flush = (): Promise<void> => this.#options.gate.run(() => this.#flush())
    return (this.#flushing = this.#flushing.then(flush, flush))
  }

  /** Aborts flushes that wait for the store. */
  abortFlush(): void {
    this.#flusher.stop()
  }

  get lag(): PipelineLag {
    return { readMs: this.#readMs, storedMs: this.#storedMs }
  }

  openEpisodes(): Iterable<Episode> {
    return this.#use(({ detector }) => detector.openEpisodes)
  }

  /** Runs `work` on the stages; discards them if it throws. */
  #use<T>(work: (stages: Stages) => T): T {
    const stages = (this.#stages ??= this.#restore())
    try {
      return work(stages)
    } catch (cause) {
      this.#stages = null
      throw cause
    }
  }

  #restore(): Stages {
    const { reader, checkpoint, rules, limits, promises, createId, count } = this.#options
    const { onRead, telemetry, detectsRisks = true } = this.#options
    const metering = createMetering(this.#options)
    const detector = new RiskDetector({
      rules,
      newRiskId: () => createId('rsk'),
      newEventId: () => this.#newEventId('evt'),
      count,
      saved: checkpoint.openEpisodes(),
    })
    const counter = createCallCounter()
    const levelMark = checkpoint.levelMark()
    const evaluator = createServiceEvaluator({ promises, saved: levelMark, count })
    const intake = createIntake({
      reader,
      metered: this.#flusher.to,
      evaluated: checkpoint.riskPosition(),
      meter: metering.add,
      evaluate(batch) {
        counter.add(batch)
        if (detectsRisks) detector.add(batch)
        evaluator.add(batch)
        limits.add(batch)
        onRead?.(batch)
        telemetry?.add(batch)
      },
      isFull: () => metering.isFull,
      count,
    })
    limits.reset()
    telemetry?.reset()
    readRange(reader, checkpoint.limitPosition(), checkpoint.riskPosition(), limits.add)
    if (levelMark !== null) readRange(reader, levelMark.position, checkpoint.riskPosition(), evaluator.add)
    return { metering, detector, intake, evaluator, counter }
  }

  /** Publishes events and counted calls only after the commit: the events are then on disk, and their records are not read again. */
  #commitRisk({ detector, intake, evaluator, counter }: Stages): void {
    const { checkpoint, clearedDays, clock, count, onCalls, publish, telemetry } = this.#options
    const { events, episodes } = detector.take()
    const clearedBeforeMs = clock.nowMs() - clearedDays * DAY_MS
    const dropped = checkpoint.commitRisk(
      intake.evaluated,
      episodes,
      events,
      clearedBeforeMs,
      evaluator.mark(intake.evaluated),
    )
    if (dropped > 0) count('risk_history_dropped', dropped)
    onCalls(counter.take())
    telemetry?.commit()
    publish(events)
  }

  /** The position of risk is committed first: if the counters were ahead of it, a restart would count records twice. */
  #saveLimits({ intake }: Stages): void {
    const { checkpoint, clock, limits } = this.#options
    const nowMs = clock.nowMs()
    if (isSame(intake.evaluated, checkpoint.limitPosition())) return
    checkpoint.saveCounters(intake.evaluated, limits.take(), nowMs)
    limits.saved()
    this.#limitsSavedMs = nowMs
  }

  async #flush(): Promise<void> {
    const { checkpoint, reader, held = (done) => done } = this.#options
    const metered = this.#use(({ metering, intake }) =>
      metering.isEmpty ? null : { to: intake.metered, rows: metering.take() },
    )
    const beganMs = this.#options.clock.nowMs()
    if (metered !== null) await this.#flusher.flush(metered.to, metered.rows)
    this.#storedMs = beganMs
    const read = earlierOf(checkpoint.position(), checkpoint.riskPosition())
    const levels = checkpoint.levelMark()?.position ?? read
    const done = earlierOf(earlierOf(read, checkpoint.limitPosition()), levels)
    reader.release(earlierOf(done, held(done)))
  }
}

function addBreaches({ evaluator, detector }: Stages, nowMs?: number): void {
  for (const { tenant, api, measure, isGrave, timeMs } of evaluator.close(nowMs)) {
    const key = { tenant, type: 'ServiceLevelBreach', api, attributedTo: providerOf(tenant) } as const
    detector.addOccurrence(key, { timeMs, status: 0, reason: measure, isGrave, operation: '', requestId: '' })
  }
}
