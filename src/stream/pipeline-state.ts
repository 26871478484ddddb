/**
 * What the pipeline holds in memory between the spool and its stores, and how it is made safe.
 *
 * Metering is committed with the rows it stored, risk with the events it told; each with the position in
 * the spool that it stands for. Whatever throws on the way makes all that is held doubtful: it is dropped,
 * and the next one who asks takes it up from the checkpoint.
 */

import type { RiskRules } from '../risk/risk-rules.ts'
import type { RiskEvent } from '../domain/risk.ts'
import type { RecordBatch } from '../record/record-batch.ts'
import type { SpoolReader } from '../record/spool-reader.ts'
import type { CountEvent } from '../runtime/event-reasons.ts'
import type { Clock } from '../runtime/clock.ts'
import type { Gate } from '../runtime/gate.ts'
import { createIdFactory, timeOfId, type CreateId } from '../runtime/ids.ts'
import type { Log } from '../runtime/log.ts'
import type { Checkpoint } from '../store/checkpoint.ts'
import type { FlushLog } from '../store/flush-log.ts'
import type { LimitCheckpoint, SavedCounters } from '../store/limit-checkpoint.ts'
import type { RiskCheckpoint } from '../store/risk-checkpoint.ts'
import type { RequestStore } from '../store/request-store.ts'
import type { ServiceLevelStore } from '../store/service-level-store.ts'
import type { UsageStore } from '../store/usage-store.ts'
import { createCallCounter, type CallCounter, type CountedCalls } from '../metering/call-counter.ts'
import type { Episode } from '../risk/episode.ts'
import { createFlusher } from '../metering/flush.ts'
import { createIntake, type Intake } from './intake.ts'
import { createMetering, type Metering } from '../metering/metering.ts'
import { RiskDetector } from '../risk/risk-detector.ts'
import type { RequestLogMode } from '../metering/request-log.ts'
import { readRange } from '../record/read-range.ts'
import { providerOf } from '../risk/attributed-party.ts'
import { createServiceJudge, type PromiseSource, type ServiceJudge } from '../service-level/service-judge.ts'
import { earlierOf, isSame } from '../record/spool-position.ts'

export interface WorkOptions {
  readonly reader: SpoolReader
  readonly checkpoint: Checkpoint & RiskCheckpoint & LimitCheckpoint & { readonly instance: string }
  readonly usage: Pick<UsageStore, 'insert'>
  readonly levels: Pick<ServiceLevelStore, 'insert'>
  readonly requests: Pick<RequestStore, 'insert'>
  readonly flushLog: FlushLog
  readonly requestLog: RequestLogMode
  readonly rules: RiskRules
  readonly limits: LimitSink
  readonly promises: PromiseSource
  readonly clock: Clock
  readonly createId: CreateId
  readonly log: Log
  readonly count: CountEvent
  /** Calls by API and outcome, about once a second. */
  readonly onCalls: (calls: readonly CountedCalls[]) => void
  /** Hears of events when they can no longer be lost. */
  readonly publish: (events: readonly RiskEvent[]) => void
  /** Every flush goes through it: a backup copies the store while none runs. */
  readonly gate: Gate
}

/** Counts what calls have used of their limits. */
export interface LimitSink {
  add(batch: RecordBatch): void
  /** What changed since the last take. */
  take(): readonly SavedCounters[]
  /** How many a take would give. */
  readonly changed: number
  /** What was taken is on disk. */
  saved(): void
  /** Forgets what was not saved; it is added again. */
  reset(): void
}

export interface Work {
  /** Reads one stretch and tells what follows from it; true where it is worth going on at once. */
  takeIn(this: void): boolean
  /** Tells what follows from silence and what was counted, and saves where risk stands. */
  calm(this: void): void
  /** Saves what limits have counted, however lately it was saved. */
  rest(this: void): void
  /** Stores what was metered; one at a time. Rejects where it was stopped. */
  flush(this: void): Promise<void>
  /** Lets no flush wait for the store any longer. */
  stop(this: void): void
  openEpisodes(): Iterable<Episode>
}

interface Held {
  readonly metering: Metering
  readonly detector: RiskDetector
  readonly intake: Intake
  readonly judge: ServiceJudge
  readonly counter: CallCounter
}

/** Counters are saved once a second, and where that would take long more rarely: a start reads the rest again. */
const SAVED_AT_ONCE = 1_000
const SAVE_MANY_MS = 10_000
const CLEARED_KEPT_MS = 30 * 86_400_000

