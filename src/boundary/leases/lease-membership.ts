/**
 * Membership of a node in a generation of the grantor.
 *
 * A node may send requests after it has measured the grantor's clock, and another node, which had measured it before, has confirmed
 * it since: a clock that was set in between would make rates leak too much. The node that begins a generation needs no confirmation,
 * since nothing of before counts in it. If there is no node that could confirm, a new generation is needed. A grantor of totals only
 * needs no confirmation.
 */

import type { NodeMoment } from './lease-cell.ts'
import type { GenerationReply, HelloMessage, LeaseReply, OpenMessage } from './lease-messages.ts'
import type { LeaseTimings } from './lease-timings.ts'
import { ServerClock, type Exchange } from './server-clock.ts'

/** A generation as PostgreSQL numbers them. */
export interface OpenedEpoch {
  readonly epoch: number
  readonly isFirst: boolean
  readonly members: readonly string[]
  /** Milliseconds since the end of each member that has ended. */
  readonly ended?: Readonly<Record<string, number>>
}

export class LeaseMembership {
  readonly clock: ServerClock
  readonly #timings: LeaseTimings
  #isServing = false
  #epoch = 0
  #runId = ''
  /** Confirmations when the node measured the clock first since it joined; null before. */
  #confirmations: number | null = null
  #joiningSinceMs: number
  #helloDueMs = -Infinity
  #isOpenNeeded = false
  #opened: OpenedEpoch | null = null
  #own: NodeMoment | null = null

  constructor(timings: LeaseTimings, monotonicMs: number) {
    this.#timings = timings
    this.clock = new ServerClock(timings.toleranceMs, timings.requestMs)
    this.#joiningSinceMs = monotonicMs
  }

  get epoch(): number {
    return this.#epoch
  }

  /** Whether requests may be sent. */
  get isServing(): boolean {
    return this.#isServing
  }

  /** The number that a new generation must exceed; null if none is needed. */
  get openAbove(): number | null {
    return this.#isOpenNeeded && this.#opened === null ? this.#epoch : null
  }

  open(opened: OpenedEpoch): void {
    this.#opened = opened
  }

  /** Whether a clock of the node itself was set, or stood still, since the last call. */
  hasOwnClockStepped(moment: NodeMoment): boolean {
    const before = this.#own
    this.#own = moment
    if (before === null) return false
    const stepMs = moment.wallMs - before.wallMs - (moment.monotonicMs - before.monotonicMs)
    return Math.abs(stepMs) > this.#timings.toleranceMs
  }

  /** Measures the grantor's clock anew, and waits for its confirmation. */
  rejoin({ monotonicMs }: NodeMoment): void {
    this.#isServing = false
    this.#confirmations = null
    this.#helloDueMs = -Infinity
    this.#joiningSinceMs = monotonicMs
  }

  /** Returns the next message of a node that does not serve yet. */
  next({ monotonicMs }: NodeMoment): HelloMessage | OpenMessage | null {
    if (this.#opened !== null && this.#confirmations !== null) {
      const notAfterMs = this.clock.latestMs(monotonicMs) + this.#timings.requestMs
      return { type: 'open', ...this.#opened, runId: this.#runId, notAfterMs }
    }
    if (monotonicMs < this.#helloDueMs) return null
    this.#helloDueMs = monotonicMs + this.#timings.heartbeatMs / 5
    return { type: 'hello' }
  }

  /** Returns false if the reply shows that a clock was set, so that it must not be used. */
  acceptClock(reply: LeaseReply, sent: NodeMoment, received: NodeMoment): boolean {
    return this.clock.accept(toExchange(reply, sent, received))
  }

  /** Returns true if the node has joined another generation. A reply that took too long to measure the clock is ignored. */
  acceptGeneration(reply: GenerationReply, sent: NodeMoment, received: NodeMoment): boolean {
    if (received.monotonicMs - sent.monotonicMs > this.#timings.requestMs) return false
    const exchange = toExchange(reply, sent, received)
    this.#runId = reply.runId
    if (reply.epoch === 0) {
      this.#measure(reply, exchange)
      this.#isServing = false
      this.#isOpenNeeded = true
      this.#opened = null
      return false
    }
    if (reply.epoch !== this.#epoch) {
      this.#epoch = reply.epoch
      this.#isServing = reply.isOpener || this.#timings.vouchMs === null
      this.#isOpenNeeded = false
      this.#opened = null
      this.#measure(reply, exchange)
      this.#joiningSinceMs = received.monotonicMs
      return true
    }
    this.#confirm(reply, exchange)
    return false
  }

  #measure({ confirmations }: GenerationReply, exchange: Exchange): void {
    this.clock.reset(exchange)
    this.#confirmations = confirmations
  }

  #confirm(reply: GenerationReply, exchange: Exchange): void {
    if (this.#isServing) return
    const { vouchMs } = this.#timings
    const isKnown = this.#confirmations !== null && this.clock.accept(exchange)
    const isConfirmed = isKnown && reply.confirmations > this.#confirmations!
    if (!isKnown) this.#measure(reply, exchange)
    if (isConfirmed || vouchMs === null) {
      this.#isServing = true
      this.#isOpenNeeded = false
      this.#opened = null
    } else if (isKnown && exchange.receivedMs - this.#joiningSinceMs > vouchMs) this.#isOpenNeeded = true
  }
}

function toExchange({ nowMs }: LeaseReply, sent: NodeMoment, received: NodeMoment): Exchange {
  return { sentMs: sent.monotonicMs, receivedMs: received.monotonicMs, serverMs: nowMs }
}
