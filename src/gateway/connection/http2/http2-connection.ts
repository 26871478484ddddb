/**
 * A connection of a client over HTTP/2 (RFC 9113).
 *
 * `client-frames.ts` answers frames; each stream carries a request and its response. Requests are served when the read that
 * has brought them has ended, and all frames leave at the end of the turn, in one piece. Connections that cost more than their requests end:
 * many resets, SETTINGS or PING, frames without a request. The scan of `http2-sessions.ts` applies the time limits.
 */

import type { Socket } from 'node:net'
import type { ClientServerOptions } from '../client.ts'
import type { HeaderMemo } from '../header-memo.ts'
import { SocketReading } from '../http1/socket-reading.ts'
import { deliveredBytes, queuedBytes } from '../reader-watch.ts'
import { RequestTurns } from '../request-turns.ts'
import { ClientFrames, type FramesOwner } from './client-frames.ts'
import { ControlBytes } from './control-bytes.ts'
import { EventWindow } from './event-window.ts'
import { ERROR, WINDOW_BYTES } from './frame.ts'
import { FrameReader } from './frame-reader.ts'
import type { FrameWriter } from './frame-writer.ts'
import type { HpackEncoder } from './hpack-encoder.ts'
import { HTTP2_BOUNDS, SETTINGS } from './http2-bounds.ts'
import { Http2Clock, type ScannedConnection } from './http2-clock.ts'
import { OpenStream, type StreamConnection } from './open-stream.ts'
import type { ReadHead } from './request-head.ts'
import { RequestReceiver, type RequestOwner } from './request-receiver.ts'
import { StreamSender, type SenderOwner } from './stream-sender.ts'
import { StreamTable } from './stream-table.ts'

/** Its answer shows that the client has read what was sent before. */
const LEAVING_PING = Buffer.from('leaving.')
/** As much time has the client to answer. */
const LEAVING_MS = 1_000

/** The server of a connection. */
export interface Http2Server extends Pick<ClientServerOptions, 'count' | 'onRequest' | 'onFault'> {
  /** Every connection ends with its current streams. */
  readonly isLeaving: boolean
  /** Counts a stream; returns false if the thread has as many as it may have. */
  openStream(): boolean
  closeStream(): void
  onClosed(connection: Http2Connection): void
}

/**
 * - `leaving`: the client should send no other request, and may not know it yet.
 * - `final`: the client knows; the connection ends with its streams.
 * - `over`: nothing is read or served any more.
 */
type Phase = 'open' | 'leaving' | 'final' | 'over'

