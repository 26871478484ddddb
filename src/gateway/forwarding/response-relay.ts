/**
 * Streams the response of a backend to the client.
 *
 * Holds back the end of the response until the call is recorded: the final chunk if the length is known, the
 * terminating chunk otherwise (see `call.ts`). The first chunk is sent at the end of the turn of the event loop,
 * because most responses are complete by then and need only one system call.
 *
 * While the client does not read, the backend is paused and the client's deadline runs (`reader-watch.ts`).
 * Otherwise the backend's deadline runs.
 */

import type { Call } from '../call/call.ts'
import type { BodySample } from './drift-sampling.ts'
import type { DriftWatch } from './drift-watch.ts'
import { editHeaders, type HeaderEdit } from '../headers/header-edit.ts'
import type { HeaderRules } from '../headers/header-rules.ts'
import type { ChunkWriter } from '../connection/chunk-writer.ts'
import type { Exchange } from '../connection/exchange.ts'
import type { HeaderMemo } from '../connection/header-memo.ts'
import type { ReaderWatch } from '../connection/reader-watch.ts'
import type { CompiledOperation } from '../call/revision.ts'
import type { TurnEnd, TurnMember } from '../../foundation/runtime/turn-end.ts'
import { readResponseHead, type ResponseHead } from '../headers/upstream-response.ts'
import type { UsageMeter } from './usage-meter.ts'

export interface RelayOptions {
  readonly responseRules: HeaderRules
  readonly turnEnd: TurnEnd
  readonly drift: DriftWatch
  readonly readers: Pick<ReaderWatch, 'enter' | 'leave'>
  readonly operation: CompiledOperation
  readonly responseEdit: HeaderEdit | null
  readonly method: string
  /** Counts the units of the call; null if they are known before. */
  readonly meter: UsageMeter | null
}

/** Consumer of the response of a backend. */
export interface ResponseSink {
  readonly bytesReceived: number
  readonly isHeadSent: boolean
  /** True while the client does not read. */
  readonly isPaused: boolean
  /** True if the response ended before its Content-Length. */
  readonly isTruncated: boolean
  /** True if no more of the response is wanted. */
  readonly isFull: boolean
  /** Reads the head of the response. Returns false if its headers are invalid. */
  takeHead(exchange: Exchange, status: number, headers: HeaderMemo): boolean
  /** Returns who writes the chunk; null if it is kept. */
  takeChunk(exchange: Exchange, chunk: Buffer): ChunkWriter | null
  /** Finishes the call. */
  end(): void
  /** Passes on nothing more. */
  stop(): void
}

/** Deadline of the backend. */
export interface UpstreamDeadline {
  restart(): void
  stop(): void
}

export class ResponseRelay implements ResponseSink, TurnMember {
  readonly isFull = false
  readonly #call: Call
  readonly #options: RelayOptions
  readonly #deadline: UpstreamDeadline
  #exchange: Exchange | null = null
  /** Content-Length of the backend's response, or -1. */
  #contentLength = -1
  #received = 0
  /** Chunk that is not sent yet. */
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

  get isPaused(): boolean {
    return this.#exchange?.isPaused === true
  }

  get isTruncated(): boolean {
    if (this.#contentLength < 0 || this.#received >= this.#contentLength) return false
    return this.#options.method !== 'HEAD' && this.#call.status !== 304
  }

  takeHead(exchange: Exchange, status: number, headers: HeaderMemo): boolean {
    const { drift, operation, responseEdit } = this.#options
    const call = this.#call
    const head = readHeadFor(this.#options, status, headers)
    if (head.isUnreadable) return false
    call.status = status
    call.head = responseEdit === null ? head : { ...head, lines: editHeaders(responseEdit, head.lines) }
    this.#contentLength = head.length
    this.#sample = drift.checkHead(call, operation, status, head)
    this.#exchange = exchange
    this.#joinTurnEnd()
    return true
  }

  takeChunk(exchange: Exchange, chunk: Buffer): ChunkWriter | null {
    const held = this.#held
    if (this.#sample !== null) this.#sample.add(chunk)
    this.#received += chunk.length
    if (this.#contentLength >= 0 && this.#received > this.#contentLength) {
      throw new Error('a response has more bytes than its head says')
    }
    if (held !== null) {
      this.#held = null
      this.#write(held)
    }
    const isComplete = this.#received === this.#contentLength
    if (isComplete || this.#contentLength < 0) {
      this.#held = chunk
      if (!isComplete) this.#joinTurnEnd()
    } else this.#write(chunk)
    // A complete body needs no new deadline: most backends send the end of the response in the same turn.
    if (!isComplete && !exchange.isPaused) this.#deadline.restart()
    return this.#held === null && this.#sample === null ? this.#call.response : null
  }

  /** Records the call, then sends the end of the response. */
  end(): void {
    const call = this.#call
    const held = this.#held
    if (held !== null && this.#contentLength < 0 && !this.#isHeadSent) {
      call.head = { ...call.head, lines: `${call.head.lines}Content-Length: ${held.length}\r\n`, length: held.length }
    }
    if (held !== null) this.#options.meter?.deliver(held)
    call.finish('served', held)
    if (this.#sample !== null) this.#sample.end()
  }

  /** Ends the relay: sends nothing more and stops the client's deadline. */
  stop(): void {
    this.#isStopped = true
    if (this.isPaused) this.#options.readers.leave(this.#call)
  }

  /** Sends the received part of a response that is not complete at the end of the turn. */
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
    if (held !== null && this.#contentLength < 0) {
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
    const { meter } = this.#options
    if (meter !== null && !response.destroyed) meter.deliver(chunk)
    if (response.write(chunk) || response.destroyed) return
    const exchange = this.#exchange
    if (exchange === null || exchange.isPaused) return
    exchange.pause()
    this.#deadline.stop()
    this.#options.readers.enter(this.#call)
    response.once('drain', () => this.#call.attempt(() => this.#resume()))
  }

  #resume(): void {
    if (this.#isStopped) return
    this.#options.readers.leave(this.#call)
    this.#deadline.restart()
    this.#exchange?.resume()
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

/** Reads the head of a response, also for the meter of the call. */
export function readHeadFor({ meter, responseRules }: RelayOptions, status: number, headers: HeaderMemo): ResponseHead {
  if (meter !== null) return meter.readHead(status, headers, responseRules)
  return readResponseHead(status, headers, responseRules)
}
