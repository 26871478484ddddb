/**
 * A connection of a client.
 *
 * Requests are served as they arrive, and answered in their order. Nothing is served after an invalid message or a final response.
 * A response is over when the kernel has accepted its last byte; the next one begins then.
 */

import type { Socket } from 'node:net'
import { CLIENT_BOUNDS, QUEUED_MAX, type ClientServerOptions } from '../client.ts'
import { LastHeaders } from '../header-memo.ts'
import {
  CUT_OFF,
  headTooLong,
  isMessageError,
  reasonOf,
  refusalText,
  statusOf,
  timedOut,
  type ParserError,
  type RefusalStatus,
} from '../parser-errors.ts'
import { ConnectionClock } from './connection-clock.ts'
import { Http1Request, type RequestCarrier } from './http1-request.ts'
import { Http1Response, type ResponseCarrier } from './http1-response.ts'
import type { HttpParser, MessageParser, RequestEvents, RequestLine } from './message-parser.ts'
import { isConsumable, setReading } from './socket-handle.ts'

/** The server of a connection. */
export interface ConnectionServer extends Pick<ClientServerOptions, 'count' | 'onRequest' | 'onFault'> {
  readonly parser: Pick<HttpParser, 'readRequests'>
  /** Every connection ends with the response to its current request. */
  readonly isLeaving: boolean
  onClosed(connection: ClientConnection): void
}

/** The parser drops nothing, so that a head with more headers must be refused. */
const HEADERS_MAX = 1_000
const OUTPUT_BYTES_MAX = 65_536
/** How long the client may take to read a refusal. */
const REFUSAL_WITHIN_MS = 5_000
/** How long the rest of a request is read after the final response: closing with unread bytes could lose the response. */
const LINGER_MS = 1_000

export class ClientConnection implements RequestEvents, RequestCarrier, ResponseCarrier {
  readonly socket: Socket
  queuedBytes = 0

  readonly #server: ConnectionServer
  readonly #parser: MessageParser
  readonly #isConsumed: boolean
  readonly #clock = new ConnectionClock()
  readonly #lastHeaders = new LastHeaders()
  /** The first one is being written. */
  readonly #responses: Http1Response[] = []
  /** The request whose body arrives. */
  #request: Http1Request | null = null
  /** Headers and target of a long head so far. */
  #headers: string[] | null = null
  #target = ''
  /** Nothing that follows is served. */
  #isFinal = false
  #isRefused = false
  /** Status of the refusal behind the responses. */
  #refusal: RefusalStatus | null = null
  /** The client has closed its side. */
  #hasEnded = false
  #linger: NodeJS.Timeout | null = null
  #isBodyHeld = false
  #isOutputHeld = false

