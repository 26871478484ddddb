/**
 * A connection of a client over HTTP/2.
 *
 * nghttp2 reads and writes the frames. This file passes each stream on as a request and a response, and ends connections that cost
 * more than their requests: many resets, SETTINGS or PING, frames without a request. The scan of `http2-sessions.ts` applies the
 * time limits.
 */

import { constants, performServerHandshake, type ServerHttp2Session, type ServerHttp2Stream } from 'node:http2'
import type { Socket } from 'node:net'
import { CLIENT_BOUNDS, REFUSAL_WITHIN_MS, type ClientServerOptions } from '../client.ts'
import { deliveredBytes, queuedBytes } from '../reader-watch.ts'
import { ControlBytes } from './control-bytes.ts'
import { RequestTurns } from '../request-turns.ts'
import { EventWindow } from './event-window.ts'
import { HTTP2_BOUNDS, SESSION_OPTIONS } from './http2-bounds.ts'
import { OpenStream, type StreamConnection } from './open-stream.ts'

const { headWithinMs, idleMs, scanEveryMs } = CLIENT_BOUNDS
const HEAD_SCANS = headWithinMs / scanEveryMs
const IDLE_SCANS = idleMs / scanEveryMs
const REFUSAL_SCANS = REFUSAL_WITHIN_MS / scanEveryMs

const { NGHTTP2_ENHANCE_YOUR_CALM, NGHTTP2_FLAG_END_STREAM, NGHTTP2_REFUSED_STREAM, NGHTTP2_SETTINGS_TIMEOUT } =
  constants

/** One object for all, since a stack costs more than the rest. */
const FLOODED = new Error('a client sent too many frames')
const NOT_ACKNOWLEDGED = new Error('a client has not acknowledged the settings')

/** Errors of nghttp2 and Node about frames that the protocol does not allow. */
const INVALID: ReadonlySet<string> = new Set(['ERR_HTTP2_ERROR', 'ERR_HTTP2_TOO_MANY_INVALID_FRAMES'])

/** The server of a connection. */
export interface Http2Server extends Pick<ClientServerOptions, 'count' | 'onRequest' | 'onFault'> {
  /** Every connection ends with its current streams. */
  readonly isLeaving: boolean
  /** Counts a stream; returns false if the thread has as many as it may have. */
  openStream(): boolean
  closeStream(): void
  onClosed(connection: Http2Connection): void
}

