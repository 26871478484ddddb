/** Our own server for clients over HTTP/1.1 without TLS. */

import { Server, type Socket } from 'node:net'
import type { ClientServer, ClientServerOptions } from '../client.ts'
import { Http1Connections, type Http1Options } from './http1-connections.ts'

export type Http1ServerOptions = Http1Options & Pick<ClientServerOptions, 'connectionsMax'>

export class Http1Server extends Server implements ClientServer {
  readonly #connections: Http1Connections

  constructor(options: Http1ServerOptions) {
    // A client that closes its side gets what was sent before; `ClientConnection` decides when the connection ends.
    super({ allowHalfOpen: true, noDelay: true })
    const connections = (this.#connections = new Http1Connections(options))
    this.maxConnections = options.connectionsMax
    this.on('connection', (socket: Socket) => connections.accept(socket))
    this.on('drop', () => options.count('connection_refused'))
    this.on('listening', () => connections.start())
    this.on('close', () => connections.stop())
  }

  leave(): void {
    this.#connections.isLeaving = true
  }

  closeIdleConnections(): void {
    this.#connections.closeIdle()
  }

  closeAllConnections(): void {
    this.#connections.closeAll()
  }
}
