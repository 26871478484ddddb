/**
 * Follows the records of the pipeline: hands the spans of sampled calls to the export and counts durations.
 *
 * A record counts once its position is committed: records that are read again after a failure or a crash are not exported twice. A
 * start reads what earlier processes have left in the spool; calls that ended more than a minute before this process began are not
 * exported, because their traces are over. Nothing here may fail the pipeline: a fault is reported, and its batch has no spans.
 */

import { IS_NOTE } from '../../foundation/domain/outcome.ts'
import { countSpans, readTraceText } from '../../storage/spool/call-trace.ts'
import type { RecordBatch } from '../../storage/spool/record-batch.ts'
import type { TracedCall } from './call-spans.ts'
import type { DurationHistogram } from './duration-histogram.ts'

export interface CallObserverOptions {
  /** Null: no traces are exported. */
  readonly traces: TraceSink | null
  /** Null: no metrics are exported. */
  readonly durations: Pick<DurationHistogram, 'add' | 'commit' | 'reset'> | null
  readonly startMs: number
  readonly onFault: (cause: unknown) => void
}

export interface TraceSink {
  /** Bound for the calls that wait for their commit. */
  readonly pendingMax: number
  add(call: TracedCall): void
  /** Counts spans that are not exported. */
  drop(spans: number, reason: 'late' | 'queue_full' | 'unreadable'): void
}

const LATE_MS = 60_000

export class CallObserver {
  readonly #options: CallObserverOptions
  #pending: TracedCall[] = []
  /** Numbers of spans. */
  readonly #dropped = { late: 0, queue_full: 0, unreadable: 0 }

  constructor(options: CallObserverOptions) {
    this.#options = options
  }

  add(batch: RecordBatch): void {
    const { traces, durations } = this.#options
    if (durations === null && !(traces !== null && batch.hasNotes)) return
    this.#attempt(() => this.#read(batch))
  }

  commit(): void {
    const { traces, durations } = this.#options
    this.#attempt(() => {
      durations?.commit()
      for (const call of this.#pending) traces?.add(call)
      for (const reason of ['late', 'queue_full', 'unreadable'] as const) {
        if (this.#dropped[reason] > 0) traces?.drop(this.#dropped[reason], reason)
      }
    })
    this.#evict()
  }

  reset(): void {
    this.#options.durations?.reset()
    this.#evict()
  }

  #read(batch: RecordBatch): void {
    const { traces, durations, startMs } = this.#options
    for (let index = 0; index < batch.count; index++) {
      const outcome = batch.outcome(index)
      if (IS_NOTE[outcome] === true) continue
      const isLate = batch.timeMs(index) < startMs - LATE_MS
      if (durations !== null && !isLate) {
        const attribution = batch.attributions[batch.attributionId(index)]!
        durations.add(attribution, batch.status(index), outcome, batch.durationUs(index) / 1_000_000)
      }
      const text = traces === null ? '' : batch.trace(index)
      if (text === '') continue
      if (isLate) this.#dropped.late += countSpans(text)
      else if (this.#pending.length >= traces!.pendingMax) this.#dropped.queue_full += countSpans(text)
      else this.#addTrace(batch, index, text)
    }
  }

  #addTrace(batch: RecordBatch, index: number, text: string): void {
    const trace = readTraceText(text)
    if (trace === null) this.#dropped.unreadable += countSpans(text)
    else this.#pending.push({ record: batch.at(index), requestId: batch.requestId(index), trace })
  }

  #evict(): void {
    this.#pending = []
    this.#dropped.late = this.#dropped.queue_full = this.#dropped.unreadable = 0
  }

  #attempt(step: () => void): void {
    try {
      step()
    } catch (cause) {
      this.#options.onFault(cause)
    }
  }
}
