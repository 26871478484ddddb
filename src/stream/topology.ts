/**
 * From the spool to the bill and to the risk stream.
 *
 *   growth of the spool ─▶ coalesce ─▶ read on ─┬─▶ meter ──────▶ flush, once a second ─▶ line items
 *                                               └─▶ detect ─▶ commit ─▶ publish ─▶ subscribers
 *   ticks: silence is told ─▶ commit ─▶ publish          └─▶ outbox, once a second ─▶ history
 *
 * Records travel in batches; RxJS moves words, not records. All that is held in memory can be made again
 * from the checkpoint and the spool: where something breaks (the disk, the checkpoint), what is held is
 * dropped and taken up from there after a pause, exactly as after a crash.
 */

import { exhaustMap, merge, Observable, retry, startWith, Subject, takeUntil, tap } from 'rxjs'
import type { RiskEvent } from '../domain/risk.ts'
import type { RiskPositionQuery, RiskStore } from '../store/risk-store.ts'
import { createGate } from '../runtime/gate.ts'
import { coalesce } from './coalesce.ts'
import { FlushStopped } from '../metering/flush.ts'
import { createHistory } from '../risk/risk-history.ts'
import { readOn } from './read-on.ts'
import { createRiskFeed, type OpenRiskFeed } from '../risk/risk-feed.ts'
import { createWork, type WorkOptions } from './pipeline-state.ts'

export interface PipelineOptions extends Omit<WorkOptions, 'publish' | 'gate'> {
  readonly riskStore: RiskStore
  readonly matches: (event: RiskEvent, query: RiskPositionQuery) => boolean
}

export interface Pipeline {
  readonly risks: OpenRiskFeed
  /**
   * Takes in what an earlier process has left in the spool, then goes on by itself. Resolves when nothing is
   * left to read; a store that is away does not keep it from starting.
   */
  start(): Promise<void>
  /** Takes in all that is written now; resolves when it is stored. */
  flush(): Promise<void>
  /**
   * Resolves when nothing is on its way to the store; nothing is sent there until the function that it returns is called.
   * Reading goes on meanwhile.
   */
  hold(): Promise<() => void>
  /** Flushes once more, within what the store allows, and ends. */
  stop(): Promise<void>
}

const GAP_MS = 20
const TICK_MS = 1_000
const RESTART_MS = 1_000
/** The last flush of a stop is not waited for longer than this. */
const LAST_FLUSH_MS = 10_000

export function createPipeline(options: PipelineOptions): Pipeline {
  const { reader, checkpoint, riskStore, matches, clock, log, count } = options
  const risks = createRiskFeed({
    store: riskStore,
    checkpoint,
    open: () => work.openEpisodes(),
    nowMs: clock.nowMs,
    matches,
    onBroken(cause) {
      count('risk_subscriber_broken')
      log.error({ err: cause }, 'risk subscriber threw; it receives no more events')
    },
  })
  const gate = createGate()
  const work = createWork({ ...options, publish: risks.publish, gate })
  const history = createHistory({ checkpoint, store: riskStore, log, count })
  const sendHistory = (): Promise<void> => gate.run(history)

  const { promise: level, resolve: onLevel } = Promise.withResolvers<void>()
  const stopped$ = new Subject<void>()
  const flushed$ = new Subject<void>()
  const growth$ = new Observable<void>((subscriber) => reader.onGrowth(() => subscriber.next()))
  const tick$ = new Observable<void>((subscriber) => clock.every(TICK_MS, () => subscriber.next()))

  const taken$ = merge(growth$.pipe(coalesce(GAP_MS, clock)), tick$, flushed$).pipe(
    startWith(undefined),
    readOn(takeIn, clock),
  )
  const calmed$ = tick$.pipe(tap(work.calm))
  const stored$ = tick$.pipe(startWith(undefined), exhaustMap(store))
  const told$ = tick$.pipe(exhaustMap(sendHistory))

  function takeIn(): boolean {
    const isMore = work.takeIn()
    if (!isMore) onLevel()
    return isMore
  }

  async function store(): Promise<void> {
    await work.flush()
    flushed$.next()
  }

  function pauseAfter(cause: unknown): Observable<void> {
    if (!(cause instanceof FlushStopped)) {
      count('pipeline_restarted')
      log.error({ err: cause }, 'the pipeline broke and takes up again from its checkpoint')
    }
    return new Observable((subscriber) => clock.after(RESTART_MS, () => subscriber.next()))
  }

  async function drain(): Promise<void> {
    for (let isMore = true; isMore;) {
      isMore = work.takeIn()
      await work.flush()
    }
    work.calm()
    work.rest()
    await sendHistory()
  }

  return {
    risks,
    start() {
      merge(taken$, calmed$, stored$, told$)
        .pipe(retry({ delay: (cause) => pauseAfter(cause) }), takeUntil(stopped$))
        .subscribe()
      return level
    },
    flush: drain,
    hold: gate.hold,
    async stop() {
      stopped$.next()
      const cancel = clock.after(LAST_FLUSH_MS, work.stop)
      try {
        await drain()
      } catch (cause) {
        log.warn({ err: cause }, 'the last flush was not finished; the spool keeps what it was for')
      } finally {
        cancel()
      }
    },
  }
}
