/**
 * A connection to a backend: carries one exchange at a time.
 *
 * A response ends where its framing says. A connection is used again only if the bytes of a read end with the response: what
 * follows would otherwise be taken for the response to another client's request. For the same reason a connection is closed if its
 * request was not sent completely, or if anything arrives while it is idle.
 */

import type { Socket } from 'node:net'
import type { Timed } from '../../../foundation/runtime/deadline-queue.ts'
import { exchangeError, RESPONSE_INVALID } from '../exchange.ts'
import { NOTHING_WAITS, type ChunkWriter } from '../chunk-writer.ts'
import { HeaderMemo } from '../header-memo.ts'
import type { ParserError } from '../parser-errors.ts'
import type { Carrier, Http1Exchange } from './http1-exchange.ts'
import { bodyBytesOf, concernsFraming, countableBytes } from './framing-headers.ts'
import { keepAliveMs } from './keep-alive.ts'
import type { MessageEnd, MessageParser, ResponseEvents, StatusLine } from './message-parser.ts'
import { ReadAhead } from './read-ahead.ts'
import { startBody, writeChunk, writeRequest } from './request-writing.ts'
import { closedBefore, closedWithin, faultIn, isInTrailer } from './response-fault.ts'
import { SocketReading } from './socket-reading.ts'
import { UnparsedBody, type UnparsedBodyReceiver } from './unparsed-body.ts'

/** Some backends send one every second while they work. */
const INTERIMS_MAX = 1_000

export interface ConnectionOwner {
  /** The connection has finished an exchange and can be used for another one. */
  onIdle(connection: Http1Connection): void
  onClosed(connection: Http1Connection): void
}

export class Http1Connection implements Carrier, ResponseEvents, UnparsedBodyReceiver, Timed {
  previous: Timed | null = null
  next: Timed | null = null
  dueAt = 0
  readonly createdAt = performance.now()
  /** How long the backend keeps the connection open while it is idle, as it has said; Infinity if it has not. */
  idleMs = Infinity
  /** Written by the owner. */
  idleSince = 0

  readonly #owner: ConnectionOwner
  readonly #socket: Socket
  readonly #parser: MessageParser
  readonly #reading: SocketReading
  readonly #unparsed: UnparsedBody
  readonly #readAhead: ReadAhead
  #exchange: Http1Exchange | null = null
  /** Headers of a long head so far. */
  #headers: string[] | null = null
  #isRequestSent = false
  /** Headers of the response that switches protocols. */
  #switch: readonly string[] | null = null
  /** Bytes have arrived since the request was written. */
  #hasBegun = false
  #interims = 0
  /** Headers of the response, once they are read. */
  #head: HeaderMemo | null = null
  #receivedBytes = 0
  /** Length of the body, if its bytes are counted; otherwise Infinity. */
  #countedBytes = Infinity
  /** Who writes the response to the client; null: its parts may be kept. */
  #writer: ChunkWriter | null = null
  /** The response is complete; its exchange ends with the read. */
  #isAnswered = false
  #mayStayOpen = true
  /** The response is complete, and what may follow it is awaited. */
  #isFinishing = false

