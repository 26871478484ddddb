/**
 * Sends the signals of this node.
 *
 * The spool is the source: signals are made from a range of it, and sent together with its end, at most every 100 ms and at most 1,000 a
 * second. The position in the store decides where to continue, so that after a crash, a lost answer or an outage no call is lost or
 * counted twice. Nothing waits for it, and it has a position of its own: signals wait in the spool while the store is unavailable.
 *
 * If the spool fills up meanwhile, calls are more important: the signals of what others have read are given up.
 */

import type { RecordBatch } from '../../storage/spool/record-batch.ts'
import { isSame, isWithin, laterOf } from '../../storage/spool/spool-position.ts'
import type { SpoolReader } from '../../storage/spool/spool-reader.ts'
import type { Clock } from '../../foundation/runtime/clock.ts'
import type { CountEvent } from '../../foundation/runtime/event-reasons.ts'
import type { SpoolPosition } from '../../storage/store/checkpoint.ts'
import type { SignalStore, SourceState } from '../../storage/store/shared-risks.ts'
import { createSignalReducer, type SignalReducer } from './signal-reducer.ts'

export interface SignalSenderOptions {
  readonly reader: Pick<SpoolReader, 'read' | 'onGrowth'>
  readonly store: SignalStore
  /** Names the spool. */
  readonly source: string
  /** Nothing before this position is in the spool any more. */
  readonly from: SpoolPosition
  readonly clock: Pick<Clock, 'after' | 'every'>
  /** Whether the spool should be emptied. */
  readonly isPressed: () => boolean
  readonly count: CountEvent
  /** Signals could not be made or sent; they are repeated. */
  readonly onFailed: (cause: unknown) => void
  readonly signalsMax?: number
}

export interface SignalSender {
  start(): void
  /** Returns the position before which the spool is not needed. `others`: what all others have read. */
  held(others: SpoolPosition): SpoolPosition
  /** Sends everything that is written, once, and stops. Never rejects. */
  stop(): Promise<void>
}

const STRETCH_BYTES = 4 * 1024 * 1024
/** Stretches that are reduced together. */
const STRETCHES_MAX = 4
/** A stretch with fewer records ended at the end of the spool. */
const RECORDS_MANY = 1_024
const READ_EVERY_MS = 20
const SEND_EVERY_MS = 100
/** Time per signal: at most 1,000 in a second. */
const SIGNAL_MS = 1
const RETRY_MS = 1_000
const TICK_MS = 1_000
/** The position is sent without signals this often, so that a start does not read much again. */
const REPORT_EVERY_TICKS = 30

export function createSignalSender(options: SignalSenderOptions): SignalSender {
  return new Sender(options)
}

class Sender implements SignalSender {
  readonly #options: SignalSenderOptions
  readonly #reducer: SignalReducer
  /** Null: the store decides where to continue. */
  #state: SourceState | null = null
  /** Everything before it is in the store, or had no signals. */
  #confirmed: SpoolPosition
  /** Signals before it are given up. */
  #givenUp: SpoolPosition = {}
  #isWoken = false
  #isStopped = false
  #running: Promise<void> | null = null
  #endPause = (): void => {}
  #cancel = (): void => {}
  #ticks = 0

  constructor(options: SignalSenderOptions) {
    this.#options = options
    this.#confirmed = options.from
    const { count, signalsMax } = options
    this.#reducer = createSignalReducer({
      onMerged: () => count('risk_signal_merged'),
      ...(signalsMax && { signalsMax }),
    })
  }

  start(): void {
    const { reader, clock } = this.#options
    const stopListening = reader.onGrowth(() => this.#wake())
    const stopTicking = clock.every(TICK_MS, () => {
      this.#ticks++
      this.#wake()
    })
    this.#cancel = () => {
      stopListening()
      stopTicking()
    }
    this.#wake()
  }

  held(others: SpoolPosition): SpoolPosition {
    const { isPressed, count } = this.#options
    if (!isPressed() || isWithin(others, this.#kept)) return this.#kept
    this.#givenUp = laterOf(this.#givenUp, others)
    count('risk_signals_given_up')
    return this.#kept
  }

  async stop(): Promise<void> {
    this.#cancel()
    this.#isStopped = true
    this.#endPause()
    await this.#running
    await this.#sendNext()
  }

  get #kept(): SpoolPosition {
    return laterOf(this.#confirmed, this.#givenUp)
  }

  #wake(): void {
    this.#isWoken = true
    this.#running ??= this.#run().finally(() => {
      this.#running = null
      if (this.#isWoken && !this.#isStopped) this.#wake()
    })
  }

  async #run(): Promise<void> {
    while (this.#isWoken && !this.#isStopped) {
      this.#isWoken = false
      await this.#pause(await this.#sendNext())
    }
  }

  /** Sends the signals of the next range; returns the time until the next one may follow. Never rejects. */
  async #sendNext(): Promise<number> {
    try {
      const state = (this.#state ??= await this.#open())
      const { to, isMore } = await this.#reduce()
      if (isMore) this.#isWoken = true
      return await this.#send(state, to)
    } catch (cause) {
      this.#state = null
      this.#reducer.take()
      this.#isWoken = true
      this.#options.onFailed(cause)
      return RETRY_MS
    }
  }

  async #open(): Promise<SourceState> {
    const { store, source, from } = this.#options
    const state = await store.openSource(source, from)
    // A range without signals is not reported at once, and a restored store is behind.
    this.#confirmed = laterOf(this.#confirmed, state.position)
    return state
  }

  async #send(state: SourceState, to: SpoolPosition): Promise<number> {
    const { store, source, onFailed } = this.#options
    const isDue = this.#ticks >= REPORT_EVERY_TICKS && !isSame(to, state.position)
    if (this.#reducer.isEmpty && !isDue) {
      this.#confirmed = to
      return READ_EVERY_MS
    }
    this.#ticks = 0
    const signals = this.#reducer.take()
    const isSent = await store.send({ source, expected: state.sequence, position: to, signals })
    if (!isSent) {
      // An earlier batch, whose answer was lost, has been executed meanwhile.
      this.#state = null
      this.#isWoken = true
      onFailed(new Error(`the source of signals is not at ${state.sequence}`))
      return SEND_EVERY_MS
    }
    this.#state = { sequence: state.sequence + 1, position: to }
    this.#confirmed = to
    return Math.max(SEND_EVERY_MS, signals.length * SIGNAL_MS)
  }

  /** Reduces what follows what was sent, up to a limit. */
  async #reduce(): Promise<{ to: SpoolPosition; isMore: boolean }> {
    let to = this.#kept
    for (let stretch = 0; stretch < STRETCHES_MAX; stretch++) {
      let records = 0
      const add = (batch: RecordBatch): void => {
        records += batch.count
        this.#reducer.add(batch)
      }
      to = this.#options.reader.read(to, add, { bytesMax: STRETCH_BYTES })
      if (records < RECORDS_MANY) return { to, isMore: false }
      // Leaves room for other tasks.
      await new Promise<void>((resolve) => this.#options.clock.after(0, resolve))
    }
    return { to, isMore: true }
  }

  #pause(ms: number): Promise<void> {
    if (this.#isStopped) return Promise.resolve()
    return new Promise((resolve) => {
      const cancel = this.#options.clock.after(ms, resolve)
      this.#endPause = () => {
        cancel()
        resolve()
      }
    })
  }
}
