/** One direction of a WebSocket: passes on valid frames, as fast as the other side reads them. */

import type { Socket } from 'node:net'
import { FrameParser, type FrameParserOptions, type FrameReceiver } from './frame-parser.ts'
import type { CloseCode } from './frames.ts'

export interface PipeEvents {
  /** Bytes have arrived. */
  onActive(): void
  onMessage(): void
  onPayload(bytes: number): void
  onClose(payload: Buffer): void
  /** The source has sent an invalid frame. */
  onFault(code: CloseCode): void
  /** The target does not read, or reads again. */
  onBlocked(isBlocked: boolean): void
  /** A fault of the gateway. */
  onCrash(cause: unknown): void
}

export interface PipeOptions extends FrameParserOptions {
  readonly source: Socket
  readonly target: Socket
  readonly events: PipeEvents
}

/** Writes that may wait for the target: each needs memory besides its bytes. */
const WRITES_MAX = 64

export class FramePipe implements FrameReceiver {
  readonly #options: PipeOptions
  readonly #parser: FrameParser
  #writes = 0
  #isBlocked = false
  /** Nothing more is passed on. */
  #isStopped = false

  constructor(options: PipeOptions) {
    this.#options = options
    this.#parser = new FrameParser(this, options)
  }

  /** Whether a frame of the gateway may be written to the target. */
  get isBetweenFrames(): boolean {
    return this.#parser.isBetweenFrames
  }

  /** Begins with bytes that were read before. */
  start(rest: Buffer | null): void {
    if (rest !== null && rest.length > 0) this.#take(rest)
    this.#options.source.on('data', this.#take)
    if (this.#isBlocked) this.#options.source.pause()
  }

  /** Passes on nothing more. Still reports a close frame of the source. */
  stop(): void {
    if (this.#isStopped) return
    this.#isStopped = true
    const { source, events } = this.#options
    if (this.#isBlocked) events.onBlocked(false)
    source.resume()
  }

  pass(bytes: Buffer): void {
    if (this.#isStopped) return
    const { source, target, events } = this.#options
    this.#writes++
    const mayContinue = target.write(bytes, this.#onWritten)
    if (this.#isBlocked || (mayContinue && this.#writes < WRITES_MAX)) return
    this.#isBlocked = true
    source.pause()
    events.onBlocked(true)
  }

  onMessage(): void {
    if (!this.#isStopped) this.#options.events.onMessage()
  }

  onPayload(bytes: number): void {
    if (!this.#isStopped) this.#options.events.onPayload(bytes)
  }

  onClose(payload: Buffer): void {
    this.#options.events.onClose(payload)
  }

  readonly #take = (chunk: Buffer): void => {
    const { events } = this.#options
    try {
      events.onActive()
      const fault = this.#parser.parse(chunk)
      if (fault !== 0) events.onFault(fault)
    } catch (cause) {
      events.onCrash(cause)
    }
  }

  readonly #onWritten = (): void => {
    this.#writes--
    if (!this.#isBlocked || this.#writes > 0 || this.#isStopped) return
    this.#isBlocked = false
    this.#options.events.onBlocked(false)
    this.#options.source.resume()
  }
}
