/** Our own server for clients over TLS, which choose HTTP/2 or HTTP/1.1 within the handshake (ALPN). */

import type { Socket } from 'node:net'
import { Server, type TLSSocket } from 'node:tls'
import type { TlsPlan } from '../../foundation/tls/tls-plan.ts'
import { SecureContexts, tlsOptions, type ServedContexts } from '../../foundation/tls/secure-contexts.ts'
import type { ClientServer, ClientServerOptions } from './client.ts'
import { Http1Connections, type Http1Options } from './http1/http1-connections.ts'
import { Http2Sessions } from './http2/http2-sessions.ts'

export type TlsServerOptions = Http1Options & Pick<ClientServerOptions, 'connectionsMax'>

const HTTP2 = 'h2'

export class TlsServer extends Server implements ClientServer {
  readonly #served: ServedContexts
  readonly #http1: Http1Connections
  readonly #http2: Http2Sessions
  /** All connections, those within their handshake included. */
  readonly #sockets = new Set<Socket>()

  constructor(options: TlsServerOptions, plan: TlsPlan) {
    const served = { contexts: new SecureContexts(plan) }
    super({ ...tlsOptions(served, plan.clientCa !== null, [HTTP2, 'http/1.1']), noDelay: true })
    this.#served = served
    const http1 = (this.#http1 = new Http1Connections(options))
    const http2 = (this.#http2 = new Http2Sessions(options))
    this.maxConnections = options.connectionsMax
    this.on('connection', (socket: Socket) => this.#add(socket))
    this.on('secureConnection', (socket: TLSSocket) => {
      if (socket.alpnProtocol === HTTP2) return http2.accept(socket)
      // As without TLS (`http1-server.ts`); within the handshake, a client that closes its side has gone.
      socket.allowHalfOpen = true
      http1.accept(socket)
    })
    this.on('tlsClientError', (_, socket: TLSSocket) => {
      options.count('tls_handshake_failed')
      socket.destroy()
    })
    this.on('drop', () => options.count('connection_refused'))
    this.on('listening', () => http1.start())
    this.on('close', () => http1.stop())
  }

  secure(plan: TlsPlan): void {
    const contexts = new SecureContexts(plan)
    this.setSecureContext(contexts.fallback)
    this.#served.contexts = contexts
  }

  leave(): void {
    this.#http1.isLeaving = true
    this.#http2.leave()
  }

  closeIdleConnections(): void {
    this.#http1.closeIdle()
    this.#http2.closeIdleConnections()
  }

  closeAllConnections(): void {
    this.#http1.closeAll()
    this.#http2.closeAllConnections()
    for (const socket of this.#sockets) socket.destroy()
  }

  #add(socket: Socket): void {
    this.#sockets.add(socket)
    socket.once('close', () => this.#sockets.delete(socket))
  }
}
