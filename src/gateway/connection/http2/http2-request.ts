/**
 * A request that arrives on a stream of HTTP/2.
 *
 * The client may send as much of the body as its window allows, which grows only by what listeners have read.
 */

import type { IncomingHttpHeaders } from 'node:http'
import type { ServerHttp2Stream } from 'node:http2'
import type { Socket } from 'node:net'
import type { ClientRequest } from '../client.ts'
import type { ChunkWriter } from '../chunk-writer.ts'
import { Listeners } from '../http1/listeners.ts'
import { toHeaders } from '../http1/received-headers.ts'
import type { ReadHead } from './request-head.ts'

/** The stream of a request and its response, on a connection. */
export interface StreamCarrier {
  readonly stream: ServerHttp2Stream
  readonly socket: Socket
  /** Bytes of the connection that its client has accepted. */
  readonly deliveredBytes: number
  /** Whether streams wait for the connection, instead of their own windows. */
  readonly isBlocked: boolean
  /** Runs a step of a listener; a fault ends the stream. */
  guard(step: () => void): void
  onBodyBytes(bytes: number): void
}

export class Http2Request extends Listeners implements ClientRequest {
  readonly isHttp2 = true
  readonly httpVersionMajor = 2
  readonly httpVersionMinor = 0
  readonly method: string
  readonly url: string
  readonly rawHeaders: readonly string[]
  writer: ChunkWriter | null = null
  complete: boolean
  readableFlowing: boolean | null = null
  readonly #carrier: StreamCarrier
  readonly #stream: ServerHttp2Stream
  #headers: IncomingHttpHeaders | null = null
  #isRead = false
  #isClosed = false

  constructor(carrier: StreamCarrier, { method, target, raw }: ReadHead, hasBody: boolean) {
    super()
    this.#carrier = carrier
    this.#stream = carrier.stream
    this.method = method
    this.url = target
    this.rawHeaders = raw
    this.complete = !hasBody
  }

  get socket(): Socket {
    return this.#carrier.socket
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
    if (this.#isRead) this.#stream.pause()
  }

  resume(): void {
    this.readableFlowing = true
    if (this.#isClosed) return
    if (!this.#isRead) {
      this.#isRead = true
      this.#stream.on('data', (chunk: Buffer) => this.#onData(chunk))
      this.#stream.on('end', () => this.#onEnd())
    }
    this.#stream.resume()
  }

  /** The stream has ended, or the request. */
  close(): void {
    if (this.#isClosed) return
    this.#isClosed = true
    this.#carrier.guard(() => this.emit('close'))
  }

  #onData(chunk: Buffer): void {
    this.#carrier.onBodyBytes(chunk.length)
    if (!this.#isClosed) this.#carrier.guard(() => this.emit('data', chunk))
  }

  /** Node ends a stream that its client has reset like one that is complete, but closes it before. */
  #onEnd(): void {
    if (this.#isClosed) return
    if (!this.#stream.closed) {
      this.complete = true
      this.#carrier.guard(() => this.emit('end'))
    }
    this.close()
  }
}
