/** A stream with the request and the response that it carries, from the head of the request to the end of both. */

import type { ServerHttp2Stream } from 'node:http2'
import type { Socket } from 'node:net'
import { CLIENT_BOUNDS, REFUSAL_WITHIN_MS, type ClientServerOptions } from '../client.ts'
import { Http2Request, type StreamCarrier } from './http2-request.ts'
import { Http2Response } from './http2-response.ts'
import { readHead, type ReadHead } from './request-head.ts'

const REQUEST_SCANS = CLIENT_BOUNDS.requestWithinMs / CLIENT_BOUNDS.scanEveryMs
const REFUSAL_SCANS = REFUSAL_WITHIN_MS / CLIENT_BOUNDS.scanEveryMs

/** The connection of a stream. */
export interface StreamConnection extends Pick<
  StreamCarrier,
  'socket' | 'deliveredBytes' | 'isBlocked' | 'onBodyBytes'
> {
  onFault(cause: unknown): void
  /** `isReset` if the client has ended the stream before its response. */
  onStreamClosed(stream: OpenStream, isReset: boolean): void
}

export class OpenStream implements StreamCarrier {
  readonly stream: ServerHttp2Stream
  readonly #connection: StreamConnection
  readonly #head: ReadHead
  readonly #request: Http2Request
  readonly #response: Http2Response
  #scans = 0

  constructor(connection: StreamConnection, stream: ServerHttp2Stream, received: readonly string[], hasBody: boolean) {
    this.#connection = connection
    this.stream = stream
    this.#head = readHead(received, hasBody)
    this.#request = new Http2Request(this, this.#head, hasBody)
    this.#response = new Http2Response(this, this.#request)
    stream.on('finish', () => this.#onFinish())
    // Node has ended the writable side of HEAD already.
    if (hasBody && this.#head.method === 'HEAD')
      this.#response.once('prefinish', () => setImmediate(() => stream.close()))
    stream.on('aborted', () => this.#onAborted())
    stream.on('close', () => this.#onClose())
  }

  get socket(): Socket {
    return this.#connection.socket
  }

  get deliveredBytes(): number {
    return this.#connection.deliveredBytes
  }

  get isBlocked(): boolean {
    return this.#connection.isBlocked
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

  onBodyBytes(bytes: number): void {
    this.#connection.onBodyBytes(bytes)
  }

  /** Called in the interval of `CLIENT_BOUNDS`. */
  scan(): void {
    const scans = ++this.#scans
    const isUnreadRefusal = this.#response.isRefusal && scans > REFUSAL_SCANS
    // Last resort, as over HTTP/1.1: the deadlines of `upload-watch.ts` are shorter.
    if (isUnreadRefusal || (!this.#request.complete && scans > REQUEST_SCANS)) this.#response.breakOff()
  }

  /**
   * After the complete response, the client need not send the rest of its body (RFC 9113, 8.1). A head that was given in the turn of
   * the request is sent at its end: a reset before that would take its place.
   */
  #onFinish(): void {
    if (this.#response.writableEnded && !this.#request.complete) setImmediate(() => this.stream.close())
  }

  /** Node would keep a stream that the client has reset until its body is read. */
  #onAborted(): void {
    if (!this.#response.isBrokenOff) process.nextTick(() => this.stream.destroy())
  }

  #onClose(): void {
    const response = this.#response
    this.#request.close()
    response.close()
    this.#connection.onStreamClosed(this, !response.writableFinished && !response.isBrokenOff)
  }
}
