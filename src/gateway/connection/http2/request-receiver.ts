/**
 * Reads the requests of a connection: heads, bodies and trailers.
 *
 * The bodies that a read has brought are passed on when it has ended, and its requests are served then.
 */

import { LastHeaders, type HeaderMemo } from '../header-memo.ts'
import { CLIENT_BOUNDS, type ClientServerOptions } from '../client.ts'
import { EventWindow } from './event-window.ts'
import { ERROR, FLAG } from './frame.ts'
import { blockIn, HeadBlock } from './head-block.ts'
import { HpackDecoder } from './hpack-decoder.ts'
import { HTTP2_BOUNDS } from './http2-bounds.ts'
import type { OpenStream } from './open-stream.ts'
import { ReceiveWindow } from './receive-window.ts'
import { areTrailers, readHead, type ReadHead } from './request-head.ts'
import type { StreamTable } from './stream-table.ts'

const { streamsMax, connectionWindowBytes, headerPairsMax, emptyFramesMax, countedMs } = HTTP2_BOUNDS
/** Distinguishes heads from those of HTTP/1.1. */
const VERSION = 20

/** The connection of the requests. */
export interface RequestOwner {
  readonly count: ClientServerOptions['count']
  /** The client knows that no other request is served. */
  readonly isFinal: boolean
  /** Counts a stream of the thread; returns false if it has too many. */
  countStream(): boolean
  open(id: number, head: ReadHead, memo: HeaderMemo, hasBody: boolean): OpenStream
  serve(stream: OpenStream): void
  /** Lets the client send as many bytes more. */
  sendUpdate(bytes: number): void
  /** Refuses a stream that was not opened. */
  sendReset(id: number, code: number): void
  /** Resets a stream for a fault of the client. */
  resetFault(stream: OpenStream, code: number): void
  /** The client has caused a reset. */
  countReset(): void
  /** Ends the connection for a fault of the client. */
  fail(code: number): void
  endFlood(): void
}

export class RequestReceiver {
  readonly #owner: RequestOwner
  readonly #streams: StreamTable
  readonly #decoder = new HpackDecoder({ bytesMax: CLIENT_BOUNDS.headBytesMax, fieldsMax: headerPairsMax })
  readonly #lastHeaders = new LastHeaders()
  readonly #window = new ReceiveWindow(connectionWindowBytes)
  readonly #emptyFrames = new EventWindow(emptyFramesMax, countedMs)
  /** The head that is incomplete. */
  #block: HeadBlock | null = null
  /** The stream of the DATA frame that arrives; null if it is not wanted. */
  #receiving: OpenStream | null = null
  #dataFlags = 0
  #frameBytes = 0
  #bodyBytes = 0
  /** Streams that the present read has opened, and those whose body it has brought. */
  #arrived: OpenStream[] = []
  readonly #touched = new Set<OpenStream>()

  constructor(owner: RequestOwner, streams: StreamTable) {
    this.#owner = owner
    this.#streams = streams
  }

  /** The stream of a head that is incomplete; null if there is none. */
  get headStream(): number | null {
    return this.#block?.stream ?? null
  }

  onHeaders(flags: number, id: number, payload: Buffer): void {
    const part = blockIn(flags, payload)
    if (part === null) return this.#owner.fail(ERROR.protocol)
    const isWhole = (flags & FLAG.endStream) !== 0
    if ((flags & FLAG.endHeaders) !== 0) this.#onBlock(id, isWhole, part)
    else this.#block = new HeadBlock(id, isWhole, part)
  }

  onContinuation(flags: number, payload: Buffer): void {
    const block = this.#block
    if (block === null || !block.add(payload)) return this.#owner.endFlood()
    if ((flags & FLAG.endHeaders) === 0) return
    this.#block = null
    this.#onBlock(block.stream, block.isWhole, block.join())
  }

