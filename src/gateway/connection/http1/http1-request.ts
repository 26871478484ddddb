/**
 * A request that arrives on one of our connections.
 *
 * Its body is buffered until it flows: from the first `data` listener or `resume` on, unless it is paused. Listeners are never
 * called within `on` or `resume`.
 */

import { EventEmitter } from 'node:events'
import type { IncomingHttpHeaders } from 'node:http'
import type { Socket } from 'node:net'
import type { ClientRequest } from '../client.ts'
import type { HeaderMemo } from '../header-memo.ts'
import type { RequestLine } from './message-parser.ts'
import { toHeaders } from './received-headers.ts'

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

export class Http1Request extends EventEmitter implements ClientRequest {
  readonly method: string
  readonly url: string
  readonly httpVersionMajor: number
  readonly httpVersionMinor: number
  readonly headerMemo: HeaderMemo
  /** The whole request has arrived. */
  complete = false
  /** Null until somebody wants the body. */
  readableFlowing: boolean | null = null

  readonly #carrier: RequestCarrier
  #headers: IncomingHttpHeaders | null = null
  #buffered: Buffer[] = []
  #bufferedBytes = 0
  #isHeld = false
  #isFlowQueued = false
  /** The listeners get each chunk as it arrives. */
  #isFlowing = false
  #isDiscarded = false
  #isClosed = false

  constructor(carrier: RequestCarrier, line: RequestLine, headerMemo: HeaderMemo) {
    super()
    this.#carrier = carrier
    this.method = line.method
    this.url = line.target
    this.httpVersionMajor = line.major
    this.httpVersionMinor = line.minor
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

  override on(event: string, listener: (...parts: never[]) => void): this {
    super.on(event, listener as (...parts: unknown[]) => void)
    if (event === 'data' && this.readableFlowing !== false) this.resume()
    return this
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
    if (this.#isDiscarded || this.#isClosed) return
    if (this.#isFlowing) return this.#emitData(chunk)
    this.#buffered.push(chunk)
    this.#bufferedBytes += chunk.length
    if (this.#bufferedBytes >= BUFFERED_BYTES_MAX) this.#hold(true)
  }

  /** The body is complete. */
  finish(): void {
    this.complete = true
    if (this.#isFlowing) this.#end()
  }

  /** Ignores what is left of the body after the response, unless it is read. */
  discard(): void {
    if (this.#isClosed || (this.readableFlowing !== null && !this.complete)) return
    this.#isDiscarded = true
    this.#buffered = []
    this.#hold(false)
  }

  /** The connection has ended, or the request. */
  close(): void {
    if (this.#isClosed) return
    this.#isClosed = true
    this.#buffered = []
    this.#carrier.guard(() => this.emit('close'))
  }

  /** Passes on what is buffered, then what arrives. */
  flow(): void {
    this.#isFlowQueued = false
    while (this.readableFlowing === true && !this.#isClosed) {
      const chunk = this.#buffered.shift()
      if (chunk === undefined) {
        this.#isFlowing = true
        this.#hold(false)
        if (this.complete) this.#end()
        return
      }
      this.#bufferedBytes -= chunk.length
      this.#emitData(chunk)
    }
  }

  #emitData(chunk: Buffer): void {
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

function flow(request: Http1Request): void {
  request.flow()
}
