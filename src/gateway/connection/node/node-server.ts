/**
 * A server of `node:http` for clients, if its parser is not the one that our own connections know.
 *
 * The parser of Node refuses invalid HTTP: both lengths, bare line feeds, folded headers, spaces before a colon, a head that is too
 * long. `checkContinue` and `checkExpectation` are handled, because Node would otherwise respond itself.
 */

import type { IncomingMessage, Server, ServerOptions } from 'node:http'
import type { Socket } from 'node:net'
import { createServer as createSecureServer, type Server as SecureServer } from 'node:https'
import { createServer } from '../../../foundation/runtime/node-http.ts'
import type { TlsPlan } from '../../../foundation/tls/tls-plan.ts'
import { SecureContexts, tlsOptions, type ServedContexts } from '../../../foundation/tls/secure-contexts.ts'
import { CLIENT_BOUNDS, type ClientServer, type ClientServerOptions } from '../client.ts'
import { GatewayResponse } from './node-response.ts'
import { createQueuedResponses } from './queued-responses.ts'
import { createConnectionRefusals } from './refuse-connection.ts'

const SERVER_OPTIONS = {
  ServerResponse: GatewayResponse,
  maxHeaderSize: CLIENT_BOUNDS.headBytesMax,
  headersTimeout: CLIENT_BOUNDS.headWithinMs,
  requestTimeout: CLIENT_BOUNDS.requestWithinMs,
  connectionsCheckingInterval: CLIENT_BOUNDS.scanEveryMs,
  keepAliveTimeout: CLIENT_BOUNDS.idleMs,
  noDelay: true,
  /** `readRequestHeaders` checks the host instead, so that no later request on the connection is served. */
  requireHostHeader: false,
  insecureHTTPParser: false,
} as const satisfies ServerOptions<typeof IncomingMessage, typeof GatewayResponse>

export function createNodeServer(options: ClientServerOptions): ClientServer {
  const { connectionsMax, tls, count, onRequest, onFault } = options
  const refusals = createConnectionRefusals(count)
  const queued = createQueuedResponses()

  const served = tls === null ? null : { contexts: new SecureContexts(tls) }
  const server = served === null ? createServer(SERVER_OPTIONS, serve) : secureServer(served)
  server.maxConnections = connectionsMax
  server.on('drop', () => count('connection_refused'))
  server.on('tlsClientError', (_: Error, socket: Socket) => {
    count('tls_handshake_failed')
    socket.destroy()
  })
  server.on('checkContinue', serve)
  server.on('checkExpectation', serve)
  server.on('clientError', refusals.refuse)
  server.on('connect', refusals.refuseConnect)
  return Object.assign(server, { leave, ...(served !== null && { secure }) })

  function serve(request: IncomingMessage, response: GatewayResponse): void {
    const { socket } = request
    if (refusals.isRefused(socket)) return
    response.refusals = refusals
    try {
      if (response.socket !== null || queued.add(socket, response)) return onRequest(request, response)
      count('pipelined_too_many')
      response.refuse(429)
    } catch (cause) {
      onFault(cause)
      socket.destroy()
    }
  }

  function secureServer(contexts: ServedContexts): Server<typeof IncomingMessage, typeof GatewayResponse> {
    const asksForCertificate = tls?.clientCa !== null
    return createSecureServer({ ...SERVER_OPTIONS, ...tlsOptions(contexts, asksForCertificate, ['http/1.1']) }, serve)
  }

  function secure(plan: TlsPlan): void {
    const contexts = new SecureContexts(plan)
    ;(server as unknown as SecureServer).setSecureContext(contexts.fallback)
    served!.contexts = contexts
  }

  /** Node counts the requests of a connection from now on, and ends it with the response to the first. */
  function leave(this: Server): void {
    this.maxRequestsPerSocket = 1
  }
}
