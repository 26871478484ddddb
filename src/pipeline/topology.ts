/**
 * From the spool to the bill and to the risk stream.
 *
 *   growth of the spool ─▶ coalesce ─▶ read ─┬─▶ meter ───────────────▶ flush, once a second ─▶ line items
 *   ticks ───────────────────────────────────┴─▶ detect ─▶ commit ─▶ publish ─▶ subscribers
 *                                                             └─▶ outbox, once a second ─▶ history
 *
 * Records travel in batches; RxJS moves words, not records. What is read is held back when too much of
 * it waits for the store: the spool keeps it, and the gateway goes on serving.
 */

import { exhaustMap, filter, from, map, merge, Observable, Subject, takeUntil, tap } from 'rxjs'
import type { RiskRules } from '../domain/risk-rules.ts'
import type { SpoolReader } from '../record/spool-reader.ts'
import type { Clock } from '../runtime/clock.ts'
import type { CreateId } from '../runtime/ids.ts'
import type { Log } from '../runtime/log.ts'
import type { Checkpoint, SpoolPosition } from '../store/checkpoint.ts'
import type { RiskCheckpoint } from '../store/risk-checkpoint.ts'
import type { RiskPositionQuery, RiskStore } from '../store/risk-store.ts'
import type { UsageStore } from '../store/usage-store.ts'
import type { RiskEvent } from '../domain/risk.ts'
import { createCallCounter, type CountedCalls } from './call-counter.ts'
import { coalesce } from './coalesce.ts'
import { createFlusher, FlushStopped } from './flush.ts'
import { createMeter } from './meter.ts'
import { createRiskDetector } from './risk-detector.ts'
import { createRiskFeed, type OpenRiskFeed } from './risk-feed.ts'

export interface PipelineOptions {
  readonly reader: SpoolReader
  readonly checkpoint: Checkpoint & RiskCheckpoint & { readonly instance: string }
  readonly usage: Pick<UsageStore, 'insert'>
  readonly riskStore: RiskStore
  readonly rules: RiskRules
  readonly matches: (event: RiskEvent, query: RiskPositionQuery) => boolean
  readonly clock: Clock
  readonly createId: CreateId
  readonly log: Log
  readonly count: (reason: string) => void
  /** Calls by API and outcome, about once a second. */
  readonly onCalls: (calls: readonly CountedCalls[]) => void
}

export interface Pipeline {
  readonly risks: OpenRiskFeed
  /** Takes in all that is written now; resolves when it is stored. */
  flush(): Promise<void>
  /** Flushes once more, within what the store allows, and ends. */
  stop(): Promise<void>
}

const GAP_MS = 20
const TICK_MS = 1_000
/** Line items that may wait for the store before reading is held back. */
const ROWS_WAITING_MAX = 200_000
const CLEARED_KEPT_MS = 30 * 86_400_000
/** The last flush of a stop is not waited for longer than this. */
const LAST_FLUSH_MS = 10_000

