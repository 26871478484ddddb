/** A stream with the request and the response that it carries, from the head of the request to the end of both. */

import type { Socket } from 'node:net'
import { CLIENT_BOUNDS, REFUSAL_WITHIN_MS, type ClientServerOptions } from '../client.ts'
import type { HeaderMemo } from '../header-memo.ts'
import { ERROR, PAYLOAD_BYTES_MAX } from './frame.ts'
import type { FrameWriter } from './frame-writer.ts'
import type { HpackEncoder } from './hpack-encoder.ts'
import { HTTP2_BOUNDS } from './http2-bounds.ts'
import { Http2Request, type RequestStream } from './http2-request.ts'
import { Http2Response, type ResponseStream } from './http2-response.ts'
import { ReceiveWindow } from './receive-window.ts'
import type { ReadHead } from './request-head.ts'
import { SendQueue } from './send-queue.ts'

const REQUEST_SCANS = CLIENT_BOUNDS.requestWithinMs / CLIENT_BOUNDS.scanEveryMs
const REFUSAL_SCANS = REFUSAL_WITHIN_MS / CLIENT_BOUNDS.scanEveryMs
/** As many bytes may wait before `write` asks for a pause. */
const QUEUED_BYTES_MAX = 65_536
const EMPTY = Buffer.alloc(0)

/** The connection of a stream. */
export interface StreamConnection {
  readonly socket: Socket
  /** Bytes of bodies that the client has accepted. */
  readonly deliveredBytes: number
  readonly isBlocked: boolean
  readonly writer: FrameWriter
  readonly encoder: HpackEncoder
  onFault(cause: unknown): void
  /** Sends what the writer has, and what the stream has written. */
  sendSoon(stream: OpenStream | null): void
  /** Bytes of a body were read, or dropped. */
  onBodyRead(bytes: number): void
  /** No other frame of the stream is expected; `onClosed` of the stream follows. */
  evict(stream: OpenStream): void
}

export class OpenStream implements RequestStream, ResponseStream {
  readonly id: number
  /** The response is complete and sent, or the stream was reset, or its connection has ended. */
  isOver = false
  /** The client has sent its whole request. */
  isReceived: boolean
  /** Bytes that the client allows. */
  sendWindow: number
  sentBytes = 0
  readonly #connection: StreamConnection
  readonly #head: ReadHead
  readonly #request: Http2Request
  readonly #response: Http2Response
  readonly #queue = new SendQueue()
  #isEnding = false
  #isSent = false
  /** Parts of the body in the present read. */
  #parts: Buffer[] = []
  readonly #window = new ReceiveWindow(HTTP2_BOUNDS.streamWindowBytes)
  #receivedBytes = 0
  #readBytes = 0
  #scans = 0

  constructor(
    connection: StreamConnection,
    id: number,
    head: ReadHead,
    memo: HeaderMemo,
    hasBody: boolean,
    sendWindow: number,
  ) {
    this.#connection = connection
    this.id = id
    this.#head = head
    this.isReceived = !hasBody
    this.sendWindow = sendWindow
    this.#request = new Http2Request(this, head.method, head.target, memo)
    this.#response = new Http2Response(this, this.#request)
    if (!hasBody) this.#request.finish()
  }

  get socket(): Socket {
    return this.#connection.socket
  }

  get connectionBytes(): number {
    return this.#connection.deliveredBytes
  }

  get isConnectionBlocked(): boolean {
    return this.#connection.isBlocked
  }

  get queuedBytes(): number {
    return this.#queue.bytes
  }

  /** No frame of the client concerns the stream any more. */
  get isDone(): boolean {
    return this.isOver || this.#isSent
  }

  /** Whether something can be sent as soon as the connection has room. */
  get isReady(): boolean {
    if (this.isDone) return false
    return this.#queue.bytes > 0 ? this.sendWindow > 0 : this.#isEnding
  }

