/**
 * Reads a socket for a parser, and stops while what was read before is not used.
 *
 * All connections of a thread read into the same memory: a read is over before the next one begins. Node reads that way without an
 * allocation per read.
 */

import type { Socket } from 'node:net'
import { TLSSocket } from 'node:tls'
import { ownCopy } from '../../../foundation/runtime/own-copy.ts'
import type { MessageParser } from './message-parser.ts'
import { chooseBuffers, readInto } from './socket-buffers.ts'
import { isReadable, setReading } from './socket-handle.ts'

/** Reads past the parser. */
export interface RawReceiver {
  /** Receives what was read. */
  readonly onRead: (bytes: number, from: Buffer) => void
  /** Returns the memory for the next read; `SHARED` before its first byte, and after its last one. */
  readonly next: () => Buffer
}

export const READ_BYTES_MAX = 65_536
/** Emptied within the read. */
export const SHARED = Buffer.allocUnsafeSlow(READ_BYTES_MAX)
const OUTPUT_BYTES_MAX = 65_536

export class SocketReading {
  /** Reasons to stop: the buffered part of the body of a request must be read first, or others have a turn. */
  #bodiesHeld = 0
  /** The receiver of what was read must use it first; of a client, it must read responses first. */
  #isOutputHeld = false
  readonly #socket: Socket
  readonly #parser: Pick<MessageParser, 'parse'>
  readonly #isRaw: boolean
  readonly #isCopied: boolean
  #receiver: RawReceiver | null = null
  #hasChosenBuffers = false
  #isReleased = false

  /** `writesWithin`: while the parser parses, something may be written to the socket, which may read from it if it has TLS. */
  constructor(socket: Socket, parser: Pick<MessageParser, 'parse'>, writesWithin = true) {
    this.#socket = socket
    this.#parser = parser
    this.#isCopied = writesWithin && socket instanceof TLSSocket
    this.#isRaw = isReadable(socket) && readInto(socket, SHARED, this.#onRead)
    if (!this.#isRaw) socket.on('data', this.#parse)
  }

  get isOver(): boolean {
    return this.#socket.destroyed
  }

  /** Reads nothing more: what follows is in another protocol, and is read from the socket. */
  release(): void {
    this.#isReleased = true
    // The stream does not know that reading was stopped.
    if (this.#isRaw) setReading(this.#socket, true)
    this.#socket.off('data', this.#parse)
  }

  /** Passes on what is read to a receiver, and not to the parser. Returns false if that is not possible. */
  passTo(receiver: RawReceiver): boolean {
    if (!this.#isRaw) return false
    this.#receiver = receiver
    if (!this.#hasChosenBuffers) chooseBuffers(this.#socket, receiver.next)
    this.#hasChosenBuffers = true
    return true
  }

  passToParser(): void {
    this.#receiver = null
  }

  get isOutputHeld(): boolean {
    return this.#isOutputHeld
  }

  holdBody(isHeld: boolean): void {
    this.#bodiesHeld += isHeld ? 1 : -1
    this.#update()
  }

  /** Stops reading while the client does not read responses, but not within a body, for which the client has a time limit. */
  holdOutput(queuedBytes: number, isWithinBody: boolean): void {
    const isFull = this.#socket.writableNeedDrain || queuedBytes >= OUTPUT_BYTES_MAX
    this.#isOutputHeld = isFull && !isWithinBody
    this.#update()
  }

  /** Stops or continues reading, because the receiver of what was read asks for it. */
  pause(isPaused: boolean): void {
    this.#isOutputHeld = isPaused
    this.#update()
  }

  readonly #onRead = (count: number, from: Buffer): boolean => {
    if (this.#receiver !== null) {
      this.#receiver.onRead(count, from)
      return true
    }
    const bytes = from.subarray(0, count)
    if (this.#isReleased) return this.#socket.push(ownCopy(bytes))
    this.#parser.parse(this.#isCopied ? Buffer.from(bytes) : bytes)
    return true
  }

  readonly #parse = (chunk: Buffer): void => this.#parser.parse(chunk)

  #update(): void {
    const isReading = this.#bodiesHeld === 0 && !this.#isOutputHeld
    if (this.#isRaw) setReading(this.#socket, isReading)
    else if (isReading) this.#socket.resume()
    else this.#socket.pause()
  }
}
