/** Waits until the kernel has accepted all bytes of a socket: the callback of an empty write comes after those of the writes before. */

import type { Socket } from 'node:net'

export class SentWait {
  readonly #socket: Socket
  readonly #onSent: () => void
  #isWaiting = false

  constructor(socket: Socket, onSent: () => void) {
    this.#socket = socket
    this.#onSent = onSent
  }

  begin(): void {
    if (this.#isWaiting) return
    this.#isWaiting = true
    this.#socket.write('', this.#onWritten)
  }

  readonly #onWritten = (): void => {
    this.#isWaiting = false
    this.#onSent()
  }
}