  constructor(socket: Socket, server: ConnectionServer) {
    this.socket = socket
    this.#server = server
    this.#parser = server.parser.readRequests(this, CLIENT_BOUNDS.headBytesMax)
    this.#isConsumed = isConsumable(socket)
    if (this.#isConsumed) this.#parser.consume(socket)
    else socket.on('data', (chunk: Buffer) => this.#parser.parse(chunk))
    socket.on('drain', () => this.#onDrain())
    socket.on('end', () => this.#onEnd())
    socket.on('error', () => socket.destroy())
    socket.on('close', () => this.#onClose())
  }

  get isIdle(): boolean {
    return !this.#clock.isReceiving && this.#responses.length === 0
  }

  onBegin(): void {
    this.#clock.begin()
    this.#headers = null
    this.#target = ''
  }

  onHeaders(headers: string[], target: string): void {
    // Trailers are dropped.
    if (this.#clock.isHeadRead) return
    this.#target += target
    if (this.#headers === null) this.#headers = headers
    else if (this.#headers.length <= HEADERS_MAX * 2) for (const part of headers) this.#headers.push(part)
  }

  onHead(line: RequestLine, last: string[] | null): void {
    const headers = last ?? this.#headers ?? []
    this.#clock.isHeadRead = true
    if (this.#isFinal || this.socket.destroyed) return
    if (headers.length > HEADERS_MAX * 2) return this.#refuse(headTooLong('a request has too many headers'))
    if (line.method === 'CONNECT') return this.#refuseConnect()
    const memo = this.#lastHeaders.find(headers, line.major * 10 + line.minor)
    const request = new Http1Request(this, last === null ? { ...line, target: this.#target } : line, memo)
    const response = new Http1Response(this, request, line.mayStayOpen)
    this.#request = request
    const waiting = this.#responses.push(response) - 1
    if (line.isUpgrade) {
      response.shouldKeepAlive = false
      this.#isFinal = true
    }
    if (waiting === 0) response.begin()
    else if (waiting > QUEUED_MAX) return this.#refuseQueued(response)
    try {
      this.#server.onRequest(request, response)
    } catch (cause) {
      this.#fail(cause)
    }
    if (waiting > 0) this.#holdOutput()
  }

  onBody(chunk: Buffer): void {
    this.#request?.receive(chunk)
  }

  onComplete(): void {
    const request = this.#request
    this.#request = null
    this.#clock.complete()
    request?.finish()
    if (this.#linger !== null) this.socket.destroy()
  }

  onRead(error: ParserError | null): void {
    if (error !== null) this.#refuse(error)
  }

  /** Called for all connections in the interval of `CLIENT_BOUNDS`. */
  scan(): void {
    const due = this.#clock.scan(this.#responses.length > 0)
    if (due === 'request') this.#refuse(timedOut())
    else if (due === 'idle') this.socket.destroy()
    // An idle connection needs little memory.
    if (this.isIdle) this.#lastHeaders.forget()
  }

  holdBody(isHeld: boolean): void {
    this.#isBodyHeld = isHeld
    this.#updateReading()
  }

  guard(step: () => void): void {
    try {
      step()
    } catch (cause) {
      this.#fail(cause)
    }
  }

  mayContinueAfter(response: Http1Response): boolean {
    // Requests that wait are being served already.
    return !this.#server.isLeaving || this.#responses.at(-1) !== response
  }

  refuseFollowing(): void {
    this.#isFinal = this.#isRefused = true
  }

  onEnded(response: Http1Response): void {
    const { socket } = this
    if (socket.writableLength === 0) process.nextTick(sent, this, response)
    // Its callback comes after those of the bytes before.
    else socket.write('', () => this.sent(response))
  }

  /** The kernel has accepted all bytes of the first response. */
  sent(response: Http1Response): void {
    const { socket } = this
    if (socket.destroyed || this.#responses[0] !== response) return
    this.#responses.shift()
    this.#clock.answered()
    response.close(true)
    if (!response.shouldKeepAlive) return this.#endAfter(response.request)
    response.request.discard()
    const next = this.#responses[0]
    if (this.#hasEnded && next?.writableEnded !== true) return void socket.end(() => socket.destroy())
    next?.begin()
    if (this.#refusal !== null) this.#endWith(this.#refusal)
    if (this.#isOutputHeld) this.#holdOutput()
  }

  /** Ends the connection after its final response. */
  #endAfter(request: Http1Request): void {
    const { socket } = this
    this.#isFinal = this.#isRefused = true
    if (request.complete || this.#hasEnded) return socket.destroySoon()
    request.discard()
    socket.end()
    this.#linger = setTimeout(() => socket.destroy(), LINGER_MS)
  }

  #refuseQueued(response: Http1Response): void {
    this.#server.count('pipelined_too_many')
    response.refuse(429)
  }

  #refuseConnect(): void {
    this.refuseFollowing()
    this.#server.count('malformed')
    this.#endWith(400)
  }

  /** Refuses what has arrived, once. */
  #refuse(error: ParserError): void {
    if (this.#isRefused) return
    this.refuseFollowing()
    if (!isMessageError(error)) return void this.socket.destroy()
    if (error.code !== CUT_OFF) this.#server.count(reasonOf(error))
    this.#endWith(statusOf(error))
  }

  /** Sends a refusal after the responses to earlier requests. Nothing can be added to a response that is partly sent. */
  #endWith(status: RefusalStatus): void {
    const { socket } = this
    if (!socket.writable) return void socket.destroy()
    const current = this.#responses[0]
    if (current !== undefined) {
      if (current.headersSent && !current.writableEnded) return void socket.destroy()
      if (current.request.complete || current.headersSent) return void (this.#refusal = status)
    }
    socket.setTimeout(REFUSAL_WITHIN_MS, () => socket.destroy())
    socket.end(refusalText(status), () => socket.destroy())
  }

  /** Stops reading requests while the client does not read responses. */
  #holdOutput(): void {
    this.#isOutputHeld = this.socket.writableNeedDrain || this.queuedBytes >= OUTPUT_BYTES_MAX
    this.#updateReading()
  }

  #updateReading(): void {
    const isReading = !this.#isBodyHeld && !this.#isOutputHeld
    if (this.#isConsumed) setReading(this.socket, isReading)
    else if (isReading) this.socket.resume()
    else this.socket.pause()
  }

  #onDrain(): void {
    this.guard(() => this.#responses[0]?.drained())
    if (this.#isOutputHeld) this.#holdOutput()
  }

  #onEnd(): void {
    const { socket } = this
    this.#hasEnded = true
    if (this.#linger !== null) return void socket.destroy()
    const error = this.#parser.finish()
    if (error !== null) return this.#refuse(error)
    this.#isFinal = true
    const current = this.#responses[0]
    if (current === undefined) socket.end(() => socket.destroy())
    else if (!current.writableEnded) socket.destroy()
  }

  #onClose(): void {
    if (this.#linger !== null) clearTimeout(this.#linger)
    this.#parser.close()
    this.#server.onClosed(this)
    this.#request?.close()
    for (const response of this.#responses.splice(0)) {
      response.request.close()
      response.close(false)
    }
  }

  #fail(cause: unknown): void {
    this.#server.onFault(cause)
    this.socket.destroy()
  }
}

function sent(connection: ClientConnection, response: Http1Response): void {
  connection.sent(response)
}
