/**
 * The pipeline from the spool to the bill and to the risk stream.
 *
 *   growth of the spool ─▶ coalesce ─▶ read ─┬─▶ meter ──▶ flush, once a second ─▶ line items
 *                                            └─▶ detect ─▶ commit ─▶ publish ─▶ subscribers
 *   tick: evaluate silence ─▶ commit ─▶ publish                └─▶ outbox, once a second ─▶ history
 *
 * Records travel in batches; RxJS carries signals, not records. Everything in memory can be rebuilt from the checkpoint and
 * the spool: after a failure of the disk or of the checkpoint it is discarded, and the pipeline continues from there after a
 * pause, exactly as after a crash.
 */

import { exhaustMap, merge, Observable, retry, startWith, Subject, takeUntil, tap } from './rxjs.ts'
import type { RiskEvent } from '../../foundation/domain/risk.ts'
import type { RiskFeed, RiskPositionQuery, RiskStore } from '../../storage/store/risk-store.ts'
import { createGate } from '../../foundation/runtime/gate.ts'
import { coalesce } from './coalesce.ts'
import { FlushAborted } from '../metering/flush.ts'
import { createHistory } from '../risk/risk-history.ts'
import { readWhileMore } from './read-while-more.ts'
import { createRiskFeed, type RiskFeedOptions } from '../risk/risk-feed.ts'
import { PipelineState, type PipelineLag, type PipelineStateOptions } from './pipeline-state.ts'

export interface PipelineOptions extends Omit<PipelineStateOptions, 'publish' | 'gate'> {
  readonly riskStore: RiskStore
  readonly matches: (event: RiskEvent, query: RiskPositionQuery) => boolean
}

export interface Pipeline {
  readonly risks: RiskFeed
  /**
   * Starts reading. Resolves when everything that an earlier process left in the spool is read, even if the store is
   * unavailable.
   */
  start(): Promise<void>
  /** Reads everything that is written now; resolves when it is stored. */
  flush(): Promise<void>
  /**
   * Resolves when no insert is in flight. No further insert starts until the returned function is called; reading
   * continues.
   */
  hold(): Promise<() => void>
  lag(): PipelineLag
  /** Flushes once more, within a time limit, and stops. */
  stop(): Promise<void>
}

const COALESCE_MS = 20
const TICK_MS = 1_000
const RESTART_MS = 1_000
/** Time limit of the last flush. */
const LAST_FLUSH_MS = 10_000

export function createPipeline(options: PipelineOptions): Pipeline {
  const { reader, checkpoint, riskStore, clock, log, count } = options
  const gate = createGate()
  const risks = openFeed(options, () => state.openEpisodes())
  const state = new PipelineState({ ...options, publish: risks.publish, gate })
  const history = createHistory({ checkpoint, store: riskStore, log, count })
  const sendHistory = (): Promise<void> => gate.run(history)

  const { promise: caughtUp, resolve: onCaughtUp } = Promise.withResolvers<void>()
  const stopped$ = new Subject<void>()
  const flushed$ = new Subject<void>()
  const growth$ = new Observable<void>((subscriber) => reader.onGrowth(() => subscriber.next()))
  const tick$ = new Observable<void>((subscriber) => clock.every(TICK_MS, () => subscriber.next()))

  const read$ = merge(growth$.pipe(coalesce(COALESCE_MS, clock)), tick$, flushed$).pipe(
    startWith(undefined),
    readWhileMore(readNext, clock),
  )
  const evaluated$ = tick$.pipe(tap(() => state.evaluateSilence()))
  const stored$ = tick$.pipe(
    startWith(undefined),
    exhaustMap(() => state.flush().then(() => flushed$.next())),
  )
  const sent$ = tick$.pipe(exhaustMap(sendHistory))

  function readNext(): boolean {
    const isMore = state.readNext()
    if (!isMore) onCaughtUp()
    return isMore
  }

  async function drain(): Promise<void> {
    await flushAll(state)
    await sendHistory()
  }

  return {
    risks,
    start() {
      merge(read$, evaluated$, stored$, sent$)
        .pipe(retry({ delay: (cause) => pauseAfter(cause, options) }), takeUntil(stopped$))
        .subscribe()
      return caughtUp
    },
    flush: drain,
    hold: gate.hold,
    lag: () => state.lag,
    async stop() {
      stopped$.next()
      const cancel = clock.after(LAST_FLUSH_MS, () => state.abortFlush())
      try {
        await drain()
      } catch (cause) {
        log.warn({ err: cause }, 'last flush before shutdown failed; its records stay in the spool for the next start')
      } finally {
        cancel()
      }
    },
  }
}

function openFeed(
  { riskStore, checkpoint, clock, log, count, matches }: PipelineOptions,
  open: RiskFeedOptions['open'],
) {
  return createRiskFeed({
    store: riskStore,
    checkpoint,
    open,
    nowMs: clock.nowMs,
    matches,
    onBroken(cause) {
      count('risk_subscriber_broken')
      log.error({ err: cause }, 'risk subscriber threw; it receives no more events')
    },
  })
}

/** Reads and stores everything that is written, and saves what is derived from it. */
async function flushAll(state: PipelineState): Promise<void> {
  for (let isMore = true; isMore;) {
    isMore = state.readNext()
    await state.flush()
  }
  state.evaluateSilence()
  state.saveLimits()
}

/** Emits after a pause. A flush that was aborted is no failure. */
function pauseAfter(cause: unknown, { clock, log, count }: PipelineOptions): Observable<void> {
  if (!(cause instanceof FlushAborted)) {
    count('pipeline_restarted')
    log.error({ err: cause }, 'pipeline failed; it restarts from its checkpoint in a second')
  }
  return new Observable((subscriber) => clock.after(RESTART_MS, () => subscriber.next()))
}