  serve({ onRequest, count }: Pick<ClientServerOptions, 'onRequest' | 'count'>): void {
    const { fault } = this.#head
    this.guard(() => {
      if (fault === 0) return onRequest(this.#request, this.#response)
      count(fault === 431 ? 'header_too_long' : 'malformed')
      this.#response.refuse(fault)
    })
  }

  guard(step: () => void): void {
    try {
      step()
    } catch (cause) {
      this.#connection.onFault(cause)
      this.#response.breakOff()
    }
  }

  /** A DATA frame begins. Returns the error that it is; 0 if it is none. */
  expect(bytes: number): number {
    if (this.isReceived) return ERROR.streamClosed
    return this.#window.take(bytes) ? ERROR.none : ERROR.flowControl
  }

  /** Padding counts for the window, and is read at once. */
  skip(bytes: number): void {
    this.#grant(bytes)
  }

  /** A part of the body has arrived, in memory that is used again. Returns false if the body is longer than its length. */
  receive(part: Buffer): boolean {
    this.#receivedBytes += part.length
    this.#parts.push(part)
    return this.#head.bodyBytes < 0 || this.#receivedBytes <= this.#head.bodyBytes
  }

  /** The request is complete. Returns false if the body is shorter than its length. */
  onReceived(): boolean {
    this.isReceived = true
    return this.#head.bodyBytes < 0 || this.#receivedBytes === this.#head.bodyBytes
  }

  /** The read has ended: what it has brought is kept in one piece, before the next read takes the place of it. */
  keepParts(): void {
    if (this.#parts.length > 0) this.#parts = this.isDone ? [] : [Buffer.concat(this.#parts)]
  }

  /** Passes on what the read has brought. */
  passOn(): void {
    const [body] = this.#parts
    this.#parts = []
    if (body !== undefined && !this.isDone) this.#request.receive(body)
    if (this.isReceived && !this.#request.complete && !this.isDone) this.#request.finish()
  }

  /** The body is held back by the window. */
  holdBody(): void {}

  onBodyRead(bytes: number): void {
    this.#readBytes += bytes
    this.#connection.onBodyRead(bytes)
    this.#grant(bytes)
  }

  sendHead(status: number, lines: string, isWhole: boolean): void {
    const { writer, encoder } = this.#connection
    writer.head(this.id, encoder.encode(status, lines), isWhole)
    if (isWhole) this.#onSent()
    this.#connection.sendSoon(null)
  }

  write(chunk: Buffer): boolean {
    if (this.isOver) return true
    this.#queue.add(chunk)
    this.#connection.sendSoon(this)
    return this.#queue.bytes < QUEUED_BYTES_MAX
  }

  end(): void {
    this.#isEnding = true
    this.#connection.sendSoon(this)
  }

  /** Sends one frame of the body. Returns how many bytes of it the connection has carried. */
  sendNext(bytesMax: number): number {
    const bytes = Math.min(bytesMax, this.sendWindow, this.#queue.bytes, PAYLOAD_BYTES_MAX)
    const payload = bytes > 0 ? this.#queue.take(bytes) : EMPTY
    this.sendWindow -= payload.length
    this.sentBytes += payload.length
    const isLast = this.#isEnding && this.#queue.bytes === 0
    this.#connection.writer.data(this.id, payload, isLast)
    if (isLast) this.#onSent()
    return payload.length
  }

  /** The frames of this turn are sent. */
  onFlushed(): void {
    if (this.#queue.bytes === 0 && !this.isOver) this.#response.drained()
  }

  breakOff(): void {
    this.reset(ERROR.internal)
  }

  /** Ends the stream for a reason of the gateway. */
  reset(code: number): void {
    if (this.isDone) return
    this.#connection.writer.reset(this.id, code)
    this.#abandon()
  }

  /** The client has reset the stream, or the connection has ended. */
  abort(): void {
    if (!this.isDone) this.#abandon()
  }

  /** Called in the interval of `CLIENT_BOUNDS`. */
  scan(): void {
    const scans = ++this.#scans
    const isUnreadRefusal = this.#response.isRefusal && scans > REFUSAL_SCANS
    // Last resort, as over HTTP/1.1: the deadlines of `upload-watch.ts` are shorter.
    if (isUnreadRefusal || (!this.#request.complete && scans > REQUEST_SCANS)) this.#response.breakOff()
  }

  /** The connection has evicted the stream; `isFlushed` if its socket has got all that was sent. */
  onClosed(isFlushed: boolean): void {
    this.isOver = true
    const unreadBytes = this.#receivedBytes - this.#readBytes
    if (unreadBytes > 0) this.#connection.onBodyRead(unreadBytes)
    this.#request.close()
    this.#response.close(this.#isSent && isFlushed)
  }

  /** The client need not send the rest of its body (RFC 9113, 8.1). */
  #onSent(): void {
    this.#isSent = true
    if (!this.isReceived) this.#connection.writer.reset(this.id, ERROR.none)
    this.#connection.evict(this)
  }

  #abandon(): void {
    this.isOver = true
    this.#queue.drop()
    this.#connection.evict(this)
    this.#connection.sendSoon(null)
  }

  /** Lets the client send as many bytes more, if it has any left. */
  #grant(bytes: number): void {
    if (this.isReceived || this.isDone) return
    const granted = this.#window.read(bytes)
    if (granted === 0) return
    this.#connection.writer.windowUpdate(this.id, granted)
    this.#connection.sendSoon(null)
  }
}
