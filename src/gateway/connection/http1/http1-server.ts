/** Our own server for clients over HTTP/1.1. */

import { Server, type Socket } from 'node:net'
import { CLIENT_BOUNDS, type ClientServer, type ClientServerOptions } from '../client.ts'
import { ClientConnection } from './client-connection.ts'
import type { ConnectionServer } from './connection-server.ts'
import type { HttpParser } from './message-parser.ts'

export interface Http1ServerOptions extends ClientServerOptions {
  readonly parser: Pick<HttpParser, 'readRequests'>
  /** Interval in which time limits are checked; they are multiples of it. */
  readonly scanEveryMs?: number
}

export class Http1Server extends Server implements ClientServer, ConnectionServer<ClientConnection> {
  readonly parser: Pick<HttpParser, 'readRequests'>
  readonly count: ClientServerOptions['count']
  readonly onRequest: ClientServerOptions['onRequest']
  readonly onFault: ClientServerOptions['onFault']
  isLeaving = false
  readonly #connections = new Set<ClientConnection>()
  #scanTimer: NodeJS.Timeout | null = null

  constructor(options: Http1ServerOptions) {
    // A client that closes its side gets what was sent before; `ClientConnection` decides when the connection ends.
    super({ allowHalfOpen: true, noDelay: true })
    const { parser, count, onRequest, onFault, connectionsMax, scanEveryMs = CLIENT_BOUNDS.scanEveryMs } = options
    this.parser = parser
    this.count = count
    this.onRequest = onRequest
    this.onFault = onFault
    this.maxConnections = connectionsMax
    this.on('connection', (socket: Socket) => this.#connections.add(new ClientConnection(socket, this)))
    this.on('drop', () => count('connection_refused'))
    this.on('listening', () => (this.#scanTimer = setInterval(() => this.#scan(), scanEveryMs)))
    this.on('close', () => this.#scanTimer !== null && clearInterval(this.#scanTimer))
  }

  leave(): void {
    this.isLeaving = true
  }

  closeIdleConnections(): void {
    for (const connection of this.#connections) if (connection.isIdle) connection.socket.destroy()
  }

  closeAllConnections(): void {
    for (const { socket } of this.#connections) socket.destroy()
  }

  onClosed(connection: ClientConnection): void {
    this.#connections.delete(connection)
  }

  #scan(): void {
    for (const connection of this.#connections) connection.scan()
  }
}
