/** The server's response with a place for its call, so that listeners need no closure and shapes stay one. */

import { ServerResponse, type IncomingMessage } from 'node:http'
import type { Call } from './call.ts'

export class GatewayResponse extends ServerResponse<IncomingMessage> {
  call: Call | null = null
}
