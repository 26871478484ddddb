/**
 * A response on one of our connections.
 *
 * It is written to the socket once it is the first one of its connection, and kept in memory before that. The head is written with
 * the first bytes of the body, so that most responses need one system call.
 */

import type { Socket } from 'node:net'
import type { AnsweredCall, ClientResponse, ResponseEvent, SwitchedResponse } from '../client.ts'
import { toResponseFields, type ResponseFields } from '../response-fields.ts'
import type { Http1Request } from './http1-request.ts'
import { Listeners } from './listeners.ts'
import { currentDateLine, statusLine } from './response-head.ts'

/** The connection of a response. */
export interface ResponseCarrier {
  readonly socket: Socket
  /** Bytes of responses that wait for their turn. */
  queuedBytes: number
  /** Whether the connection may carry another request after this response. */
  mayContinueAfter(response: Http1Response): boolean
  /** Stops reading requests, unless another one has arrived. Returns whether it did. */
  release(response: Http1Response): boolean
  /** No other request is served. */
  close(): void
  /** The last byte of the first response was passed to the socket. */
  onEnded(): void
  /** Nothing that follows is served. */
  refuseFollowing(): void
  /** Runs a step of a listener; a fault ends the connection. */
  guard(step: () => void): void
}

type Part = string | Buffer

/** As many bytes may wait before `write` asks for a pause. */
const QUEUED_BYTES_MAX = 65_536
/** Up to this size, a copy of a chunk into the text before it costs less than a second buffer to write. */
const JOINED_BYTES_MAX = 4_096
const CONTINUE = 'HTTP/1.1 100 Continue\r\n\r\n'
const LAST_CHUNK = '0\r\n\r\n'
const KEEP_ALIVE = 'Connection: keep-alive\r\nKeep-Alive: timeout=65\r\n'
const CLOSE = 'Connection: close\r\n'
const SWITCH = 'Connection: Upgrade\r\nUpgrade: websocket\r\n'
const EMPTY = toResponseFields(['Content-Length', '0'], true)

export class Http1Response extends Listeners implements ClientResponse {
  call: AnsweredCall | null = null
  readonly request: Http1Request
  shouldKeepAlive: boolean
  headersSent = false
  writableEnded = false
  writableFinished = false
  destroyed = false

  /** The response belongs to no call, so that nothing else disconnects a client that does not read it. */
  isRefusal = false
  readonly #carrier: ResponseCarrier
  #statusLine = ''
  #fields: ResponseFields | null = null
  #isHeadWritten = false
  #hasBody = true
  #isChunked = false
  #bodyBytes = 0
  #isCurrent = false
  #isContinueQueued = false
  #needsDrain = false
  #isClosed = false
  #switched: SwitchedResponse | null = null
  #queued: Part[] = []
  #queuedBytes = 0

  constructor(carrier: ResponseCarrier, request: Http1Request, shouldKeepAlive: boolean) {
    super()
    this.#carrier = carrier
    this.request = request
    this.shouldKeepAlive = shouldKeepAlive
  }

  get socket(): Socket | null {
    return this.#isCurrent ? this.#carrier.socket : null
  }

  get writableLength(): number {
    return this.#isCurrent ? this.#carrier.socket.writableLength : this.#queuedBytes
  }

  start(status: number, fields: ResponseFields): void {
    if (this.headersSent) throw new Error('a response has a second head')
    this.#statusLine = statusLine(status)
    this.#fields = fields
    this.#hasBody = this.request.method !== 'HEAD' && status !== 204 && status !== 304 && this.#switched === null
    this.headersSent = true
  }

