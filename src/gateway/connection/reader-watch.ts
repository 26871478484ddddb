/**
 * Disconnects clients that do not read what they asked for.
 *
 * A response is watched while bytes of it wait for its client: from back-pressure to `drain`, and from
 * its end until the socket has taken everything. Over each window the client must take a minimum rate.
 * What all of them leave waiting in one thread is bounded as well; above that the slowest go first.
 * A response that waits behind another one of its connection is not what the client reads: it counts for
 * the memory only.
 *
 * Progress is what the kernel has accepted, partial writes included (`writeQueueSize` of the handle): a
 * large chunk in flight counts as it leaves, not when its last byte has left.
 */

import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

export interface ReaderBounds {
  readonly windowMs: number
  /** Waiting bytes of one thread. */
  readonly pendingBytesMax: number
  readonly scanEveryMs: number
}

export const READER_BOUNDS: ReaderBounds = {
  windowMs: 10_000,
  pendingBytesMax: 256 * 1024 * 1024,
  scanEveryMs: 1_000,
}

/** Default of `x-tollgate-min-read-bytes-per-second`. */
export const READ_BYTES_PER_SECOND_MIN = 4_096

export interface WatchedReader {
  readonly socket: Socket
  readonly readBytesPerSecondMin: number
  /** It has no socket while it waits behind another one. */
  readonly response: ServerResponse
  /** State of the watch. A window begins with the first scan: entering and leaving must cost a call nothing. */
  isWatched: boolean
  readSince: number
  readBase: number
  readNext: WatchedReader | null
  readPrevious: WatchedReader | null
  /** Must leave the watch. */
  onReaderTooSlow(): void
}

export class ReaderWatch {
  readonly #bounds: ReaderBounds
  readonly #onFault: (cause: unknown) => void
  #first: WatchedReader | null = null
  #timer: NodeJS.Timeout | null = null

  constructor(onFault: (cause: unknown) => void, bounds: ReaderBounds = READER_BOUNDS) {
    this.#onFault = onFault
    this.#bounds = bounds
  }

  enter(reader: WatchedReader): void {
    if (reader.isWatched) return
    reader.isWatched = true
    reader.readSince = 0
    reader.readPrevious = null
    reader.readNext = this.#first
    if (this.#first !== null) this.#first.readPrevious = reader
    this.#first = reader
    if (this.#timer === null) this.#timer = setInterval(() => this.#scan(), this.#bounds.scanEveryMs)
  }

  leave(reader: WatchedReader): void {
    if (!reader.isWatched) return
    if (reader.readPrevious === null) this.#first = reader.readNext
    else reader.readPrevious.readNext = reader.readNext
    if (reader.readNext !== null) reader.readNext.readPrevious = reader.readPrevious
    reader.readNext = reader.readPrevious = null
    reader.isWatched = false
  }

  #scan(): void {
    const { windowMs, pendingBytesMax } = this.#bounds
    const nowAt = performance.now()
    let pending = 0
    const slow: WatchedReader[] = []
    for (let reader = this.#first; reader !== null; reader = reader.readNext) {
      pending += reader.response.writableLength
      const elapsedMs = nowAt - reader.readSince
      if (reader.readSince !== 0 && elapsedMs < windowMs) continue
      const delivered = deliveredBytes(reader.socket)
      if (reader.readSince !== 0 && (delivered - reader.readBase) * 1_000 < reader.readBytesPerSecondMin * elapsedMs)
        slow.push(reader)
      // The window of one that is queued begins when its turn comes.
      reader.readSince = reader.response.socket === null ? 0 : nowAt
      reader.readBase = delivered
    }
    if (pending > pendingBytesMax) this.#addSlowest(slow, pending, nowAt)
    for (const reader of slow) this.#disconnect(reader)
    if (this.#first === null && this.#timer !== null) {
      clearInterval(this.#timer)
      this.#timer = null
    }
  }

  /** Adds readers to `slow` until what the others leave waiting is within the bound. */
  #addSlowest(slow: WatchedReader[], pending: number, nowAt: number): void {
    const chosen = new Set(slow)
    const others: { readonly reader: WatchedReader; readonly rate: number }[] = []
    for (let reader = this.#first; reader !== null; reader = reader.readNext) {
      if (chosen.has(reader)) pending -= reader.response.writableLength
      else {
        const rate = (deliveredBytes(reader.socket) - reader.readBase) / Math.max(1, nowAt - reader.readSince)
        others.push({ reader, rate })
      }
    }
    others.sort((a, b) => a.rate - b.rate)
    for (const { reader } of others) {
      if (pending <= this.#bounds.pendingBytesMax) return
      pending -= reader.response.writableLength
      slow.push(reader)
    }
  }

  #disconnect(reader: WatchedReader): void {
    this.leave(reader)
    try {
      reader.onReaderTooSlow()
    } catch (cause) {
      this.#onFault(cause)
    }
  }
}

/** The reader of a response that is no call's. */
export class PlainReader implements WatchedReader {
  readonly socket: Socket
  readonly response: ServerResponse
  readonly readBytesPerSecondMin = READ_BYTES_PER_SECOND_MIN
  isWatched = false
  readSince = 0
  readBase = 0
  readNext: WatchedReader | null = null
  readPrevious: WatchedReader | null = null
  readonly #onSlow: () => void

  constructor(socket: Socket, response: ServerResponse, onSlow: () => void) {
    this.socket = socket
    this.response = response
    this.#onSlow = onSlow
  }

  onReaderTooSlow(): void {
    this.#onSlow()
    this.socket.destroy()
  }
}

/** Properties of Node's sockets that have no type; `test/unit/gateway/connection/reader-watch.test.ts` holds them. */
interface SocketInternals {
  readonly _bytesDispatched?: number
  readonly _handle?: { readonly writeQueueSize: number } | null
}

/** Bytes that the kernel has taken of everything written to a socket. */
export function deliveredBytes(socket: Socket): number {
  const { _bytesDispatched: dispatched = 0, _handle: handle } = socket as unknown as SocketInternals
  return dispatched - (handle?.writeQueueSize ?? 0)
}
