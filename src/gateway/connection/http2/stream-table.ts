/** The streams of a connection: those that are open, and what is known of others. */

import { ERROR } from './frame.ts'
import type { OpenStream } from './open-stream.ts'

/** Streams of each kind that are remembered; more than a client can have in flight. */
const RECENT_MAX = 1_024

export class StreamTable {
  /** The last stream that the client has opened. */
  last = 0
  readonly #open = new Map<number, OpenStream>()
  /** Streams that the client has ended. */
  readonly #received = new Set<number>()
  /** Streams on which the client may still send: it may not know yet that the gateway has reset them. */
  readonly #reset = new Set<number>()
  /** Streams that have ended, but for telling. */
  #ending: OpenStream[] = []

  get size(): number {
    return this.#open.size
  }

  /** Whether no stream is open, or waits for `notifyEnded`. */
  get isEmpty(): boolean {
    return this.#open.size === 0 && this.#ending.length === 0
  }

  get(id: number): OpenStream | undefined {
    return this.#open.get(id)
  }

  all(): Iterable<OpenStream> {
    return this.#open.values()
  }

  add(stream: OpenStream): void {
    this.#open.set(stream.id, stream)
  }

  has(stream: OpenStream): boolean {
    return this.#open.get(stream.id) === stream
  }

  /** The stream has ended; `notifyEnded` says so. */
  end(stream: OpenStream): void {
    this.#open.delete(stream.id)
    this.refuse(stream.id, stream.isReceived)
    this.#ending.push(stream)
  }

  /** The stream is over, or was never served. */
  refuse(id: number, isReceived: boolean): void {
    const recent = isReceived ? this.#received : this.#reset
    recent.add(id)
    if (recent.size <= RECENT_MAX) return
    for (const oldest of recent) {
      recent.delete(oldest)
      return
    }
  }

  /** Returns the error that a frame is whose stream is not open; 0 if it is ignored. */
  faultIn(id: number): number {
    if (this.#reset.has(id)) return ERROR.none
    return this.#received.has(id) ? ERROR.streamClosed : ERROR.protocol
  }

  abortAll(): void {
    for (const stream of this.#open.values()) stream.abort()
  }

  /** Notifies streams that have ended. A complete response waits until the socket has got all of it. */
  notifyEnded(isFlushed: boolean): void {
    if (this.#ending.length === 0) return
    const ending = this.#ending
    this.#ending = []
    for (const stream of ending) {
      if (isFlushed || stream.isOver) stream.onClosed(isFlushed)
      else this.#ending.push(stream)
    }
  }

  /** Notifies all streams that the connection has ended. */
  notifyAll(): void {
    for (const stream of this.#ending.splice(0)) stream.onClosed(false)
  }
}
