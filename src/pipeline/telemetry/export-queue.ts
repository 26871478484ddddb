/**
 * A bounded queue in front of a collector.
 *
 * Memory is bounded by `queueMax` items, those of the batch in flight included; what does not fit is dropped at once and counted. One
 * batch is in flight at a time. A batch that the collector may accept later is sent again, with pauses, until `withinMs` have passed.
 * `stop` sends what waits until its time limit, then drops the rest.
 */

import type { BatchConfig } from './telemetry-settings.ts'
import type { Clock } from '../../foundation/runtime/clock.ts'

/** The result of an attempt. `rejected` items of an accepted batch are lost. */
export type SendResult =
  | { readonly outcome: 'accepted'; readonly rejected: number }
  | { readonly outcome: 'failed'; readonly reason: string }
  | { readonly outcome: 'later'; readonly reason: string; readonly afterMs: number | null }

export type DropReason = 'queue_full' | 'rejected' | 'failed' | 'stopped'

export interface ExportQueueOptions<T> {
  readonly batches: BatchConfig
  readonly clock: Clock
  /** Must settle within `withinMs`, and soon after `signal` is aborted. */
  readonly send: (items: readonly T[], withinMs: number, signal: AbortSignal) => Promise<SendResult>
  readonly onExported: (items: number) => void
  readonly onDropped: (items: number, reason: DropReason) => void
  /** Receives the reason of each failed attempt, and null for each success. */
  readonly onAttempt: (reason: string | null) => void
}

const FIRST_PAUSE_MS = 1_000
const PAUSE_MAX_MS = 30_000

export class ExportQueue<T> {
  readonly #options: ExportQueueOptions<T>
  #waiting: T[] = []
  /** Items of the batch in flight. */
  #inFlight = 0
  #cancelTimer: (() => void) | null = null
  #running: Promise<void> | null = null
  #isStopping = false
  #endPause: () => void = () => {}
  readonly #abort = new AbortController()

  constructor(options: ExportQueueOptions<T>) {
    this.#options = options
  }

  /** Number of items in memory. */
  get size(): number {
    return this.#waiting.length + this.#inFlight
  }

  add(item: T): void {
    const { batches, clock, onDropped } = this.#options
    if (this.#isStopping) return onDropped(1, 'stopped')
    if (this.size >= batches.queueMax) return onDropped(1, 'queue_full')
    this.#waiting.push(item)
    if (this.#waiting.length >= batches.batchMax) this.#run()
    else this.#cancelTimer ??= clock.after(batches.delayMs, () => this.#run())
  }

  /** Sends what waits, within a time limit. */
  async stop(withinMs: number): Promise<void> {
    this.#isStopping = true
    this.#endPause()
    if (this.#waiting.length > 0) this.#run()
    const { promise: late, resolve } = Promise.withResolvers<void>()
    const cancel = this.#options.clock.after(withinMs, resolve)
    await Promise.race([this.#running, late])
    cancel()
    this.#abort.abort()
    this.#drop(this.#waiting.length + this.#inFlight, 'stopped')
    this.#waiting = []
    this.#inFlight = 0
  }

  #run(): void {
    this.#cancelTimer?.()
    this.#cancelTimer = null
    this.#running ??= this.#sendAll().finally(() => {
      this.#running = null
      const { clock, batches } = this.#options
      if (this.#waiting.length > 0 && !this.#isStopping)
        this.#cancelTimer ??= clock.after(batches.delayMs, () => this.#run())
    })
  }

  async #sendAll(): Promise<void> {
    const { batchMax } = this.#options.batches
    do {
      const batch = this.#waiting.splice(0, batchMax)
      this.#inFlight = batch.length
      await this.#sendBatch(batch)
      this.#inFlight = 0
    } while (this.#waiting.length >= (this.#isStopping ? 1 : batchMax) && !this.#abort.signal.aborted)
  }

  async #sendBatch(batch: readonly T[]): Promise<void> {
    const { clock, batches, onExported, onAttempt } = this.#options
    const untilMs = clock.nowMs() + batches.withinMs
    for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(pauseMs * 2, PAUSE_MAX_MS)) {
      const leftMs = untilMs - clock.nowMs()
      const result = await this.#attempt(batch, leftMs)
      // The items are counted as dropped already.
      if (this.#abort.signal.aborted) return
      onAttempt(result.outcome === 'accepted' ? null : result.reason)
      if (result.outcome === 'accepted') {
        const rejected = Math.min(batch.length, Math.max(0, result.rejected))
        onExported(batch.length - rejected)
        return this.#drop(rejected, 'rejected')
      }
      const waitMs = result.outcome === 'later' ? (result.afterMs ?? pauseMs) : Infinity
      if (this.#isStopping || clock.nowMs() + waitMs >= untilMs) return this.#drop(batch.length, 'failed')
      await this.#pause(waitMs)
    }
  }

  async #attempt(batch: readonly T[], withinMs: number): Promise<SendResult> {
    try {
      return await this.#options.send(batch, withinMs, this.#abort.signal)
    } catch (cause) {
      return { outcome: 'failed', reason: String(cause) }
    }
  }

  #pause(ms: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    const cancel = this.#options.clock.after(ms, resolve)
    this.#endPause = () => {
      cancel()
      resolve()
    }
    return promise
  }

  #drop(items: number, reason: DropReason): void {
    if (items > 0) this.#options.onDropped(items, reason)
  }
}