export async function startPipeline(options: PipelineOptions): Promise<Pipeline> {
  const { reader, checkpoint, usage, riskStore, rules, matches, clock, createId, log, count } = options
  const flusher = createFlusher({ checkpoint, usage, clock, log, count })
  const meter = createMeter()
  const counter = createCallCounter()
  const detector = createRiskDetector({
    rules,
    newRiskId: () => createId('rsk'),
    newEventId: () => createId('evt'),
    count,
    saved: checkpoint.openEpisodes(),
  })
  const risks = createRiskFeed({
    store: riskStore,
    checkpoint,
    open: () => detector.open,
    nowMs: clock.nowMs,
    matches,
    waiting: checkpoint.waiting(),
  })

  await flusher.recover(reader)
  let metered = checkpoint.position()
  let judged = checkpoint.riskPosition()
  catchUp()

  /** Metering and risk are committed apart; the one that is behind reads alone until they meet. */
  function catchUp(): void {
    while (isBefore(judged, metered)) {
      const before = judged
      judged = reader.read(judged, (batch) => detector.add(batch), { until: metered })
      if (JSON.stringify(before) === JSON.stringify(judged)) judged = metered
    }
    while (isBefore(metered, judged)) {
      const before = metered
      metered = reader.read(metered, (batch) => meter.add(batch), { until: judged })
      if (JSON.stringify(before) === JSON.stringify(metered)) metered = judged
    }
  }

  /** Reads one stretch; true where there may be more. */
  function read(): boolean {
    if (meter.rows >= ROWS_WAITING_MAX) {
      count('reading_held_back')
      return false
    }
    let records = 0
    metered = reader.read(metered, (batch) => {
      records += batch.count
      meter.add(batch)
      counter.add(batch)
      detector.add(batch)
    })
    judged = metered
    return records > 0
  }

  /** Events are published when they can no longer be lost. */
  function settle(all: boolean): void {
    const { events, episodes } = detector.take(all)
    if (events.length === 0 && episodes.length === 0 && !all) return
    checkpoint.commitRisk(judged, episodes, events, clock.nowMs() - CLEARED_KEPT_MS)
    risks.publish(events)
  }

  async function flush(): Promise<void> {
    const to = metered
    if (!meter.isEmpty) await flusher.flush(to, meter.take())
    settle(true)
    options.onCalls(counter.take())
    await sendHistory()
    reader.release(checkpoint.position())
  }

  async function sendHistory(): Promise<void> {
    const batch = checkpoint.nextBatch()
    if (batch === null) return
    try {
      await riskStore.insert(`risk-${checkpoint.instance}-${batch.number}`, batch.events)
      checkpoint.sent(batch)
    } catch (cause) {
      count('risk_history_failed')
      log.warn({ err: cause }, 'risk events cannot be stored; they wait')
    }
  }

  const stopped$ = new Subject<void>()
  const growth$ = new Observable<void>((subscriber) => reader.onGrowth(() => subscriber.next()))
  const tick$ = new Observable<void>((subscriber) => clock.every(TICK_MS, () => subscriber.next()))
  const more$ = new Subject<void>()

  const taken$ = merge(growth$, tick$, more$).pipe(
    coalesce(GAP_MS, clock),
    map(read),
    tap(() => detector.evaluate(0, false)),
    tap(() => settle(false)),
    filter((isMore) => isMore),
    tap(() => more$.next()),
  )
  const calmed$ = tick$.pipe(
    tap(() => detector.evaluate(clock.nowMs(), true)),
    tap(() => settle(false)),
  )
  const flushed$ = tick$.pipe(exhaustMap(() => from(flushOnce())))

  let flushing: Promise<void> = Promise.resolve()
  /** One flush at a time; a failing one is logged and tried again with the next tick. */
  function flushOnce(): Promise<void> {
    flushing = flushing.then(flush).catch((cause: unknown) => {
      if (cause instanceof FlushStopped) return
      count('flush_broken')
      log.error({ err: cause }, 'a flush failed')
    })
    return flushing
  }

  merge(taken$, calmed$, flushed$)
    .pipe(takeUntil(stopped$))
    .subscribe({ error: (cause: unknown) => log.fatal({ err: cause }, 'the pipeline has stopped') })
  more$.next()

  return {
    risks,
    async flush() {
      while (read());
      detector.evaluate(0, false)
      await flushOnce()
    },
    async stop() {
      stopped$.next()
      while (read());
      detector.evaluate(0, false)
      const cancel = clock.after(LAST_FLUSH_MS, () => flusher.stop())
      await flushOnce()
      cancel()
    },
  }
}

/** Whether `a` has still to read what `b` has read. Both come from one reader, so one is never partly ahead. */
function isBefore(a: SpoolPosition, b: SpoolPosition): boolean {
  return Object.entries(b).some(([source, { segment, offset }]) => {
    const mine = a[source]
    return mine === undefined || mine.segment < segment || (mine.segment === segment && mine.offset < offset)
  })
}
