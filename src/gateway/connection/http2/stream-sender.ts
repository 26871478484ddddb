/**
 * Sends what the streams of a connection have written.
 *
 * Frames are collected until the end of the turn. Streams that have more than a frame take turns, as far as their windows, that of
 * the connection and its socket allow.
 */

import type { Socket } from 'node:net'
import { createTurnEnd, type TurnMember } from '../../../foundation/runtime/turn-end.ts'
import { WINDOW_BYTES, WINDOW_BYTES_MAX } from './frame.ts'
import { FrameWriter } from './frame-writer.ts'
import { HpackEncoder } from './hpack-encoder.ts'
import { HTTP2_BOUNDS } from './http2-bounds.ts'
import type { OpenStream } from './open-stream.ts'

const { unsentBytes } = HTTP2_BOUNDS
/** In one turn, a connection sends this many times what its socket takes at once. */
const ROUNDS_MAX = 4

/** All connections of the thread. */
const turnEnd = createTurnEnd()

export interface SenderOwner {
  /** Reads nothing while frames that answer others wait for the client to read. */
  holdReading(isHeld: boolean): void
  /** The turn ends; `isFlushed` if the socket has got all frames. */
  onFlushed(isFlushed: boolean): void
  /** Runs a step that must not throw for the other connections of the turn. */
  guard(step: () => void): void
}

export class StreamSender implements TurnMember {
  readonly writer = new FrameWriter()
  readonly encoder = new HpackEncoder()
  readonly #socket: Socket
  readonly #owner: SenderOwner
  readonly #ready = new Set<OpenStream>()
  #window: number = WINDOW_BYTES
  #isQueued = false
  #isHeld = false

  constructor(socket: Socket, owner: SenderOwner) {
    this.#socket = socket
    this.#owner = owner
    socket.on('drain', () => this.sendSoon(null))
  }

  /** Whether the client has allowed nothing more. */
  get isWindowClosed(): boolean {
    return this.#window <= 0
  }

  /** Returns false if the window would be larger than it may be. */
  grant(bytes: number): boolean {
    this.#window += bytes
    if (this.#window > WINDOW_BYTES_MAX) return false
    this.sendSoon(null)
    return true
  }

  /** Sends frames at the end of the turn, and what the stream has written. */
  sendSoon(stream: OpenStream | null): void {
    if (stream !== null) this.#ready.add(stream)
    if (this.#isQueued) return
    this.#isQueued = true
    turnEnd.join(this)
  }

  evict(stream: OpenStream): void {
    this.#ready.delete(stream)
  }

  onTurnEnd(): void {
    this.#isQueued = false
    this.#owner.guard(() => this.flush())
  }

  flush(): void {
    const socket = this.#socket
    for (let round = 0; round < ROUNDS_MAX && this.#isOpen; round++) {
      const sent = this.#collect()
      if (this.writer.bytes === 0) break
      socket.write(this.writer.take())
      for (const stream of sent) stream.onFlushed()
    }
    if (this.#isOpen && this.#hasReady()) this.sendSoon(null)
    this.#hold(socket.writableNeedDrain && this.writer.bytes >= unsentBytes)
    this.#owner.onFlushed(this.writer.bytes === 0)
  }

  /** Whether the socket takes something now. */
  get #isOpen(): boolean {
    return this.#socket.writable && !this.#socket.writableNeedDrain
  }

  /** Whether a stream could send, if the socket allows. */
  #hasReady(): boolean {
    if (this.writer.bytes > 0) return true
    for (const stream of this.#ready) if (stream.isReady && (this.#window > 0 || stream.queuedBytes === 0)) return true
    return false
  }

  /** Lets streams write frames, one each in turn. Returns those that did. */
  #collect(): ReadonlySet<OpenStream> {
    const sent = new Set<OpenStream>()
    const waiting: OpenStream[] = []
    for (const stream of this.#ready) {
      if (this.writer.bytes >= unsentBytes) break
      // A stream that is added again comes after the others.
      this.#ready.delete(stream)
      if (!stream.isReady) continue
      if (this.#window <= 0 && stream.queuedBytes > 0) {
        waiting.push(stream)
        continue
      }
      this.#window -= stream.sendNext(Math.max(0, this.#window))
      sent.add(stream)
      if (stream.isReady) this.#ready.add(stream)
    }
    for (const stream of waiting) this.#ready.add(stream)
    return sent
  }

  #hold(isHeld: boolean): void {
    if (isHeld === this.#isHeld) return
    this.#isHeld = isHeld
    this.#owner.holdReading(isHeld)
  }
}
