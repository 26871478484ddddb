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
 *
 * The kernel keeps up to several MB for a reader, and accepts nothing more until a third of that was read. A reader that seems
 * too slow after a quarter of a window is therefore measured by what it has acknowledged (`unread-bytes.ts`).
 */

import type { Socket } from 'node:net'
import type { ClientResponse } from './client.ts'
import { readUnreadBytes, type ReadUnreadBytes } from './unread-bytes.ts'

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
  readonly response: Pick<ClientResponse, 'socket' | 'writableLength' | 'deliveredBytes'>
  /** State of the watch. The first scan starts the window, so that `enter` and `leave` only change a linked list. */
  isWatched: boolean
  readSince: number
  readBase: number
  readNext: WatchedReader | null
  readPrevious: WatchedReader | null
  /** Called once; the reader has left the watch. */
  onReaderTooSlow(): void
}

/** The bytes that a reader had acknowledged at a time; `at` is 0 until the first measurement ends. */
interface Acknowledged {
  readonly bytes: number
  readonly at: number
}

export class ReaderWatch {
  readonly #bounds: ReaderBounds
  readonly #onFault: (cause: unknown) => void
  readonly #readUnread: ReadUnreadBytes
  /** Readers that seem too slow. */
  readonly #suspects = new Map<WatchedReader, Acknowledged>()
  #first: WatchedReader | null = null
  #timer: NodeJS.Timeout | null = null

  constructor(
    onFault: (cause: unknown) => void,
    bounds: ReaderBounds = READER_BOUNDS,
    readUnread: ReadUnreadBytes = readUnreadBytes,
  ) {
    this.#onFault = onFault
    this.#bounds = bounds
    this.#readUnread = readUnread
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
    if (this.#suspects.size > 0) this.#suspects.delete(reader)
  }

  #scan(): void {
    const { windowMs, pendingBytesMax } = this.#bounds
    const nowAt = performance.now()
    let pending = 0
    const early: WatchedReader[] = []
    const late: WatchedReader[] = []
    for (let reader = this.#first; reader !== null; reader = reader.readNext) {
      pending += reader.response.writableLength
      const elapsedMs = nowAt - reader.readSince
      const isStarted = reader.readSince !== 0
      if (isStarted && elapsedMs < windowMs) {
        if (elapsedMs * 4 >= windowMs && !this.#suspects.has(reader) && isSlow(reader, elapsedMs)) early.push(reader)
        continue
      }
      if (isStarted && isSlow(reader, elapsedMs)) late.push(reader)
      else this.#suspects.delete(reader)
      // The window of a queued response starts when the response gets its socket.
      reader.readSince = reader.response.socket === null ? 0 : nowAt
      reader.readBase = deliveredTo(reader)
    }
    if (early.length + late.length > 0) void this.#measure([...late, ...early], late.length)
    if (pending > pendingBytesMax) for (const reader of this.#slowest(pending, nowAt)) this.#disconnect(reader)
    if (this.#first === null && this.#timer !== null) {
      clearInterval(this.#timer)
      this.#timer = null
    }
  }

  /**
   * Measures what readers have acknowledged, and disconnects those that have acknowledged too little since the last time. The
   * window of the first `lateCount` ones is over: they are disconnected if they cannot be measured.
   */
  async #measure(readers: readonly WatchedReader[], lateCount: number): Promise<void> {
    const last = readers.map((reader) => this.#suspects.get(reader) ?? { bytes: 0, at: 0 })
    for (const [index, reader] of readers.entries()) this.#suspects.set(reader, last[index]!)
    const unread = await this.#readUnread(readers.map(({ socket }) => socket)).catch(this.#onFault)
    const at = performance.now()
    for (const [index, reader] of readers.entries()) {
      // Otherwise it has left meanwhile, or was measured.
      if (this.#suspects.get(reader) !== last[index]) continue
      this.#judge(reader, last[index]!, at, unread?.get(reader.socket) ?? null, index < lateCount)
    }
  }

  #judge(reader: WatchedReader, last: Acknowledged, at: number, unread: number | null, isLate: boolean): void {
    if (unread === null) {
      if (isLate) this.#disconnect(reader)
      else this.#suspects.delete(reader)
      return
    }
    const bytes = deliveredTo(reader) - unread
    const isTooSlow = (bytes - last.bytes) * 1_000 < reader.readBytesPerSecondMin * (at - last.at)
    if (last.at > 0 && isTooSlow) this.#disconnect(reader)
    else this.#suspects.set(reader, { bytes, at })
  }

  /** Returns the slowest readers, without which the queued bytes are within the bound. */
  #slowest(pending: number, nowAt: number): readonly WatchedReader[] {
    const readers: { readonly reader: WatchedReader; readonly rate: number }[] = []
    for (let reader = this.#first; reader !== null; reader = reader.readNext) {
      const rate = (deliveredTo(reader) - reader.readBase) / Math.max(1, nowAt - reader.readSince)
      readers.push({ reader, rate })
    }
    readers.sort((a, b) => a.rate - b.rate)
    let left = pending
    const count = readers.findIndex(({ reader }) => {
      const isWithin = left <= this.#bounds.pendingBytesMax
      left -= reader.response.writableLength
      return isWithin
    })
    return (count < 0 ? readers : readers.slice(0, count)).map(({ reader }) => reader)
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

/** Whether the kernel has accepted too little for a reader since its window began. */
function isSlow(reader: WatchedReader, elapsedMs: number): boolean {
  return (deliveredTo(reader) - reader.readBase) * 1_000 < reader.readBytesPerSecondMin * elapsedMs
}

function deliveredTo({ socket, response, readBytesPerSecondMin }: WatchedReader): number {
  return response.deliveredBytes?.(readBytesPerSecondMin) ?? deliveredBytes(socket)
}

type PlainResponse = Pick<ClientResponse, 'socket' | 'writableLength' | 'deliveredBytes' | 'disconnect'>

/** The reader of a response that belongs to no call. */
export class PlainReader implements WatchedReader {
  readonly socket: Socket
  readonly response: PlainResponse
  readonly readBytesPerSecondMin = READ_BYTES_PER_SECOND_MIN
  isWatched = false
  readSince = 0
  readBase = 0
  readNext: WatchedReader | null = null
  readPrevious: WatchedReader | null = null
  readonly #onSlow: () => void

  constructor(socket: Socket, response: PlainResponse, onSlow: () => void) {
    this.socket = socket
    this.response = response
    this.#onSlow = onSlow
  }

  onReaderTooSlow(): void {
    this.#onSlow()
    this.response.disconnect()
  }
}

/** Untyped properties of Node's sockets; `test/unit/gateway/connection/reader-watch.test.ts` fails if Node changes them. */
interface SocketInternals {
  readonly _bytesDispatched?: number
  readonly _handle?: { readonly writeQueueSize: number } | null
}

/** Returns how many of the bytes written to a socket the kernel has accepted. */
export function deliveredBytes(socket: Socket): number {
  const { _bytesDispatched: dispatched = 0 } = socket as unknown as SocketInternals
  return dispatched - queuedBytes(socket)
}

/** Returns how many of them it has not accepted yet. */
export function queuedBytes(socket: Socket): number {
  return (socket as unknown as SocketInternals)._handle?.writeQueueSize ?? 0
}
