/**
 * A request that arrives on one of our connections, over either version of HTTP.
 *
 * Its body is buffered until it flows: from the first `data` listener or `resume` on, unless it is paused. Listeners are never
 * called within `on` or `resume`.
 */

import type { IncomingHttpHeaders } from 'node:http'
import type { Socket } from 'node:net'
import { NOTHING_WAITS, type ChunkWriter } from './chunk-writer.ts'
import type { ClientRequest } from './client.ts'
import type { HeaderMemo } from './header-memo.ts'
import { Listeners } from './http1/listeners.ts'
import { toHeaders } from './http1/received-headers.ts'

/** The connection of a request. */
export interface RequestCarrier {
  readonly socket: Socket
  /** Stops or continues reading, because of the buffered part of a body. */
  holdBody(isHeld: boolean): void
  /** Runs a step of a listener; a fault ends the connection. */
  guard(step: () => void): void
}

/** As much of a body is buffered, and what arrives with the same read. */
const BUFFERED_BYTES_MAX = 65_536
/** Memory of a chunk besides its bytes: a body may consist of many chunks of one byte. */
const CHUNK_BYTES = 128
/** As many chunks become one, so that those of one byte need less memory. */
const JOINED_CHUNKS = 512

export abstract class ReceivedRequest extends Listeners implements ClientRequest {
  readonly method: string
  readonly url: string
  abstract readonly httpVersionMajor: number
  abstract readonly httpVersionMinor: number
  readonly headerMemo: HeaderMemo
  writer: ChunkWriter | null = null
  /** The whole request has arrived. */
  complete = false
  /** Null until the body is wanted. */
  readableFlowing: boolean | null = null

  readonly #carrier: RequestCarrier
  /** Bytes of the body that have arrived. */
  protected receivedBytes = 0
  #headers: IncomingHttpHeaders | null = null
  #buffered: Buffer[] = []
  /** The first chunk of `#buffered` that was not passed on. */
  #next = 0
  #bufferedBytes = 0
  #isHeld = false
  #isFlowQueued = false
  /** The listeners get each chunk as it arrives. */
  #isFlowing = false
  #isDiscarded = false
  #isClosed = false

  constructor(carrier: RequestCarrier, method: string, target: string, headerMemo: HeaderMemo) {
    super()
    this.#carrier = carrier
    this.method = method
    this.url = target
    this.headerMemo = headerMemo
  }

  get socket(): Socket {
    return this.#carrier.socket
  }

  get rawHeaders(): readonly string[] {
    return this.headerMemo.raw
  }

  get headers(): IncomingHttpHeaders {
    return (this.#headers ??= toHeaders(this.rawHeaders))
  }

  override on(event: string, listener: (...parts: never[]) => void): void {
    super.on(event, listener)
    if (event === 'data' && this.readableFlowing !== false) this.resume()
  }

  pause(): void {
    this.readableFlowing = false
    this.#isFlowing = false
  }

  resume(): void {
    this.readableFlowing = true
    if (this.#isFlowing || this.#isFlowQueued || this.#isClosed) return
    this.#isFlowQueued = true
    process.nextTick(flow, this)
  }

  /** A part of the body has arrived. */
  receive(chunk: Buffer): void {
    this.receivedBytes += chunk.length
    if (this.#isDiscarded || this.#isClosed) return
    if (this.#isFlowing) return this.#emitData(chunk)
    this.#buffered.push(chunk)
    this.#bufferedBytes += chunk.length + CHUNK_BYTES
    if (this.#buffered.length === JOINED_CHUNKS) this.#joinBuffered()
    if (this.#bufferedBytes >= BUFFERED_BYTES_MAX) this.#hold(true)
  }

  /** A part of the body has arrived in memory that is used again. Returns who may still need it. */
  lend(chunk: Buffer): ChunkWriter {
    const { writer } = this
    if (writer === null || !this.#isFlowing || this.#isDiscarded || this.#isClosed) {
      this.receive(Buffer.from(chunk))
      return NOTHING_WAITS
    }
    this.receivedBytes += chunk.length
    this.#emitData(chunk)
    // The rest stays in the kernel, instead of being copied.
    if (this.readableFlowing !== true && !this.#isClosed) this.#hold(true)
    return writer
  }

  /** A part of the body is passed on to a listener. */
  protected onPassedOn(_bytes: number): void {}

  /** The body is complete. */
  finish(): void {
    this.complete = true
    if (this.#isFlowing) this.#end()
  }

  /** Ignores what is left of the body after the response, unless it is read. */
  discard(): void {
    if (this.#isClosed || (this.readableFlowing !== null && !this.complete)) return
    this.#isDiscarded = true
    this.#drop()
  }

  /** The connection has ended, or the request. */
  close(): void {
    if (this.#isClosed) return
    this.#isClosed = true
    this.#drop()
    this.#carrier.guard(() => this.emit('close'))
  }

  /** Passes on what is buffered, then what arrives. */
  flow(): void {
    this.#isFlowQueued = false
    while (this.readableFlowing === true && !this.#isClosed) {
      const chunk = this.#buffered[this.#next]
      if (chunk === undefined) return this.#flowOn()
      this.#next++
      this.#emitData(chunk)
    }
  }

  /** Nothing is buffered any more. */
  #flowOn(): void {
    this.#isFlowing = true
    this.#drop()
    if (this.complete) this.#end()
  }

  #drop(): void {
    this.#buffered = []
    this.#next = this.#bufferedBytes = 0
    this.#hold(false)
  }

  #joinBuffered(): void {
    this.#buffered = [Buffer.concat(this.#buffered.slice(this.#next))]
    this.#next = 0
  }

  #emitData(chunk: Buffer): void {
    this.onPassedOn(chunk.length)
    this.#carrier.guard(() => this.emit('data', chunk))
  }

  #end(): void {
    this.#isFlowing = false
    this.#carrier.guard(() => this.emit('end'))
    this.close()
  }

  #hold(isHeld: boolean): void {
    if (this.#isHeld === isHeld) return
    this.#isHeld = isHeld
    this.#carrier.holdBody(isHeld)
  }
}

function flow(request: ReceivedRequest): void {
  request.flow()
}