export class Http2Connection implements FramesOwner, RequestOwner, StreamConnection, SenderOwner {
  readonly socket: Socket
  readonly #server: Http2Server
  readonly #reading: SocketReading
  readonly #streams = new StreamTable()
  readonly #receiver = new RequestReceiver(this, this.#streams)
  readonly #sender: StreamSender
  readonly #frames: ClientFrames
  readonly #reader: FrameReader
  readonly #resets = new EventWindow(HTTP2_BOUNDS.resetsMax, HTTP2_BOUNDS.countedMs)
  readonly #clock = new Http2Clock()
  readonly #control = new ControlBytes()
  readonly #turns = new RequestTurns<OpenStream>((stream) => {
    // The client may have reset it.
    if (this.#streams.has(stream)) stream.serve(this.#server)
  })
  #phase: Phase = 'open'
  #leftAt = -Infinity
  /** The last stream that is served, once the client knows it. */
  #finalStream: number | null = null
  #streamCount = 0
  #bodyBytes = 0

  constructor(socket: Socket, server: Http2Server) {
    this.socket = socket
    this.#server = server
    this.#sender = new StreamSender(socket, this)
    this.#frames = new ClientFrames(this, this.#streams, this.#sender, this.#receiver)
    this.#reader = new FrameReader(this.#frames)
    socket.on('error', () => socket.destroy())
    // A client that closes its side reads nothing more.
    socket.on('end', () => socket.destroy())
    socket.on('close', () => this.#onClose())
    this.writer.settings(SETTINGS)
    this.writer.windowUpdate(0, HTTP2_BOUNDS.connectionWindowBytes - WINDOW_BYTES)
    this.sendSoon(null)
    this.#reading = new SocketReading(socket, { parse: (bytes) => this.guard(() => this.#parse(bytes)) }, false)
  }

  /** Whether it can be closed without a loss: nothing is open or unsent, and the client has had time to hear that the gateway leaves. */
  get isIdle(): boolean {
    const isQuiet = this.#streams.isEmpty && this.writer.bytes === 0 && this.socket.writableLength === 0
    return this.#frames.hasBegun && isQuiet && performance.now() >= this.#leftAt + LEAVING_MS
  }

  get deliveredBytes(): number {
    return deliveredBytes(this.socket) - this.writer.controlBytes
  }

  get isBlocked(): boolean {
    return queuedBytes(this.socket) > 0 || this.#sender.isWindowClosed
  }

  get writer(): FrameWriter {
    return this.#sender.writer
  }

  get encoder(): HpackEncoder {
    return this.#sender.encoder
  }

  /** Asks the client to send its further requests elsewhere; open streams may end. */
  leave(): void {
    if (this.#phase !== 'open') return
    this.#phase = 'leaving'
    this.#leftAt = performance.now()
    this.writer.goAway(null, ERROR.none)
    this.writer.ping(LEAVING_PING)
    this.sendSoon(null)
  }

  /** Called for all connections in the interval of `CLIENT_BOUNDS`. */
  scan(): void {
    const due = this.#clock.scan(this.#seen)
    // A client that does not close its side, or does not read, would keep the connection otherwise.
    if (due === 'end') this.socket.destroy()
    if (this.#phase === 'over') return
    if (due === 'head') return this.destroy('request_too_slow')
    if (due === 'settings') return this.#end(ERROR.settingsTimeout)
    if (this.#phase === 'leaving') this.finish()
    else if (due === 'idle') this.leave()
    if (this.#isFlooded()) return this.endFlood()
    for (const stream of this.#streams.all()) stream.scan()
  }

  get #seen(): ScannedConnection {
    const { hasBegun, isAcknowledged } = this.#frames
    return {
      isOver: this.#phase === 'over',
      hasBegun,
      isAcknowledged,
      isWithinHead: this.#receiver.headStream !== null || this.#reader.isWithinHead,
      openStreams: this.#streams.size,
      streams: this.#streamCount,
      lastStream: this.#streams.last,
      deliveredBytes: deliveredBytes(this.socket),
      isWaitedFor: queuedBytes(this.socket) > 0,
    }
  }

  #isFlooded(): boolean {
    const { bytesRead: receivedBytes, bytesWritten: sentBytes } = this.socket
    const traffic = { receivedBytes, sentBytes, bodyBytes: this.#bodyBytes, streams: this.#streamCount }
    return this.#control.isExceededBy(traffic)
  }

  #parse(bytes: Buffer): void {
    if (this.#phase === 'over') return
    this.#reader.parse(bytes)
    this.#receiver.onReadEnd()
  }

  holdReading(isHeld: boolean): void {
    this.#reading.pause(isHeld)
  }

  sendSoon(stream: OpenStream | null): void {
    this.#sender.sendSoon(stream)
  }

  onBodyRead(bytes: number): void {
    this.#bodyBytes += bytes
    this.#receiver.grant(bytes)
  }

  get count() {
    return this.#server.count
  }

  get isFinal(): boolean {
    return this.#phase === 'final' || this.#phase === 'over'
  }

  countStream(): boolean {
    this.#streamCount++
    return this.#server.openStream()
  }

  open(id: number, head: ReadHead, memo: HeaderMemo, hasBody: boolean): OpenStream {
    if (this.#server.isLeaving) this.leave()
    return new OpenStream(this, id, head, memo, hasBody, this.#frames.streamWindow)
  }

  serve(stream: OpenStream): void {
    this.#turns.add(stream)
  }

  sendUpdate(bytes: number): void {
    this.writer.windowUpdate(0, bytes)
    this.sendSoon(null)
  }

  sendReset(id: number, code: number): void {
    this.writer.reset(id, code)
    this.sendSoon(null)
  }

  evict(stream: OpenStream): void {
    this.#streams.end(stream)
    this.#sender.evict(stream)
    this.#server.closeStream()
  }

  onFlushed(isFlushed: boolean): void {
    this.#streams.notifyEnded(isFlushed)
    if (this.#phase === 'final' && this.#streams.isEmpty) {
      this.#phase = 'over'
      this.#clock.end()
      this.#reader.stop()
    }
    if (this.#phase === 'over' && isFlushed) this.socket.end()
  }

  onFault(cause: unknown): void {
    this.#server.onFault(cause)
  }

  guard(step: () => void): void {
    try {
      step()
    } catch (cause) {
      this.onFault(cause)
      this.socket.destroy()
    }
  }

  /** The stream breaks the rules, and not its connection. */
  resetFault(stream: OpenStream, code: number): void {
    if (stream.isDone) return
    this.#server.count('malformed')
    stream.reset(code)
    this.countReset()
  }

  countReset(): void {
    if (this.#resets.add(performance.now())) this.endFlood()
  }

  endFlood(): void {
    if (this.#phase === 'over') return
    this.#server.count('http2_flood')
    this.#end(ERROR.calm)
  }

  /** The client breaks the rules of the connection. */
  fail(code: number): void {
    if (this.#phase === 'over') return
    this.#server.count('malformed')
    this.#end(code)
  }

  destroy(reason: 'malformed' | 'request_too_slow'): void {
    this.#server.count(reason)
    this.socket.destroy()
  }

  onPingAnswered(payload: Buffer): void {
    if (this.#phase === 'leaving' && payload.equals(LEAVING_PING)) this.finish()
  }

  /** The connection ends with the streams that are open. */
  finish(): void {
    if (this.isFinal) return
    this.#phase = 'final'
    this.#finalStream = this.#streams.last
    this.writer.goAway(this.#finalStream, ERROR.none)
    this.sendSoon(null)
  }

  /** Ends the connection. */
  #end(code: number): void {
    this.#phase = 'over'
    this.#clock.end()
    this.#reader.stop()
    // It must not grow (6.8).
    this.writer.goAway(this.#finalStream ?? this.#streams.last, code)
    this.#streams.abortAll()
    this.sendSoon(null)
  }

  #onClose(): void {
    this.#phase = 'over'
    this.#reader.stop()
    this.#turns.drop()
    this.#server.onClosed(this)
    this.#streams.abortAll()
    this.#streams.notifyAll()
  }
}