  onDataFrame(flags: number, id: number, bytes: number): void {
    this.#dataFlags = flags
    this.#bodyBytes = 0
    this.#frameBytes = bytes
    if (!this.#window.take(bytes)) return this.#owner.fail(ERROR.flowControl)
    const stream = this.#streams.get(id)
    this.#receiving = stream ?? null
    const code = stream?.expect(bytes) ?? this.#streams.faultIn(id)
    if (stream !== undefined && code === ERROR.flowControl) this.#owner.resetFault(stream, code)
    else if (code !== ERROR.none) return this.#owner.fail(code)
    if (bytes === 0 && (flags & FLAG.endStream) === 0 && this.#emptyFrames.add(performance.now()))
      this.#owner.endFlood()
  }

  onData(part: Buffer): void {
    this.#bodyBytes += part.length
    const stream = this.#receiving
    if (stream === null || stream.isDone) return this.grant(part.length)
    this.#touched.add(stream)
    if (!stream.receive(part)) this.#owner.resetFault(stream, ERROR.protocol)
  }

  onDataEnd(): void {
    const stream = this.#receiving
    const padding = this.#frameBytes - this.#bodyBytes
    this.#receiving = null
    if (padding > 0) this.grant(padding)
    if (stream === null || stream.isDone) return
    if (padding > 0) stream.skip(padding)
    if ((this.#dataFlags & FLAG.endStream) !== 0) this.#onRequestEnd(stream)
  }

  /** Passes on what the read has brought. Listeners may write to sockets, which may read into the same memory. */
  onReadEnd(): void {
    if (this.#touched.size > 0) {
      const touched = [...this.#touched]
      this.#touched.clear()
      for (const stream of touched) stream.keepParts()
      for (const stream of touched) stream.passOn()
    }
    const arrived = this.#arrived
    if (arrived.length === 0) return
    this.#arrived = []
    // The client may have reset it in the same read.
    for (const stream of arrived) if (!stream.isOver) this.#owner.serve(stream)
  }

  /** Bytes of bodies were read, or dropped. */
  grant(bytes: number): void {
    const granted = this.#window.read(bytes)
    if (granted > 0) this.#owner.sendUpdate(granted)
  }

  #onBlock(id: number, isWhole: boolean, block: Buffer): void {
    // Also of a stream that is not served: the blocks that follow refer to it.
    const decoded = this.#decoder.decode(block)
    if (decoded === null) return this.#owner.fail(ERROR.compression)
    const { received, isMalformed, isTooLarge } = decoded
    const stream = this.#streams.get(id)
    if (stream !== undefined) {
      this.#onTrailers(stream, isWhole && !isMalformed && areTrailers(received))
    } else if (id <= this.#streams.last) {
      const code = this.#streams.faultIn(id)
      if (code !== ERROR.none) this.#owner.fail(code)
    } else {
      this.#streams.last = id
      const head = readHead(received, !isWhole)
      // Fields are missing behind the bound, which looks like a fault.
      if (isTooLarge) this.#open(id, isWhole, isMalformed ? null : { ...head, fault: 431 })
      else this.#open(id, isWhole, isMalformed || head.isMalformed ? null : head)
    }
  }

  #onTrailers(stream: OpenStream, areValid: boolean): void {
    if (stream.isReceived) this.#owner.fail(ERROR.streamClosed)
    else if (areValid) this.#onRequestEnd(stream)
    else this.#owner.resetFault(stream, ERROR.protocol)
  }

  /** `head` is null for a malformed one. */
  #open(id: number, isWhole: boolean, head: ReadHead | null): void {
    const owner = this.#owner
    // The client sends it again elsewhere.
    if (owner.isFinal) return this.#streams.refuse(id, isWhole)
    if (head === null) owner.count('malformed')
    const isAtMost = this.#streams.size < streamsMax
    if (head === null || !isAtMost) {
      owner.sendReset(id, isAtMost ? ERROR.protocol : ERROR.refusedStream)
      this.#streams.refuse(id, isWhole)
      return owner.countReset()
    }
    if (!owner.countStream()) {
      owner.count('http2_stream_refused')
      owner.sendReset(id, ERROR.refusedStream)
      return this.#streams.refuse(id, isWhole)
    }
    const memo = this.#lastHeaders.find(head.raw, VERSION)
    const stream = owner.open(id, head, memo, !isWhole)
    this.#streams.add(stream)
    this.#arrived.push(stream)
  }

  #onRequestEnd(stream: OpenStream): void {
    this.#touched.add(stream)
    if (!stream.onReceived()) this.#owner.resetFault(stream, ERROR.protocol)
  }
}
