/**
 * Disconnects clients that read their responses too slowly.
 *
 * A response is watched while bytes are queued for its client: from back-pressure to `drain`, and from its end until the socket
 * has accepted all bytes. In each window the client must read at a minimum rate. The queued bytes of all responses of a thread
 * are bounded as well; above the bound the slowest readers are disconnected first. A response that is queued behind another one
 * of its connection has no read rate and counts only for the memory bound.
 *
 * The rate is measured in bytes that the kernel has accepted, including partial writes (`writeQueueSize` of the handle): a large
 * chunk counts while it is being sent, not only when its last byte has been sent.
 */

import type { Socket } from 'node:net'
import type { ClientResponse } from './client.ts'

export interface ReaderBounds {
  readonly windowMs: number
  /** Upper bound for the queued bytes of one thread. */
  readonly pendingBytesMax: number
  readonly scanEveryMs: number
}

const READER_BOUNDS: ReaderBounds = {
  windowMs: 10_000,
  pendingBytesMax: 256 * 1024 * 1024,
  scanEveryMs: 1_000,
}

/** Default of `x-tollgate-min-read-bytes-per-second`. */
export const READ_BYTES_PER_SECOND_MIN = 4_096

export interface WatchedReader {
  readonly socket: Socket
  readonly readBytesPerSecondMin: number
  /** Has no socket while it is queued behind another response. */
  readonly response: Pick<ClientResponse, 'socket' | 'writableLength'>
  /** State of the watch. The first scan starts the window, so that `enter` and `leave` only change a linked list. */
  isWatched: boolean
  readSince: number
  readBase: number
  readNext: WatchedReader | null
  readPrevious: WatchedReader | null
  /** Called once; the reader has left the watch. */
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
      // The window of a queued response starts when the response gets its socket.
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

  /** Adds the slowest readers to `slow` until the queued bytes of the others are within the bound. */
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

/** The reader of a response that belongs to no call. */
export class PlainReader implements WatchedReader {
  readonly socket: Socket
  readonly response: Pick<ClientResponse, 'socket' | 'writableLength'>
  readonly readBytesPerSecondMin = READ_BYTES_PER_SECOND_MIN
  isWatched = false
  readSince = 0
  readBase = 0
  readNext: WatchedReader | null = null
  readPrevious: WatchedReader | null = null
  readonly #onSlow: () => void

  constructor(socket: Socket, response: Pick<ClientResponse, 'socket' | 'writableLength'>, onSlow: () => void) {
    this.socket = socket
    this.response = response
    this.#onSlow = onSlow
  }

  onReaderTooSlow(): void {
    this.#onSlow()
    this.socket.destroy()
  }
}

/** Untyped properties of Node's sockets; `test/unit/gateway/connection/reader-watch.test.ts` fails if Node changes them. */
interface SocketInternals {
  readonly _bytesDispatched?: number
  readonly _handle?: { readonly writeQueueSize: number } | null
}

/** Returns how many of the bytes written to a socket the kernel has accepted. */
export function deliveredBytes(socket: Socket): number {
  const { _bytesDispatched: dispatched = 0, _handle: handle } = socket as unknown as SocketInternals
  return dispatched - (handle?.writeQueueSize ?? 0)
}
