/** A server response with a field for its call: listeners need no closure, and all responses have the same shape. */

import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import { ServerResponse } from '../../../foundation/runtime/node-http.ts'
import { parseHeaderLines } from '../../../foundation/runtime/parse-header-lines.ts'
import { REFUSAL_WITHIN_MS, type AnsweredCall, type ClientResponse } from '../client.ts'
import { toResponseFields, type ResponseFields } from '../response-fields.ts'
import type { ConnectionRefusals } from './refuse-connection.ts'

/** Above this size the copy to a string costs more than it saves. */
const TEXT_BYTES_MAX = 4_096
const EMPTY = toResponseFields(['Content-Length', '0'], true)

export class GatewayResponse extends ServerResponse<IncomingMessage> implements ClientResponse {
  call: AnsweredCall | null = null
  /** Written by the server. */
  refusals: Pick<ConnectionRefusals, 'markRefused'> | null = null

  constructor(request: IncomingMessage) {
    super(request)
    this.on('close', onClose)
  }

  start(status: number, { lines, isLast }: ResponseFields): void {
    const headers = parseHeaderLines(lines)
    this.writeHead(status, isLast ? [...headers, 'Connection', 'close'] : headers)
  }

  /**
   * Ends the response. Node writes a head and a `Buffer` with `writev`. A short body that is sent with its head is passed as a
   * latin1 string instead, which results in a single, cheaper write of the same bytes.
   */
  endWith(last: Buffer | string | null, isHeadSent: boolean): void {
    const isText = !isHeadSent && Buffer.isBuffer(last) && last.length <= TEXT_BYTES_MAX
    if (isText) this.end(last.toString('latin1'), 'latin1')
    else this.end(last)
  }

  refuse(status: number): void {
    this.refusals?.markRefused(this.req.socket)
    if (this.socket === null) this.once('socket', disconnectSlow)
    else disconnectSlow(this.socket)
    this.start(status, EMPTY)
    this.end()
  }

  /**
   * Sends `100 Continue` as soon as this response is the first in the queue of its connection. Node would place an earlier one
   * after the head of the response, where the client would read it as the body.
   */
  askForBody(): void {
    if (this.socket === null) this.once('socket', () => this.headersSent || this.writeContinue())
    else if (!this.headersSent) this.writeContinue()
  }

  /**
   * Aborts the response by closing its connection. If the response is queued, the earlier ones are sent first. Without the
   * listener, Node would then send the available part of this one and wait for the rest without a time limit.
   */
  breakOff(): void {
    if (this.socket === null) this.once('socket', (socket) => socket.destroy())
    this.destroy()
  }

  disconnect(): void {
    this.req.socket.destroy()
  }
}

/** The response belongs to no call, so that nothing else disconnects a client that does not read it. */
function disconnectSlow(socket: Socket): void {
  socket.setTimeout(REFUSAL_WITHIN_MS, () => socket.destroy())
}

function onClose(this: GatewayResponse): void {
  this.call?.clientGone()
}
