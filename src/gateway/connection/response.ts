/** The server's response with a place for its call, so that listeners need no closure and shapes stay one. */

import { ServerResponse, type IncomingMessage } from 'node:http'

/** Whoever must know that the client has gone. */
export interface AnsweredCall {
  clientGone(): void
}

/** Longer bodies are not worth the copy. */
const TEXT_BYTES_MAX = 4_096

export class GatewayResponse extends ServerResponse<IncomingMessage> {
  call: AnsweredCall | null = null

  /**
   * Ends the response. Node writes a head and a `Buffer` with `writev`; a short body that leaves with its head goes as
   * text, byte for byte, in one cheaper write.
   */
  endWith(last: Buffer | string | null, isHeadSent: boolean): void {
    const isText = !isHeadSent && Buffer.isBuffer(last) && last.length <= TEXT_BYTES_MAX
    if (isText) this.end(last.toString('latin1'), 'latin1')
    else this.end(last)
  }

  /**
   * Sends `100 Continue` when it is this response's turn on its connection. Node would put an earlier one behind
   * the head of the response, where it is taken for the body.
   */
  askForBody(): void {
    if (this.socket === null) this.once('socket', () => this.headersSent || this.writeContinue())
    else if (!this.headersSent) this.writeContinue()
  }

  /**
   * Ends the connection under this response. If it still waits behind others on its connection, those are sent first:
   * left alone, Node would then send what there is of this one, and wait without end for the rest.
   */
  breakOff(): void {
    if (this.socket === null) this.once('socket', (socket) => socket.destroy())
    this.destroy()
  }
}
