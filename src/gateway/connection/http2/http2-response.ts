/** A response on a stream of HTTP/2. END_STREAM is sent by `end` only, so that a response that is broken off never looks complete. */

import { constants, type ServerHttp2Stream } from 'node:http2'
import type { Socket } from 'node:net'
import type { AnsweredCall, ClientResponse, ResponseEvent } from '../client.ts'
import { Listeners } from '../http1/listeners.ts'
import { toResponseFields, type ResponseFields } from '../response-fields.ts'
import type { Http2Request, StreamCarrier } from './http2-request.ts'
import { PieceWriter } from './piece-writer.ts'
import { toHeadFields } from './response-head.ts'
import { StreamProgress } from './stream-progress.ts'

const EMPTY = toResponseFields(['Content-Length', '0'])
/** Statuses without a body, for which Node ends the stream with the head. */
const BODILESS: ReadonlySet<number> = new Set([204, 205, 304])
/** Becomes RST_STREAM with INTERNAL_ERROR; one object for all, since a stack costs more than the rest. */
const BROKEN_OFF = new Error('the response was broken off')

export class Http2Response extends Listeners implements ClientResponse {
  call: AnsweredCall | null = null
  readonly request: Http2Request
  /** The connection does not depend on single responses. */
  shouldKeepAlive = true
  headersSent = false
  writableEnded = false
  writableFinished = false
  destroyed = false
  /** The response belongs to no call, so that nobody else disconnects a client that does not read it. */
  isRefusal = false
  /** The gateway has broken off the response. */
  isBrokenOff = false

  readonly #carrier: StreamCarrier
  readonly #stream: ServerHttp2Stream
  readonly #pieces: PieceWriter
  readonly #progress: StreamProgress
  #status = 0
  #fields: ResponseFields = EMPTY
  #isHeadWritten = false
  #hasBody = true
  #bodyBytes = 0
  #isClosed = false

  constructor(carrier: StreamCarrier, request: Http2Request) {
    super()
    this.#carrier = carrier
    this.#stream = carrier.stream
    this.request = request
    this.#pieces = new PieceWriter(carrier.stream, () => this.#tell('drain'))
    this.#progress = new StreamProgress(carrier.deliveredBytes)
  }

  get socket(): Socket | null {
    return this.#isClosed ? null : this.#carrier.socket
  }

  get writableLength(): number {
    return this.#pieces.length
  }

  deliveredBytes(bytesPerSecondMin: number): number {
    const { deliveredBytes, isBlocked } = this.#carrier
    const own = this.#pieces.deliveredBytes
    return this.#progress.measure(own, deliveredBytes, isBlocked, bytesPerSecondMin, performance.now())
  }

  start(status: number, fields: ResponseFields): void {
    if (this.headersSent) throw new Error('a response has a second head')
    if (status < 200 || status > 599) throw new RangeError(`HTTP/2 has no status ${status}`)
    this.#status = status
    this.#fields = fields
    this.#hasBody = this.request.method !== 'HEAD' && !BODILESS.has(status)
    this.headersSent = true
  }

  /** The head of a response without a body is its end, so that `end` sends it. */
  flushHeaders(): void {
    if (this.#hasBody && !this.#isHeadWritten && !this.destroyed) this.#sendHead(-1, false)
  }

  write(chunk: Buffer): boolean {
    if (this.destroyed || this.writableEnded || !this.#hasBody) return true
    if (!this.#isHeadWritten) this.#sendHead(-1, false)
    if (chunk.length === 0 || this.destroyed) return true
    this.#bodyBytes += chunk.length
    const { length } = this.#fields
    if (length < 0 || this.#bodyBytes <= length) return this.#pieces.write(chunk)
    this.breakOff()
    return true
  }

  end(last: Buffer | string | null = null): void {
    if (this.destroyed || this.writableEnded) return
    this.writableEnded = true
    const chunk = typeof last === 'string' ? Buffer.from(last) : last
    const bytes = chunk?.length ?? 0
    this.#bodyBytes += bytes
    const { length } = this.#fields
    if (this.#hasBody && length >= 0 && this.#bodyBytes !== length) return this.breakOff()
    const isEmpty = !this.#hasBody || this.#bodyBytes === 0
    if (!this.#isHeadWritten) this.#sendHead(this.#hasBody ? bytes : -1, isEmpty)
    // Node has ended the stream with a head that is the whole response.
    if (!this.#stream.writableEnded) this.#pieces.end(chunk)
    this.#tell('prefinish')
  }

  endWith(last: Buffer | string | null): void {
    this.end(last)
  }

  /** A fault of one request does not concern the other streams. */
  refuse(status: number): void {
    this.isRefusal = true
    this.start(status, EMPTY)
    this.end()
  }

  askForBody(): void {
    if (this.headersSent || this.#isGone) return
    this.#stream.additionalHeaders({ [constants.HTTP2_HEADER_STATUS]: constants.HTTP_STATUS_CONTINUE })
  }

  breakOff(): void {
    this.destroyed = true
    this.isBrokenOff = true
    this.#pieces.drop()
    this.#stream.destroy(BROKEN_OFF)
  }

  /** One connection carries the calls of many readers. */
  disconnect(): void {
    this.breakOff()
  }

  /** The client has got all of it, or the stream or its connection has ended. */
  close(): void {
    if (this.#isClosed) return
    this.#isClosed = true
    const { aborted: isAborted, rstCode } = this.#stream
    // Node closes a stream when its last frame is written, which may be before the kernel has accepted it.
    this.writableFinished = this.writableEnded && !isAborted && rstCode === 0 && !this.isBrokenOff
    this.destroyed = true
    this.#pieces.drop()
    const { call } = this
    if (call !== null) this.#carrier.guard(() => call.clientGone())
    this.#tell('close')
  }

  #tell(event: ResponseEvent): void {
    if (this.listenerCount(event) > 0) this.#carrier.guard(() => this.emit(event))
  }

  /** A stream that its client has reset is closed a turn before its listeners are called. */
  get #isGone(): boolean {
    return this.destroyed || this.#stream.closed || this.#stream.destroyed
  }

  #sendHead(bytes: number, isWhole: boolean): void {
    if (this.#status === 0) throw new Error('a response has no head')
    this.#isHeadWritten = true
    if (this.#isGone) this.destroyed = true
    else this.#stream.respond(toHeadFields(this.#status, this.#fields, bytes), { endStream: isWhole })
  }
}
