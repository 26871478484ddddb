/**
 * Whether what follows a response may be read in the same turn, after the read with which the response has ended.
 *
 * After a read that fills its memory, Node reads again at once; of TLS, it passes on each record by itself. If the connection had
 * another request by then, bytes behind the response would be taken for the response to that request.
 */

import type { Socket } from 'node:net'
import { TLSSocket } from 'node:tls'
import { READ_BYTES_MAX } from './socket-reading.ts'

export class ReadAhead {
  readonly #socket: Socket
  readonly #isEncrypted: boolean
  /** At the end of the last response. */
  #bytesBefore = 0

  constructor(socket: Socket) {
    this.#socket = socket
    this.#isEncrypted = socket instanceof TLSSocket
  }

  /** Called at the end of each response. */
  isPossible(): boolean {
    if (this.#isEncrypted) return true
    const before = this.#bytesBefore
    this.#bytesBefore = this.#socket.bytesRead
    return this.#bytesBefore - before >= READ_BYTES_MAX
  }
}
