/**
 * Whether what follows a response may be read in the same turn, after the read with which the response has ended.
 *
 * After a read that fills its memory, Node reads again at once; of TLS, it passes on each record by itself. If the connection had
 * another request by then, bytes behind the response would be taken for the response to that request.
 */

import type { Socket } from 'node:net'
import { TLSSocket } from 'node:tls'

/** Node and the parser read at most as many bytes at once. */
const READ_BYTES_MAX = 65_536

export class ReadAhead {
  readonly #socket: Socket
  readonly #isEncrypted: boolean
  #bytesBefore = 0

  constructor(socket: Socket) {
    this.#socket = socket
    this.#isEncrypted = socket instanceof TLSSocket
  }

  /** The next response is expected. */
  begin(): void {
    this.#bytesBefore = this.#socket.bytesRead
  }

  get isPossible(): boolean {
    return this.#isEncrypted || this.#socket.bytesRead - this.#bytesBefore >= READ_BYTES_MAX
  }
}