  flushHeaders(): void {
    if (!this.#isHeadWritten && !this.destroyed) this.#send(this.#takeHead(-1), null, '')
  }

  write(chunk: Buffer): boolean {
    if (this.destroyed || this.writableEnded) return true
    const head = this.#isHeadWritten ? '' : this.#takeHead(-1)
    if (!this.#hasBody || chunk.length === 0) return head === '' || this.#send(head, null, '')
    this.#bodyBytes += chunk.length
    if (this.#length >= 0 && this.#bodyBytes > this.#length) {
      this.breakOff()
      return true
    }
    if (!this.#isChunked) return this.#send(head, chunk, '')
    return this.#send(`${head}${chunk.length.toString(16)}\r\n`, chunk, '\r\n')
  }

  end(last: Buffer | string | null = null): void {
    if (this.destroyed || this.writableEnded) return
    this.writableEnded = true
    const chunk = typeof last === 'string' ? Buffer.from(last) : last
    const bytes = chunk?.length ?? 0
    const head = this.#isHeadWritten ? '' : this.#takeHead(bytes)
    this.#bodyBytes += bytes
    // The client would take the next response for the rest of this one, or the rest of this one for the next response.
    if (this.#hasBody && this.#length >= 0 && this.#bodyBytes !== this.#length) return this.breakOff()
    if (!this.#hasBody) this.#send(head, null, '')
    else if (!this.#isChunked) this.#send(head, chunk, '')
    else if (bytes === 0) this.#send(head, null, LAST_CHUNK)
    else this.#send(`${head}${bytes.toString(16)}\r\n`, chunk, `\r\n${LAST_CHUNK}`)
    this.#notify('prefinish')
    if (this.#isCurrent) this.#carrier.onEnded()
  }

  endWith(last: Buffer | string | null): void {
    if (this.#switched === null) this.end(last)
    else this.#switched.onRecorded()
  }

  switchProtocols(switched: SwitchedResponse): Socket | null {
    if (this.headersSent || this.destroyed || !this.#carrier.release(this)) return null
    this.#switched = switched
    return this.#carrier.socket
  }

  refuse(status: number): void {
    this.#carrier.refuseFollowing()
    this.isRefusal = true
    this.start(status, EMPTY)
    this.end()
  }

  askForBody(): void {
    if (this.headersSent || this.destroyed) return
    if (this.#isCurrent) this.#carrier.socket.write(CONTINUE, 'latin1')
    else this.#isContinueQueued = true
  }

  breakOff(): void {
    this.destroyed = true
    this.#dropQueued()
    if (this.#switched !== null) this.#switched.breakOff()
    else if (this.#isCurrent) this.#carrier.socket.destroy()
  }

  disconnect(): void {
    this.#carrier.socket.destroy()
  }

  /** The response is the first one of its connection now. If it has ended, the connection must see to its end. */
  begin(): void {
    const { socket } = this.#carrier
    this.#isCurrent = true
    if (this.destroyed) return void socket.destroy()
    this.#notify('socket', socket)
    if (this.#isContinueQueued && !this.headersSent) {
      this.#isContinueQueued = false
      socket.write(CONTINUE, 'latin1')
    }
    const parts = this.#dropQueued()
    if (parts.length > 0) this.#writeAll(parts)
    if (!this.writableEnded && !socket.writableNeedDrain) this.drained()
  }

  /** The socket accepts bytes again. */
  drained(): void {
    if (!this.#needsDrain) return
    this.#needsDrain = false
    this.#notify('drain')
  }

  /** The kernel has accepted all bytes, or the connection has ended. */
  close(isFinished: boolean): void {
    if (this.#isClosed) return
    this.#isClosed = true
    this.writableFinished = isFinished
    this.destroyed = true
    this.#isCurrent = false
    this.#dropQueued()
    const { call } = this
    if (call !== null) this.#carrier.guard(() => call.clientGone())
    this.#notify('close')
  }

  #notify(event: ResponseEvent, ...parts: readonly unknown[]): void {
    if (this.listenerCount(event) > 0) this.#carrier.guard(() => this.emit(event, ...parts))
  }

  /** Returns the head. `bytes` is the length of the whole body; -1 if it is unknown. */
  #takeHead(bytes: number): string {
    const fields = this.#fields
    if (fields === null) throw new Error('a response has no head')
    this.#isHeadWritten = true
    if (this.#switched !== null) return `${this.#statusLine}${fields.lines}${currentDateLine()}${SWITCH}\r\n`
    let framing = ''
    if (this.#hasBody && fields.length < 0) {
      if (bytes >= 0) framing = `Content-Length: ${bytes}\r\n`
      else if (this.request.httpVersionMinor > 0) {
        this.#isChunked = true
        framing = 'Transfer-Encoding: chunked\r\n'
      } else this.shouldKeepAlive = false
    }
    if (fields.isLast || this.#mayLackBody || !this.#carrier.mayContinueAfter(this)) this.shouldKeepAlive = false
    if (!this.shouldKeepAlive) this.#carrier.close()
    const date = fields.hasDate ? '' : currentDateLine()
    const connection = this.shouldKeepAlive ? KEEP_ALIVE : CLOSE
    return `${this.#statusLine}${fields.lines}${date}${connection}${framing}\r\n`
  }

  /** `Content-Length` of the head; -1 if it has none. */
  get #length(): number {
    return this.#fields!.length
  }

  /** Whether the client may not send the rest of its body, because it did not get `100 Continue`. */
  get #mayLackBody(): boolean {
    return this.#isContinueQueued && !this.request.complete
  }

  /** Writes or queues text around a chunk. Returns false if the client must read first. */
  #send(before: string, chunk: Buffer | null, after: string): boolean {
    if (chunk === null) return this.#sendPart(before + after)
    if (before === '' && after === '') return this.#sendPart(chunk)
    if (chunk.length <= JOINED_BYTES_MAX) return this.#sendPart(before + chunk.toString('latin1') + after)
    const parts = after === '' ? [before, chunk] : [before, chunk, after]
    if (this.#isCurrent) return this.#writeAll(parts)
    return parts.map((part) => this.#queue(part)).every(Boolean)
  }

  #sendPart(part: Part): boolean {
    // An empty write to a socket with TLS would read from it.
    if (part.length === 0) return true
    if (!this.#isCurrent) return this.#queue(part)
    const mayContinue = this.#carrier.socket.write(part, 'latin1')
    if (!mayContinue) this.#needsDrain = true
    return mayContinue
  }

  #writeAll(parts: readonly Part[]): boolean {
    const { socket } = this.#carrier
    socket.cork()
    let mayContinue = true
    for (const part of parts) mayContinue = this.#sendPart(part)
    socket.uncork()
    return mayContinue
  }

  #queue(part: Part): boolean {
    this.#queued.push(part)
    this.#queuedBytes += part.length
    this.#carrier.queuedBytes += part.length
    if (this.#queuedBytes < QUEUED_BYTES_MAX) return true
    this.#needsDrain = true
    return false
  }

  #dropQueued(): readonly Part[] {
    const parts = this.#queued
    if (parts.length === 0) return parts
    this.#queued = []
    this.#carrier.queuedBytes -= this.#queuedBytes
    this.#queuedBytes = 0
    return parts
  }
}
