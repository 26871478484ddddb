/**
 * A connection of a client.
 *
 * Requests are served as they arrive, and answered in their order. Nothing is served after an invalid message or a final response.
 * A response is over when the kernel has accepted its last byte; the next one begins then.
 */

import type { Socket } from 'node:net'
import { CLIENT_BOUNDS, QUEUED_MAX, REFUSAL_WITHIN_MS } from '../client.ts'
import { NOTHING_WAITS, type ChunkWriter } from '../chunk-writer.ts'
import type { HeaderMemo } from '../header-memo.ts'
import { RequestTurns } from '../request-turns.ts'
import { refusalOf, refusalText, timedOut, type ParserError, type Refusal } from '../parser-errors.ts'
import { ArrivingHead, faultInHead } from './arriving-head.ts'
import { ConnectionClock } from './connection-clock.ts'
import type { ConnectionServer } from './connection-server.ts'
import type { RequestCarrier } from '../received-request.ts'
import { Http1Request } from './http1-request.ts'
import { Http1Response, type ResponseCarrier } from './http1-response.ts'
import { bodyBytesOf } from './framing-headers.ts'
import type { MessageEnd, MessageParser, RequestEvents, RequestLine } from './message-parser.ts'
import { SentWait } from './sent-wait.ts'
import { SocketReading } from './socket-reading.ts'
import { UnparsedBody, type UnparsedBodyReceiver } from './unparsed-body.ts'

/** How long the rest of a request is read after the final response: closing with unread bytes could lose the response. */
const LINGER_MS = 1_000

export class ClientConnection implements RequestEvents, RequestCarrier, ResponseCarrier, UnparsedBodyReceiver {
  readonly socket: Socket
  queuedBytes = 0

  readonly #server: ConnectionServer<ClientConnection>
  readonly #parser: MessageParser
  readonly #reading: SocketReading
  readonly #unparsed: UnparsedBody
  readonly #sentWait: SentWait
  readonly #clock = new ConnectionClock()
  /** The first one is being written. */
  readonly #responses: Http1Response[] = []
  readonly #turns: RequestTurns<Http1Response>
  /** The request whose body arrives. */
  #request: Http1Request | null = null
  #head: ArrivingHead | null = null
  #isHeadRead = false
  /** Nothing that follows is served. */
  #isFinal = false
  #isRefused = false
  /** The connection has another protocol now. */
  #isReleased = false
  /** The final response was sent. */
  #isEnding = false
  /** Status of the refusal behind the responses. */
  #refusal: Refusal['status'] | null = null
  /** The client has closed its side. */
  #hasEnded = false
  #linger: NodeJS.Timeout | null = null