export class Http2Connection implements StreamConnection {
  readonly socket: Socket
  readonly #server: Http2Server
  readonly #session: ServerHttp2Session
  readonly #streams = new Set<OpenStream>()
  readonly #resets = new EventWindow(HTTP2_BOUNDS.resetsMax, HTTP2_BOUNDS.countedMs)
  readonly #settings = new EventWindow(HTTP2_BOUNDS.settingsMax, HTTP2_BOUNDS.countedMs)
  readonly #pings = new EventWindow(HTTP2_BOUNDS.pingsMax, HTTP2_BOUNDS.countedMs)
  readonly #control = new ControlBytes()
  readonly #turns = new RequestTurns<OpenStream>((stream) => {
    // The client may have reset it.
    if (this.#streams.has(stream)) stream.serve(this.#server)
  })
  #streamCount = 0
  #bodyBytes = 0
  /** The client has sent its preface. */
  #hasBegun = false
  /** The client has accepted the bounds of the gateway. */
  #isAcknowledged = false
  /** Scans of the whole connection, and since it has no stream or has ended. */
  #scans = 0
  #idleScans = 0
  /** The last stream whose head is complete, and scans since the head of a later one has begun. */
  #lastStreamId = 0
  #headScans = 0
  /** Streams until the last scan: most begin and end between two scans. */
  #scannedStreams = 0

  constructor(socket: Socket, server: Http2Server) {
    this.socket = socket
    this.#server = server
    socket.on('error', () => socket.destroy())
    socket.on('close', () => server.onClosed(this))
    const session = (this.#session = performServerHandshake(socket, SESSION_OPTIONS))
    session.on('error', (error: NodeJS.ErrnoException) => INVALID.has(error.code ?? '') && server.count('malformed'))
    session.on('stream', (stream, _headers, flags, received) => this.#onStream(stream, flags, received))
    session.on('localSettings', () => (this.#isAcknowledged = true))
    session.on('remoteSettings', () => this.#onSettings())
    session.on('ping', () => this.#onPing())
    session.setLocalWindowSize(HTTP2_BOUNDS.connectionWindowBytes)
  }

  get isIdle(): boolean {
    return this.#hasBegun && this.#streams.size === 0
  }

  get deliveredBytes(): number {
    return deliveredBytes(this.socket)
  }

  get isBlocked(): boolean {
    return queuedBytes(this.socket) > 0 || this.#session.state.remoteWindowSize === 0
  }

  /** Sends GOAWAY; open streams may end. */
  leave(): void {
    this.#session.close()
  }

  /** Called for all connections in the interval of `CLIENT_BOUNDS`. */
  scan(): void {
    this.#scans++
    const isIdle = this.#streams.size === 0 && this.#streamCount === this.#scannedStreams
    this.#scannedStreams = this.#streamCount
    if (this.#session.destroyed || isIdle) this.#idleScans++
    else this.#idleScans = 0
    if (this.#session.destroyed || this.#session.closed) return this.#scanEnding()
    if (!this.#hasBegun) {
      if (this.#scans > HEAD_SCANS) this.#refuseSlow()
      return
    }
    if (!this.#isAcknowledged && this.#scans > HEAD_SCANS)
      return this.#session.destroy(NOT_ACKNOWLEDGED, NGHTTP2_SETTINGS_TIMEOUT)
    if (isIdle && this.#isHeadLate()) return this.#refuseSlow()
    if (this.#idleScans > IDLE_SCANS) return this.#session.close()
    if (this.#control.isExceededBy(this.#traffic)) return this.#endFlood()
    for (const stream of this.#streams) stream.scan()
  }

  /** A head may come in many frames, and nghttp2 knows its stream from the first one on. */
  #isHeadLate(): boolean {
    const { lastProcStreamID = 0 } = this.#session.state
    this.#headScans = lastProcStreamID > this.#lastStreamId ? this.#headScans + 1 : 0
    return this.#headScans > HEAD_SCANS
  }

  onFault(cause: unknown): void {
    this.#server.onFault(cause)
  }

  onBodyBytes(bytes: number): void {
    this.#bodyBytes += bytes
  }

  get #traffic() {
    const { bytesRead: receivedBytes, bytesWritten: sentBytes } = this.socket
    return { receivedBytes, sentBytes, bodyBytes: this.#bodyBytes, streams: this.#streamCount }
  }

  #onStream(stream: ServerHttp2Stream, flags: number, received: readonly string[]): void {
    const server = this.#server
    this.#streamCount++
    this.#lastStreamId = stream.id ?? this.#lastStreamId
    stream.on('error', ignore)
    // The client has reset it in the same read.
    if (stream.destroyed || stream.closed) return this.#countReset()
    if (!server.openStream()) {
      server.count('http2_stream_refused')
      return stream.close(NGHTTP2_REFUSED_STREAM)
    }
    const open = new OpenStream(this, stream, received, (flags & NGHTTP2_FLAG_END_STREAM) === 0)
    this.#streams.add(open)
    this.#turns.add(open)
    if (server.isLeaving) this.leave()
  }

  onStreamClosed(stream: OpenStream, isReset: boolean): void {
    this.#streams.delete(stream)
    this.#server.closeStream()
    if (isReset) this.#countReset()
  }

  #countReset(): void {
    if (this.#resets.add(performance.now())) this.#endFlood()
  }

  #onSettings(): void {
    this.#hasBegun = true
    if (this.#settings.add(performance.now())) this.#endFlood()
  }

  #onPing(): void {
    if (this.#pings.add(performance.now())) this.#endFlood()
  }

  #endFlood(): void {
    if (this.#session.destroyed) return
    this.#server.count('http2_flood')
    this.#session.destroy(FLOODED, NGHTTP2_ENHANCE_YOUR_CALM)
  }

  #refuseSlow(): void {
    this.#server.count('request_too_slow')
    this.socket.destroy()
  }

  /** A client that does not close its side would keep the connection otherwise. */
  #scanEnding(): void {
    if (this.#idleScans > REFUSAL_SCANS) this.socket.destroy()
    else for (const stream of this.#streams) stream.scan()
  }
}

function ignore(): void {}
