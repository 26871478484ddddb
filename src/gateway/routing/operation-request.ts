/** The request for an operation: that of the client, or one that the gateway has made from another message of the client. */

import type { IncomingMessage } from 'node:http'

export type OperationRequest = Pick<IncomingMessage, 'method' | 'url' | 'headers' | 'headersDistinct'>
