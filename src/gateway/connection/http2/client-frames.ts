/** Answers the frames of a client, once `FrameReader` has found them. Those of requests go on to `RequestReceiver`. */

import { EventWindow } from './event-window.ts'
import { ERROR, FLAG, FRAME, WINDOW_BYTES, WINDOW_BYTES_MAX } from './frame.ts'
import type { FrameReceiver } from './frame-reader.ts'
import { faultInFrame } from './frame-rules.ts'
import { HTTP2_BOUNDS } from './http2-bounds.ts'
import type { OpenStream } from './open-stream.ts'
import { readSettings } from './peer-settings.ts'
import type { RequestReceiver } from './request-receiver.ts'
import type { StreamSender } from './stream-sender.ts'
import type { StreamTable } from './stream-table.ts'

const PRIORITY_BYTES = 5

/** The connection of the frames. */
export interface FramesOwner {
  onPingAnswered(payload: Buffer): void
  /** Resets a stream for a fault of the client. */
  resetFault(stream: OpenStream, code: number): void
  /** The client has caused a reset. */
  countReset(): void
  /** Ends the connection for a fault of the client. */
  fail(code: number): void
  endFlood(): void
  /** Closes a connection that is none of HTTP/2. */
  destroy(reason: 'malformed'): void
}

export class ClientFrames implements FrameReceiver {
  /** The client has sent its settings. */
  hasBegun = false
  /** The client has accepted the bounds of the gateway. */
  isAcknowledged = false
  /** Send window of new streams. */
  streamWindow = WINDOW_BYTES
  readonly #owner: FramesOwner
  readonly #streams: StreamTable
  readonly #sender: StreamSender
  readonly #receiver: RequestReceiver
  readonly #settings = new EventWindow(HTTP2_BOUNDS.settingsMax, HTTP2_BOUNDS.countedMs)
  readonly #pings = new EventWindow(HTTP2_BOUNDS.pingsMax, HTTP2_BOUNDS.countedMs)

  constructor(owner: FramesOwner, streams: StreamTable, sender: StreamSender, receiver: RequestReceiver) {
    this.#owner = owner
    this.#streams = streams
    this.#sender = sender
    this.#receiver = receiver
  }

  onFrame(type: number, flags: number, id: number, payload: Buffer): void {
    const fault = this.#mayFollow(type, flags, id) ? faultInFrame(type, flags, id, payload.length) : ERROR.protocol
    if (fault !== ERROR.none) return this.#owner.fail(fault)
    switch (type) {
      case FRAME.headers:
        return this.#receiver.onHeaders(flags, id, payload)
      case FRAME.continuation:
        return this.#receiver.onContinuation(flags, payload)
      case FRAME.settings:
        return this.#onSettings(flags, payload)
      case FRAME.ping:
        return this.#onPing(flags, payload)
      case FRAME.windowUpdate:
        return this.#onWindowUpdate(id, payload)
      case FRAME.reset:
        return this.#onReset(id)
      case FRAME.priority:
        return this.#onPriority(id, payload)
      // GOAWAY of a client is about streams of the gateway, which opens none: the client may open others (6.8).
    }
  }

  onDataFrame(flags: number, id: number, bytes: number): void {
    const fault = this.#mayFollow(FRAME.data, flags, id) ? faultInFrame(FRAME.data, flags, id, bytes) : ERROR.protocol
    if (fault === ERROR.none) this.#receiver.onDataFrame(flags, id, bytes)
    else this.#owner.fail(fault)
  }

  onData(part: Buffer): void {
    this.#receiver.onData(part)
  }

  onDataEnd(): void {
    this.#receiver.onDataEnd()
  }

  onInvalid(code: number | null): void {
    if (code === null) this.#owner.destroy('malformed')
    else this.#owner.fail(code)
  }

  /** The first frame is SETTINGS (3.4), and nothing interrupts a head (6.10). */
  #mayFollow(type: number, flags: number, id: number): boolean {
    if (!this.hasBegun) return type === FRAME.settings && (flags & FLAG.ack) === 0
    const { headStream } = this.#receiver
    return headStream === null ? type !== FRAME.continuation : type === FRAME.continuation && id === headStream
  }

  #onSettings(flags: number, payload: Buffer): void {
    if ((flags & FLAG.ack) !== 0) {
      this.isAcknowledged = true
      return
    }
    const settings = readSettings(payload)
    if (typeof settings === 'number') return this.#owner.fail(settings)
    this.hasBegun = true
    if (settings.tableSize !== undefined) this.#sender.encoder.resize(settings.tableSize)
    if (settings.window !== undefined && !this.#changeWindows(settings.window))
      return this.#owner.fail(ERROR.flowControl)
    this.#sender.writer.acknowledge(FRAME.settings, payload.subarray(0, 0))
    this.#sender.sendSoon(null)
    if (this.#settings.add(performance.now())) this.#owner.endFlood()
  }

  /** Windows of open streams change by the difference, and may become negative (6.9.2). */
  #changeWindows(bytes: number): boolean {
    const difference = bytes - this.streamWindow
    this.streamWindow = bytes
    for (const stream of this.#streams.all()) {
      stream.sendWindow += difference
      if (stream.sendWindow > WINDOW_BYTES_MAX) return false
      this.#sender.sendSoon(stream)
    }
    return true
  }

  #onPing(flags: number, payload: Buffer): void {
    if (this.#pings.add(performance.now())) return this.#owner.endFlood()
    if ((flags & FLAG.ack) !== 0) {
      this.#owner.onPingAnswered(payload)
      return
    }
    this.#sender.writer.acknowledge(FRAME.ping, payload)
    this.#sender.sendSoon(null)
  }

  #onWindowUpdate(id: number, payload: Buffer): void {
    const bytes = payload.readUInt32BE(0) & WINDOW_BYTES_MAX
    if (id === 0) {
      if (bytes === 0) this.#owner.fail(ERROR.protocol)
      else if (!this.#sender.grant(bytes)) this.#owner.fail(ERROR.flowControl)
      return
    }
    const stream = this.#streams.get(id)
    if (stream === undefined) return void (id > this.#streams.last && this.#owner.fail(ERROR.protocol))
    stream.sendWindow += bytes
    if (bytes === 0) this.#owner.resetFault(stream, ERROR.protocol)
    else if (stream.sendWindow > WINDOW_BYTES_MAX) this.#owner.resetFault(stream, ERROR.flowControl)
    else this.#sender.sendSoon(stream)
  }

  #onReset(id: number): void {
    if (id > this.#streams.last) return this.#owner.fail(ERROR.protocol)
    const stream = this.#streams.get(id)
    if (stream === undefined) return
    stream.isReceived = true
    stream.abort()
    this.#owner.countReset()
  }

  #onPriority(id: number, payload: Buffer): void {
    if (payload.length === PRIORITY_BYTES) return
    const stream = this.#streams.get(id)
    if (stream === undefined) this.#owner.fail(ERROR.frameSize)
    else this.#owner.resetFault(stream, ERROR.frameSize)
  }
}