  constructor(socket: Socket, server: ConnectionServer<ClientConnection>) {
    this.socket = socket
    this.#server = server
    this.#parser = server.parser.readRequests(this, CLIENT_BOUNDS.headBytesMax)
    this.#reading = new SocketReading(socket, this.#parser)
    this.#unparsed = new UnparsedBody(this.#reading, this.#parser, this, 0)
    this.#turns = new RequestTurns<Http1Response>(
      (response) => this.guard(() => server.onRequest(response.request, response)),
      (isHeld) => this.holdBody(isHeld),
    )
    this.#sentWait = new SentWait(socket, () => this.onEnded())
    socket.on('drain', () => this.#onDrain())
    socket.on('end', () => this.#onEnd())
    socket.on('error', () => socket.destroy())
    socket.on('close', () => this.#onClose())
  }

  get isIdle(): boolean {
    return this.#clock.hasServed && this.#responses.length === 0 && !this.#isReceiving
  }

  /** A part of a request has arrived. */
  get #isReceiving(): boolean {
    return this.#isHeadRead || !this.#parser.isBetweenMessages()
  }

  onHeaders(headers: string[], target: string): void {
    // Trailers are dropped.
    if (!this.#isHeadRead) (this.#head ??= new ArrivingHead()).add(headers, target)
  }

  onHead(line: RequestLine, last: readonly string[] | null): MessageEnd {
    const head = this.#head
    const headers = last ?? head?.headers ?? []
    this.#head = null
    this.#isHeadRead = true
    if (this.#isFinal || this.socket.destroyed) return 'reported'
    this.#clock.change()
    const memo = this.#parser.heads.find(headers, line.major * 10 + line.minor)
    const fault = faultInHead(line.method, headers)
    if (fault !== null) this.#refuse(fault)
    else this.#serve(line, head?.target ?? line.target, memo)
    return bodyBytesOf(memo) === 0 ? 'head' : 'reported'
  }

  #serve(line: RequestLine, target: string, memo: HeaderMemo): void {
    const request = new Http1Request(this, line, target, memo)
    const response = new Http1Response(this, request, line.mayStayOpen)
    this.#request = request
    const before = this.#responses.push(response) - 1
    if (before === 0) response.begin()
    if (before > QUEUED_MAX) {
      this.#server.count('pipelined_too_many')
      response.refuse(429)
    } else this.#turns.add(response)
    if (this.#reading.isOutputHeld) this.#holdOutput()
  }

  onBody(chunk: Buffer): void {
    this.#request?.receive(chunk)
  }

  onLent(chunk: Buffer): ChunkWriter {
    return this.#request?.lend(chunk) ?? NOTHING_WAITS
  }

  onBodyEnd(): void {
    this.onComplete()
  }

  onComplete(): void {
    const request = this.#request
    this.#request = null
    this.#isHeadRead = false
    if (request !== null) this.#clock.complete()
    request?.finish()
    if (this.#reading.isOutputHeld || this.#responses.length > 1) this.#holdOutput()
    if (this.#linger !== null) this.socket.destroy()
  }

  onRead(error: ParserError | null, rest: Buffer | null): void {
    if (error !== null) return this.#refuse(error)
    if (this.#request !== null || this.#unparsed.hasManyParts)
      this.#unparsed.afterRead(this.#request?.passedOnBytes ?? 0)
    if (this.#responses.length === 0) this.#parser.continueAfterUpgrade()
    if (rest === null) return
    // Bytes behind a request for an upgrade are lost if they arrive before its response.
    this.#isFinal = true
    if (this.#responses.length === 0) this.#end()
  }

  /** Called for all connections in the interval of `CLIENT_BOUNDS`. */
  scan(): void {
    if (this.#isReleased) return
    const isReceiving = !this.#reading.isOutputHeld && this.#isReceiving
    const due = this.#clock.scan(this.#responses.length > 0, this.#isHeadRead, isReceiving)
    if (due === 'request') this.#refuse(timedOut())
    else if (due === 'idle') this.socket.destroy()
    const current = this.#responses[0]
    if (current?.isRefusal === true && this.#clock.isRefusalOver) this.socket.destroy()
    // An idle connection needs little memory.
    if (this.isIdle) this.#parser.heads.evict()
  }

  holdBody(isHeld: boolean): void {
    this.#reading.holdBody(isHeld)
  }

  guard(step: () => void): void {
    try {
      step()
    } catch (cause) {
      this.#server.onFault(cause)
      this.socket.destroy()
    }
  }

  mayContinueAfter(response: Http1Response): boolean {
    if (!this.#server.isLeaving && !this.#isFinal) return true
    // Requests that wait are being served already, and a refusal says itself that it is the last response.
    return this.#refusal !== null || this.#responses.at(-1) !== response
  }

  release(response: Http1Response): boolean {
    const isOnly = this.#responses.length === 1 && this.#responses[0] === response
    if (!isOnly || this.#isFinal || this.#isReceiving || !this.socket.writable) return false
    this.#isFinal = this.#isReleased = true
    this.#reading.release()
    return true
  }

  close(): void {
    this.#isFinal = true
  }

  refuseFollowing(): void {
    this.#isFinal = this.#isRefused = true
  }

  onEnded(): void {
    const { socket } = this
    // One after the other, since many may have ended while they waited.
    for (;;) {
      const response = this.#responses[0]
      if (response?.writableEnded !== true || this.#isEnding || socket.destroyed) return
      if (socket.writableLength > 0) return this.#sentWait.begin()
      this.#sent(response)
    }
  }

  /** The kernel has accepted all bytes of the first response. */
  #sent(response: Http1Response): void {
    this.#responses.shift()
    this.#clock.change()
    response.close(true)
    if (!response.shouldKeepAlive) return this.#endAfter(response.request)
    response.request.discard()
    const next = this.#responses[0]
    if (this.#hasEnded && next?.writableEnded !== true) return this.#end()
    if (this.#isFinal && next === undefined && this.#refusal === null) return this.#end()
    if (next === undefined) this.#parser.continueAfterUpgrade()
    else next.begin()
    if (this.#refusal !== null) this.#endWith(this.#refusal)
    if (this.#reading.isOutputHeld) this.#holdOutput()
  }

  /** Ends the connection after its final response. */
  #endAfter(request: Http1Request): void {
    const { socket } = this
    this.refuseFollowing()
    if (request.complete || this.#hasEnded) return this.#end()
    this.#isEnding = true
    request.discard()
    socket.end()
    this.#linger = setTimeout(() => socket.destroy(), LINGER_MS)
  }

  #end(): void {
    this.#isEnding = true
    this.socket.destroySoon()
  }

  /** Refuses what has arrived, once. */
  #refuse(error: ParserError): void {
    if (this.#isRefused) return
    this.refuseFollowing()
    const refusal = refusalOf(error)
    if (refusal === null) return void this.socket.destroy()
    if (refusal.reason !== null) this.#server.count(refusal.reason)
    this.#endWith(refusal.status)
  }

  /** Sends a refusal after the responses to earlier requests. Nothing can be added to a response that is partly sent. */
  #endWith(status: Refusal['status']): void {
    const { socket } = this
    if (!socket.writable) return void socket.destroy()
    const current = this.#responses[0]
    // The request was answered; only its body is missing.
    if (current === undefined && this.#request !== null) return this.#end()
    if (current !== undefined) {
      if (current.headersSent && !current.writableEnded) return void socket.destroy()
      if (current.request.complete || current.headersSent) return void (this.#refusal = status)
    }
    socket.setTimeout(REFUSAL_WITHIN_MS, () => socket.destroy())
    socket.end(refusalText(status), () => socket.destroy())
  }

  #holdOutput(): void {
    this.#reading.holdOutput(this.queuedBytes, this.#isHeadRead)
  }

  #onDrain(): void {
    this.guard(() => this.#responses[0]?.drained())
    if (this.#reading.isOutputHeld) this.#holdOutput()
  }

  #onEnd(): void {
    const { socket } = this
    this.#hasEnded = true
    if (this.#isReleased) return
    if (this.#linger !== null) return void socket.destroy()
    const error = this.#parser.finish()
    if (error !== null) return this.#refuse(error)
    this.#isFinal = true
    const current = this.#responses[0]
    if (current === undefined) this.#end()
    else if (!current.writableEnded) socket.destroy()
  }

  #onClose(): void {
    if (this.#linger !== null) clearTimeout(this.#linger)
    this.#unparsed.close()
    this.#parser.close()
    this.#server.onClosed(this)
    this.#request?.close()
    this.#turns.drop()
    for (const response of this.#responses.splice(0)) {
      response.request.close()
      response.close(false)
    }
  }
}
