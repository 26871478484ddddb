import type { ClientServerOptions } from '../client.ts'
import type { HttpParser } from './message-parser.ts'

/** The server of a client's connection. */
export interface ConnectionServer<Connection> extends Pick<ClientServerOptions, 'count' | 'onRequest' | 'onFault'> {
  readonly parser: Pick<HttpParser, 'readRequests'>
  /** Every connection ends with the response to its current request. */
  readonly isLeaving: boolean
  onClosed(connection: Connection): void
}
