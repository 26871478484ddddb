/**
 * Joins the small parts of a body that one read has brought, but for the first: most reads bring only one.
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
  /** Whether a part was passed on since the last flush. */
  #isJoining = false
  #joined: Buffer[] | null = null

  constructor(receiver: Pick<MessageEvents, 'onBody'>) {
    this.#receiver = receiver
  }

  add(part: Buffer): void {
    this.count++
    if (this.#isJoining && part.length <= JOINED_BYTES_MAX) {
      ;(this.#joined ??= []).push(part)
      return
    }
    this.flush()
    this.#isJoining = true
    this.#receiver.onBody(part)
  }

  /** Passes on what was added, then takes `step`. */
  before(step: () => void): void {
    this.flush()
    step()
  }

  /** Passes on what was added. */
  flush(): void {
    this.#isJoining = false
    const joined = this.#joined
    if (joined === null) return
    this.#joined = null
    this.#receiver.onBody(joined.length === 1 ? joined[0]! : Buffer.concat(joined))
  }
}
