/**
 * Streams the response of a backend to the client.
 *
 * The end is held back until the call is recorded: the chunk that completes a known length, else the
 * terminating chunk (see `call.ts`). A first chunk waits for the end of the turn, because most responses
 * are whole by then and leave with one system call.
 *
 * While the client does not read, the backend is paused and the client's clock runs (`reader-watch.ts`);
 * otherwise the backend's.
 */

import type { Dispatcher } from 'undici'
import type { IncomingHttpHeaders } from 'undici/types/header.js'
import type { Call } from '../call/call.ts'
import type { BodySample } from './drift-sampling.ts'
import type { DriftWatch } from './drift-watch.ts'
import type { HeaderRules } from '../headers/header-rules.ts'
import type { ReaderWatch } from '../connection/reader-watch.ts'
import type { CompiledOperation } from '../call/revision.ts'
import type { TurnEnd, TurnMember } from '../../runtime/turn-end.ts'
import { readResponseHead } from '../headers/upstream-response.ts'

type Controller = Dispatcher.DispatchController

export interface RelayOptions {
  readonly responseRules: HeaderRules
  readonly turnEnd: TurnEnd
  readonly drift: DriftWatch
  readonly readers: Pick<ReaderWatch, 'enter' | 'leave'>
  readonly operation: CompiledOperation
}

/** The deadline of the backend. */
export interface UpstreamDeadline {
  restart(): void
  stop(): void
}

export class ResponseRelay implements TurnMember {
  readonly #call: Call
  readonly #options: RelayOptions
  readonly #deadline: UpstreamDeadline
  #controller: Controller | null = null
  /** Bytes the backend announced, or -1. */
  #announced = -1
  #received = 0
  #held: Buffer | null = null
  #isHeadSent = false
  #isQueued = false
  #isStopped = false
  #sample: BodySample | null = null

  constructor(call: Call, options: RelayOptions, deadline: UpstreamDeadline) {
    this.#call = call
    this.#options = options
    this.#deadline = deadline
  }

  get bytesReceived(): number {
    return this.#received
  }

  get isHeadSent(): boolean {
    return this.#isHeadSent
  }

  /** The client is waited for. */
  get isPaused(): boolean {
    return this.#controller?.paused === true
  }

  /** The backend has ended before the length that it announced. */
  get isCutShort(): boolean {
    if (this.#announced < 0 || this.#received >= this.#announced) return false
    return this.#call.request.method !== 'HEAD' && this.#call.status !== 304
  }

  /** False if the response cannot be read. */
  head(controller: Controller, status: number, headers: IncomingHttpHeaders): boolean {
    const { responseRules, drift, operation } = this.#options
    const call = this.#call
    const { headers: kept, length, isUnreadable } = readResponseHead(status, headers, responseRules)
    if (isUnreadable) return false
    call.status = status
    call.head = kept
    this.#announced = length
    this.#sample = drift.checkHead(call, operation, status, headers)
    this.#controller = controller
    this.#joinTurnEnd()
    return true
  }

  chunk(controller: Controller, chunk: Buffer): void {
    const held = this.#held
    if (this.#sample !== null) this.#sample.add(chunk)
    this.#received += chunk.length
    if (held !== null) {
      this.#held = null
      this.#write(held)
    }
    const isWhole = this.#received === this.#announced
    if (isWhole || this.#announced < 0) {
      this.#held = chunk
      if (!isWhole) this.#joinTurnEnd()
    } else this.#write(chunk)
    // Nothing is missing but the word that it ends, which most responses bring in the same turn.
    if (!isWhole && !controller.paused) this.#deadline.restart()
  }

  /** The response is whole: records the call, then sends what is held. */
  end(): void {
    const call = this.#call
    const held = this.#held
    if (held !== null && this.#announced < 0 && !this.#isHeadSent) {
      call.head.push('Content-Length', String(held.length))
    }
    call.finish('served', held)
    if (this.#sample !== null) this.#sample.end()
  }

  /** Nothing more is sent, and nobody is waited for. */
  stop(): void {
    this.#isStopped = true
    if (this.isPaused) this.#options.readers.leave(this.#call)
  }

  /** The turn is over and the response is not: what there is of it leaves now. */
  onTurnEnd(): void {
    this.#isQueued = false
    if (this.#isStopped) return
    try {
      this.#sendHeld()
    } catch (cause) {
      this.#call.crash(cause)
    }
  }

  #sendHeld(): void {
    const held = this.#held
    if (held !== null && this.#announced < 0) {
      this.#held = null
      this.#write(held)
    } else if (!this.#isHeadSent && held === null) {
      this.#sendHead()
      this.#call.response.flushHeaders()
    }
  }

  #write(chunk: Buffer): void {
    if (!this.#isHeadSent) this.#sendHead()
    const { response } = this.#call
    this.#call.responseBytes += chunk.length
    if (response.write(chunk) || response.destroyed) return
    const controller = this.#controller
    if (controller === null || controller.paused) return
    controller.pause()
    this.#deadline.stop()
    this.#options.readers.enter(this.#call)
    response.once('drain', () => this.#call.attempt(() => this.#resume()))
  }

  #resume(): void {
    if (this.#isStopped) return
    this.#options.readers.leave(this.#call)
    this.#deadline.restart()
    this.#controller?.resume()
  }

  #sendHead(): void {
    this.#isHeadSent = true
    this.#call.sendHead()
  }

  #joinTurnEnd(): void {
    if (this.#isQueued) return
    this.#isQueued = true
    this.#options.turnEnd.join(this)
  }
}
