/** Lets a parser read a socket, and stops it while what was read before is not used. */

import type { Socket } from 'node:net'
import type { MessageParser } from './message-parser.ts'
import { isConsumable, setReading } from './socket-handle.ts'

const OUTPUT_BYTES_MAX = 65_536

export class SocketReading {
  /** Reasons to stop: the buffered part of the body of a request must be read first, or others have a turn. */
  #bodiesHeld = 0
  /** The receiver of what was read must use it first; of a client, it must read responses first. */
  #isOutputHeld = false
  readonly #socket: Socket
  readonly #parser: MessageParser
  readonly #isConsumed: boolean

  constructor(socket: Socket, parser: MessageParser) {
    this.#socket = socket
    this.#parser = parser
    this.#isConsumed = isConsumable(socket)
    if (this.#isConsumed) parser.consume(socket)
    else socket.on('data', this.#parse)
  }

  /** Reads nothing more: what follows is in another protocol. */
  release(): void {
    this.#parser.release()
    this.#socket.off('data', this.#parse)
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

  readonly #parse = (chunk: Buffer): void => this.#parser.parse(chunk)

  #update(): void {
    const isReading = this.#bodiesHeld === 0 && !this.#isOutputHeld
    if (this.#isConsumed) setReading(this.#socket, isReading)
    else if (isReading) this.#socket.resume()
    else this.#socket.pause()
  }
}