export function createWork(options: WorkOptions): Work {
  const { reader, checkpoint, rules, limits, promises, clock, createId, count, onCalls, publish, gate } = options
  const flusher = createFlusher(options)
  // Ids of events rise over a restart too, also where the clock was set back.
  const lastEventMs = timeOfId(checkpoint.lastEventId())
  const createEventId = createIdFactory(() => Math.max(clock.nowMs(), lastEventMs + 1))
  let limitsSavedMs = clock.nowMs()
  /** Taken up with the first stretch: what the limits count by is not known before. */
  let held: Held | null = null
  let flushing = gate.run(() => flusher.resume(reader))

  function takeUp(): Held {
    const metering = createMetering(options)
    const detector = new RiskDetector({
      rules,
      newRiskId: () => createId('rsk'),
      newEventId: () => createEventId('evt'),
      count,
      saved: checkpoint.openEpisodes(),
    })
    const counter = createCallCounter()
    const levelMark = checkpoint.levelMark()
    const judge = createServiceJudge({ promises, saved: levelMark, count })
    const intake = createIntake({
      reader,
      metered: flusher.to,
      judged: checkpoint.riskPosition(),
      meter: metering.add,
      judge(batch) {
        counter.add(batch)
        detector.add(batch)
        judge.add(batch)
        limits.add(batch)
      },
      isFull: () => metering.isFull,
      count,
    })
    limits.reset()
    readRange(reader, checkpoint.limitPosition(), checkpoint.riskPosition(), limits.add)
    if (levelMark !== null) readRange(reader, levelMark.position, checkpoint.riskPosition(), judge.add)
    return { metering, detector, intake, judge, counter }
  }

  /** Works with what is held; what breaks on the way is held no longer. */
  function using<T>(work: (held: Held) => T): T {
    held ??= takeUp()
    try {
      return work(held)
    } catch (cause) {
      held = null
      throw cause
    }
  }

  /** Events are published when they can no longer be lost, and calls counted when they are not read again. */
  function settle({ detector, intake, judge, counter }: Held): void {
    const { events, episodes } = detector.take()
    const forgetMs = clock.nowMs() - CLEARED_KEPT_MS
    const dropped = checkpoint.commitRisk(intake.judged, episodes, events, forgetMs, judge.mark(intake.judged))
    if (dropped > 0) count('risk_history_dropped', dropped)
    onCalls(counter.take())
    publish(events)
  }

  function holdToPromises({ judge, detector }: Held, nowMs?: number): void {
    for (const { tenant, api, measure, isGrave, timeMs } of judge.close(nowMs)) {
      const key = { tenant, type: 'ServiceLevelBreach', api, attributedTo: providerOf(tenant) } as const
      detector.addOccurrence(key, { timeMs, status: 0, reason: measure, isGrave, operation: '', requestId: '' })
    }
  }

  /** Where the counters stand is never ahead of where risk stands: both are read together. */
  function saveLimits({ intake }: Held): void {
    const nowMs = clock.nowMs()
    if (isSame(intake.judged, checkpoint.limitPosition())) return
    checkpoint.saveCounters(intake.judged, limits.take(), nowMs)
    limits.saved()
    limitsSavedMs = nowMs
  }

  const flushNow = (): Promise<void> => gate.run(flush)

  async function flush(): Promise<void> {
    const metered = using(({ metering, intake }) =>
      metering.isEmpty ? null : { to: intake.metered, rows: metering.take() },
    )
    if (metered !== null) await flusher.flush(metered.to, metered.rows)
    const read = earlierOf(checkpoint.position(), checkpoint.riskPosition())
    const levels = checkpoint.levelMark()?.position ?? read
    reader.release(earlierOf(earlierOf(read, checkpoint.limitPosition()), levels))
  }

  return {
    takeIn: () =>
      using((now) => {
        now.judge.reading(now.intake.judged)
        const isMore = now.intake.read()
        holdToPromises(now)
        now.detector.evaluateChanged()
        if (now.detector.hasEvents) settle(now)
        return isMore
      }),
    calm: () =>
      using((now) => {
        if (now.intake.isLevel) {
          holdToPromises(now, clock.nowMs())
          now.detector.evaluateAll(clock.nowMs())
        }
        if (now.detector.hasEvents || !isSame(now.intake.judged, checkpoint.riskPosition())) settle(now)
        const sinceMs = clock.nowMs() - limitsSavedMs
        if (limits.changed <= SAVED_AT_ONCE || sinceMs >= SAVE_MANY_MS || sinceMs < 0) saveLimits(now)
      }),
    rest: () => using(saveLimits),
    flush: () => (flushing = flushing.then(flushNow, flushNow)),
    stop: flusher.stop,
    openEpisodes: () => using(({ detector }) => detector.open),
  }
}
