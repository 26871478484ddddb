/** A response on a stream of HTTP/2. END_STREAM is sent by `end` only, so that a response that is broken off never looks complete. */

import type { Socket } from 'node:net'
import type { AnsweredCall, ClientResponse, ResponseEvent } from '../client.ts'
import { currentDateLine } from '../http1/response-head.ts'
import { Listeners } from '../http1/listeners.ts'
import { toResponseFields, type ResponseFields } from '../response-fields.ts'
import type { Http2Request } from './http2-request.ts'
import { StreamProgress } from './stream-progress.ts'

/** The stream of a response. */
export interface ResponseStream {
  readonly socket: Socket
  /** Bytes of all bodies on the connection that its client has accepted. */
  readonly connectionBytes: number
  /** Whether streams wait for the connection, instead of their own windows. */
  readonly isConnectionBlocked: boolean
  /** Bytes of the body that wait for a window or for the connection. */
  readonly queuedBytes: number
  /** Bytes of the body that do not wait any more. */
  readonly sentBytes: number
  /** The client has reset the stream, or the connection has ended. */
  readonly isOver: boolean
  /** Sends a head of lines `Name: value`. */
  sendHead(status: number, lines: string, isWhole: boolean): void
  /** Returns false if the client must read first. */
  write(chunk: Buffer): boolean
  /** Ends the stream behind what was written. */
  end(): void
  /** Resets the stream. */
  breakOff(): void
  /** Runs a step of a listener; a fault ends the stream. */
  guard(step: () => void): void
}

const LENGTH_LINE = /^content-length:.*\r\n/im
const EMPTY = toResponseFields(['Content-Length', '0'])
/** Statuses without a body. */
const BODILESS: ReadonlySet<number> = new Set([204, 205, 304])

export class Http2Response extends Listeners implements ClientResponse {
  call: AnsweredCall | null = null
  readonly request: Http2Request
  /** The connection does not depend on single responses. */
  shouldKeepAlive = true
  headersSent = false
  writableEnded = false
  writableFinished = false
  destroyed = false
  /** The response belongs to no call, so that nothing else disconnects a client that does not read it. */
  isRefusal = false
  /** The gateway has broken off the response. */
  isBrokenOff = false

  readonly #stream: ResponseStream
  readonly #progress: StreamProgress
  #status = 0
  #fields: ResponseFields = EMPTY
  #isHeadWritten = false
  #hasBody = true
  #bodyBytes = 0
  #needsDrain = false
  #isClosed = false

  constructor(stream: ResponseStream, request: Http2Request) {
    super()
    this.#stream = stream
    this.request = request
    this.#progress = new StreamProgress(stream.connectionBytes)
  }

  get socket(): Socket | null {
    return this.#isClosed ? null : this.#stream.socket
  }

  get writableLength(): number {
    return this.#stream.queuedBytes
  }

  deliveredBytes(bytesPerSecondMin: number): number {
    const { sentBytes, connectionBytes, isConnectionBlocked } = this.#stream
    return this.#progress.measure(sentBytes, connectionBytes, isConnectionBlocked, bytesPerSecondMin, performance.now())
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
    if (length >= 0 && this.#bodyBytes > length) {
      this.breakOff()
      return true
    }
    const mayGoOn = this.#stream.write(chunk)
    if (!mayGoOn) this.#needsDrain = true
    return mayGoOn
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
    const isWhole = isEmpty && !this.#isHeadWritten
    if (!this.#isHeadWritten) this.#sendHead(this.#hasBody ? bytes : -1, isWhole)
    if (!isWhole && !this.destroyed) {
      if (chunk !== null && this.#hasBody) this.#stream.write(chunk)
      this.#stream.end()
    }
    this.#notify('prefinish')
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
    if (!this.headersSent && !this.#stream.isOver) this.#stream.sendHead(100, '', false)
  }

  breakOff(): void {
    this.destroyed = true
    this.isBrokenOff = true
    this.#stream.breakOff()
  }

  /** One connection carries the calls of many readers. */
  disconnect(): void {
    this.breakOff()
  }

  /** All that was written is sent. */
  drained(): void {
    if (!this.#needsDrain || this.#isClosed) return
    this.#needsDrain = false
    this.#notify('drain')
  }

  /** The last byte was passed to the connection, or the stream or its connection has ended. */
  close(isFinished: boolean): void {
    if (this.#isClosed) return
    this.#isClosed = true
    this.writableFinished = isFinished
    this.destroyed = true
    const { call } = this
    if (call !== null) this.#stream.guard(() => call.clientGone())
    this.#notify('close')
  }

  #notify(event: ResponseEvent): void {
    if (this.listenerCount(event) > 0) this.#stream.guard(() => this.emit(event))
  }

  /** `bytes` is the length of the body if the fields do not have it; -1 if it is unknown. */
  #sendHead(bytes: number, isWhole: boolean): void {
    if (this.#status === 0) throw new Error('a response has no head')
    this.#isHeadWritten = true
    if (this.#stream.isOver) {
      this.destroyed = true
      return
    }
    const { lines, length, hasDate } = this.#fields
    // A backend may send a body with 205, which a client must not get (RFC 9110, 15.3.6).
    const sent = this.#hasBody || this.#status !== 205 ? lines : lines.replace(LENGTH_LINE, '')
    const framing = bytes >= 0 && length < 0 ? `Content-Length: ${bytes}\r\n` : ''
    this.#stream.sendHead(this.#status, `${sent}${hasDate ? '' : currentDateLine()}${framing}`, isWhole)
  }
}