  constructor(socket: Socket, parserFor: (events: ResponseEvents) => MessageParser, owner: ConnectionOwner) {
    this.#socket = socket
    this.#owner = owner
    this.#readAhead = new ReadAhead(socket)
    this.#parser = parserFor(this)
    this.#reading = new SocketReading(socket, this.#parser)
    this.#unparsed = new UnparsedBody(this.#reading, this.#parser, this, 1)
    socket.on('drain', () => this.#drained())
    socket.on('end', this.#onEnd)
    socket.on('error', (error) => this.#fail(this.#hasBegun ? closedWithin(error.message) : error))
    socket.on('close', () => this.#onClose())
  }

  get isOpen(): boolean {
    return !this.#socket.destroyed && this.#socket.writable
  }

  get writableLength(): number {
    return this.#socket.writableLength
  }

  /** Writes the request of an exchange. */
  carry(exchange: Http1Exchange): void {
    exchange.carriedBy(this)
    exchange.isSent = true
    this.#exchange = exchange
    this.#isRequestSent = true
    this.#hasBegun = this.#isAnswered = false
    this.#head = this.#writer = null
    this.#interims = this.#receivedBytes = 0
    this.idleMs = Infinity
    // The handler may have paused it while there was no connection.
    if (exchange.isPaused) this.setReading(false)
    const { body } = exchange.request
    if (body === null || Buffer.isBuffer(body)) return writeRequest(this.#socket, exchange.head, body)
    this.#isRequestSent = false
    writeRequest(this.#socket, exchange.head, null)
    startBody(body, exchange, (error) => this.#fail(error))
  }

  writeBody(chunk: Buffer): boolean {
    const isChunked = this.#exchange?.request.bodyBytes === -1
    return isChunked ? writeChunk(this.#socket, chunk) : this.#socket.write(chunk)
  }

  endBody(): boolean {
    this.#isRequestSent = true
    return this.#exchange?.request.bodyBytes === -1
      ? this.#socket.write('0\r\n\r\n', 'latin1')
      : !this.#socket.writableNeedDrain
  }

  setReading(isReading: boolean): void {
    this.#reading.pause(!isReading)
  }

  holdBody(isHeld: boolean): void {
    this.#reading.holdBody(isHeld)
  }

  drop(): void {
    this.#exchange = null
    this.#socket.destroy()
  }

  /** Closes an idle connection. */
  close(): void {
    this.#socket.destroy()
  }

  /** Its idle time is over. */
  onDue(): void {
    this.close()
  }

  onHeaders(headers: string[]): void {
    if (this.#exchange === null) return
    if (this.#head !== null) {
      // The parser heeds a trailer that concerns the framing or the connection, and may read nothing more.
      if (concernsFraming(headers)) this.#mayStayOpen = false
      if (!this.#isAnswered) this.#exchange.handler.trailers?.takeTrailer(headers)
      return
    }
    if (this.#headers === null) this.#headers = headers
    else for (const part of headers) this.#headers.push(part)
  }

  onHead(line: StatusLine, last: readonly string[] | null): MessageEnd {
    const headers = last ?? this.#headers ?? []
    this.#headers = null
    const exchange = this.#exchange
    if (exchange === null || this.#isAnswered) {
      // A response without a request.
      this.#mayStayOpen = false
      return 'head'
    }
    const { status } = line
    const fault = faultIn(line, headers, exchange.request.isUpgrade === true)
    if (fault !== null) {
      this.#fail(exchangeError(RESPONSE_INVALID, fault))
      return 'head'
    }
    if (status === 101) this.#switch = headers
    if (status < 200) {
      if (++this.#interims > INTERIMS_MAX) this.#fail(exchangeError(RESPONSE_INVALID, 'too many interim responses'))
      return 'reported'
    }
    this.#mayStayOpen = line.mayStayOpen && exchange.request.isUpgrade !== true
    this.idleMs = keepAliveMs(headers)
    const head = (this.#head = this.#parser.heads.find(headers, status))
    this.#writer = null
    exchange.handler.onHead(exchange, status, head)
    this.#countedBytes = countableBytes(head, status)
    if (exchange.request.method === 'HEAD') return 'head'
    return this.#countedBytes === Infinity ? 'reported' : 'counted'
  }

  expectsBody(): boolean {
    return this.#exchange !== null && this.#head === null && this.#exchange.request.method !== 'HEAD'
  }

  onBody(chunk: Buffer): void {
    const exchange = this.#exchange
    if (exchange === null || this.#isAnswered) return
    if (this.#head === null) return this.#fail(exchangeError(RESPONSE_INVALID, 'an interim response has a body'))
    this.#receivedBytes += chunk.length
    this.#writer = exchange.handler.onData(exchange, chunk)
    if (this.#receivedBytes === this.#countedBytes) this.onComplete()
  }

  onLent(chunk: Buffer): ChunkWriter | null {
    const exchange = this.#exchange
    return exchange === null ? NOTHING_WAITS : exchange.handler.onData(exchange, chunk)
  }

  onBodyEnd(hasSurplus: boolean): void {
    if (hasSurplus) this.#mayStayOpen = false
    this.onComplete()
    this.onRead(null, null)
  }

  onComplete(): void {
    // An interim response has no final head.
    if (this.#head !== null) this.#isAnswered = true
  }

  onRead(error: ParserError | null, rest: Buffer | null): void {
    const exchange = this.#exchange
    this.#hasBegun = true
    if (this.#switch !== null && exchange !== null) return this.#release(exchange, new HeaderMemo(this.#switch), rest)
    // A response without a request, or line breaks, which the parser skips.
    if (exchange === null) this.#socket.destroy()
    else if (error !== null) {
      if (this.#isAnswered || (this.#head !== null && isInTrailer(error))) this.#finish(exchange, false)
      else this.#fail(error)
    } else if (this.#isAnswered) this.#finishWhenQuiet(exchange)
    else this.#unparsed.afterRead(this.#writer === null ? 0 : bodyBytesOf(this.#head!) - this.#receivedBytes)
  }

  /** False also while a part of the request waits for the backend to read it. */
  get #mayReuse(): boolean {
    return this.#mayStayOpen && this.#isRequestSent && this.#socket.writableLength === 0
  }

  /** Ends the exchange, once bytes behind the response would have been read. */
  #finishWhenQuiet(exchange: Http1Exchange): void {
    if (this.#isFinishing) return this.#finish(exchange, false)
    if (!this.#mayReuse || !this.#readAhead.isPossible()) return this.#finish(exchange, this.#mayReuse)
    this.#isFinishing = true
    if (exchange.isPaused) this.setReading(true)
    setImmediate(setImmediate, () => {
      if (this.#exchange === exchange) this.#finish(exchange, this.#mayReuse)
    })
  }

  /** Ends the exchange. First frees the connection, because the handler may start the next one. */
  #finish(exchange: Http1Exchange, mayReuse: boolean): void {
    this.#exchange = null
    this.#isFinishing = false
    exchange.carriedBy(null)
    if (mayReuse && this.isOpen && this.#parser.isBetweenMessages()) {
      this.#isAnswered = false
      if (exchange.isPaused) this.setReading(true)
      this.#owner.onIdle(this)
    } else this.#socket.destroy()
    exchange.handler.onEnd(exchange)
  }

  #fail(error: NodeJS.ErrnoException): void {
    const exchange = this.#exchange
    // The response was complete before.
    if (exchange !== null && this.#isFinishing) return this.#finish(exchange, false)
    this.#exchange = null
    this.#socket.destroy()
    if (exchange === null) return
    exchange.carriedBy(null)
    exchange.handler.onError(exchange, error)
  }

  /** The backend has closed its side. */
  readonly #onEnd = (): void => {
    const exchange = this.#exchange
    if (exchange === null) return void this.#socket.destroy()
    const error = this.#hasBegun ? this.#parser.finish() : closedBefore()
    if (error === null && this.#isAnswered) this.#finish(exchange, false)
    else this.#fail(error ?? closedWithin())
  }

  /** Hands over the connection, which has another protocol now. */
  #release(exchange: Http1Exchange, headers: HeaderMemo, rest: Buffer | null): void {
    this.#exchange = null
    exchange.carriedBy(null)
    this.#reading.release()
    this.#socket.off('end', this.#onEnd)
    exchange.handler.onSwitch?.(headers, { socket: this.#socket, rest })
  }

  #onClose(): void {
    if (this.#exchange !== null) this.#fail(this.#hasBegun ? closedWithin() : closedBefore())
    this.#unparsed.close()
    this.#parser.close()
    this.#owner.onClosed(this)
  }

  #drained(): void {
    const body = this.#exchange?.request.body
    if (body !== null && body !== undefined && !Buffer.isBuffer(body)) body.drained()
  }
}
