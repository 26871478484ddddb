/** The server's response with a place for its call, so that listeners need no closure and shapes stay one. */

import { ServerResponse, type IncomingMessage } from 'node:http'

/** Whoever must know that the client has gone. */
export interface AnsweredCall {
  clientGone(): void
}

export class GatewayResponse extends ServerResponse<IncomingMessage> {
  call: AnsweredCall | null = null
}
