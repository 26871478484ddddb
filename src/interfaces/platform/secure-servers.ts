/** The servers of the platform over TLS: one per port and address, which all present the same certificates. */

import type { RequestListener, Server as PlainServer } from 'node:http'
import { createServer, type Server } from 'node:https'
import type { TlsPlan } from '../../foundation/tls/tls-plan.ts'
import {
  HANDSHAKE_WITHIN_MS,
  SecureContexts,
  tlsOptions,
  type ServedContexts,
} from '../../foundation/tls/secure-contexts.ts'
import { HTTP_BOUNDS } from './http-bounds.ts'

export class SecureServers {
  readonly #served: ServedContexts
  readonly #handshakeWithinMs: number
  readonly #servers = new Set<Server>()

  constructor(plan: TlsPlan, handshakeWithinMs = HANDSHAKE_WITHIN_MS) {
    this.#handshakeWithinMs = handshakeWithinMs
    this.#served = { contexts: new SecureContexts(plan) }
  }

  /** For fastify, which sets no bounds of a server that it did not create, and knows no other type of server. */
  create(listener: RequestListener): PlainServer {
    const { requestTimeout, keepAliveTimeout, http } = HTTP_BOUNDS
    const bounds = { requestTimeout, keepAliveTimeout, ...http }
    // Client certificates bind calls of APIs; the platform has no use for them.
    const tls = tlsOptions(this.#served, false, ['http/1.1'], this.#handshakeWithinMs)
    const server = createServer({ ...bounds, ...tls }, listener)
    // Node would answer the client, and wait for a handshake that never ends.
    server.on('tlsClientError', (_, socket) => socket.destroy())
    this.#servers.add(server)
    server.on('close', () => this.#servers.delete(server))
    return server as unknown as PlainServer
  }

  /** Those of new connections. */
  get contexts(): SecureContexts {
    return this.#served.contexts
  }

  /** Presents these certificates to new connections. */
  present(plan: TlsPlan): void {
    const contexts = new SecureContexts(plan)
    this.#served.contexts = contexts
    for (const server of this.#servers) server.setSecureContext(contexts.fallback)
  }
}
