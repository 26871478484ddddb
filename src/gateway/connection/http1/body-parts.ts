/**
 * Joins the small parts of a body that one read has brought.
 *
 * The parser reports each part, and what follows costs more than its bytes: a deadline, a frame and a write. A sender of chunks of a
 * byte could otherwise make a read of 64 KB cost as much as hundreds of calls.
 */

import type { MessageEvents } from './message-parser.ts'

/** A larger part costs more to copy than to pass on. */
const JOINED_BYTES_MAX = 4_096

export class BodyParts {
  /** Parts since the receiver has set this to 0. */
  count = 0
  readonly #receiver: Pick<MessageEvents, 'onBody'>
  #first: Buffer | null = null
  /** All parts, if there are several. */
  #all: Buffer[] | null = null

  constructor(receiver: Pick<MessageEvents, 'onBody'>) {
    this.#receiver = receiver
  }

  add(part: Buffer): void {
    this.count++
    if (part.length > JOINED_BYTES_MAX) {
      this.flush()
      this.#receiver.onBody(part)
    } else if (this.#first === null) this.#first = part
    else (this.#all ??= [this.#first]).push(part)
  }

  /** Passes on what was added, then takes `step`. */
  before(step: () => void): void {
    this.flush()
    step()
  }

  /** Passes on what was added. */
  flush(): void {
    const first = this.#first
    if (first === null) return
    const all = this.#all
    this.#first = this.#all = null
    this.#receiver.onBody(all === null ? first : Buffer.concat(all))
  }
}
