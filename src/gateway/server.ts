/**
 * The server of one gateway thread: decides for each request whether it is a call of an API, an OAuth
 * path or nothing.
 *
 * One Node server serves both (fastify's `serverFactory`): calls go straight to the data plane. What
 * is not HTTP as it should be is refused by the parser, answered once and closed: both lengths, bare
 * line feeds, folded headers, spaces before a colon, a header block over 16 KB.
 */

import { createServer, type IncomingMessage, type Server } from 'node:http'
import type { Socket } from 'node:net'
import type { Authenticator } from './authenticate.ts'
import { Call, type CallContext } from './call.ts'
import type { HandleCall } from './handle-call.ts'
import { scanTarget } from './routing/path.ts'
import { GatewayResponse } from './response.ts'
import type { CompiledRevision } from './revision.ts'
import { toAttribution } from './call-attribution.ts'

const HEADER_BYTES_MAX = 16 * 1024
const HEADERS_WITHIN_MS = 15_000
const REQUEST_WITHIN_MS = 600_000
const KEEP_ALIVE_MS = 65_000
const CONNECTIONS_MAX = 20_000

export interface GatewayServerOptions {
  readonly context: CallContext
  readonly handleCall: HandleCall
  readonly authenticator: Authenticator
  readonly revisionOf: (api: string) => CompiledRevision | undefined
  /** Takes the OAuth paths; answers false for others. */
  readonly oauth: (request: IncomingMessage, response: GatewayResponse, path: string) => boolean
}

export function createGatewayServer(options: GatewayServerOptions): Server {
  const { context, handleCall, authenticator, revisionOf, oauth } = options
  let sequence = 0

  function handle(request: IncomingMessage, response: GatewayResponse): void {
    const target = request.url ?? ''
    sequence = (sequence + 1) >>> 0
    const queryAt = scanTarget(target)
    if (queryAt < 0) return refuseTarget(new Call(context, request, response, sequence), target)
    const nameEnd = endOfName(target, queryAt)
    const revision = revisionOf(target.slice(1, nameEnd))
    if (isOauthPath(target, nameEnd, queryAt) || revision === undefined) {
      if (oauth(request, response, target.slice(0, queryAt))) return
    }
    const call = new Call(context, request, response, sequence)
    if (revision === undefined) return call.refuse('not_found', 'There is no such API.')
    handleCall(call, revision, nameEnd, queryAt)
  }

  /** A path that two readers could take in two ways: nothing looks further, but a known caller is told apart. */
  function refuseTarget(call: Call, target: string): void {
    const detail = 'Send the path as it is, without dot segments, empty segments, backslashes or encoded slashes.'
    const revision = revisionOf(target.slice(1, endOfName(target, target.length)))
    if (revision === undefined) return call.refuse('path_not_canonical', detail)
    const { authorization } = call.request.headers
    const key = call.request.headers['x-api-key']
    const apiKey = Array.isArray(key) ? undefined : key
    if (authorization === undefined && apiKey === undefined) return call.refuse('path_not_canonical', detail)
    void Promise.resolve(authenticator.authenticate(authorization, apiKey, revision.plan.api)).then((result) => {
      if (call.isOver) return
      if (!('code' in result)) call.attribution = toAttribution(revision.plan, '', result, null)
      call.refuse('path_not_canonical', detail)
    })
  }

  const server = createServer(
    {
      ServerResponse: GatewayResponse,
      maxHeaderSize: HEADER_BYTES_MAX,
      headersTimeout: HEADERS_WITHIN_MS,
      requestTimeout: REQUEST_WITHIN_MS,
      keepAliveTimeout: KEEP_ALIVE_MS,
      noDelay: true,
      insecureHTTPParser: false,
    },
    handle,
  )
  server.maxConnections = CONNECTIONS_MAX
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) => refuseConnection(error, socket, context))
  server.on('connect', (_request, socket) => socket.destroy())
  return server
}

/** Paths that no API can publish over: the token endpoint and its neighbours. */
function isOauthPath(target: string, nameEnd: number, queryAt: number): boolean {
  return (
    (target.startsWith('/oauth2/v2/', nameEnd) || target.startsWith('/v1/oauth2/v2/', nameEnd)
      ? true
      : target.startsWith('/.well-known/', nameEnd)) && nameEnd < queryAt
  )
}

function endOfName(target: string, queryAt: number): number {
  const slash = target.indexOf('/', 1)
  return slash < 0 || slash > queryAt ? queryAt : slash
}

function refuseConnection(error: NodeJS.ErrnoException, socket: Socket, context: CallContext): void {
  const isTooLong = error.code === 'HPE_HEADER_OVERFLOW'
  context.count(
    isTooLong ? 'header_too_long' : error.code === 'ERR_HTTP_REQUEST_TIMEOUT' ? 'request_too_slow' : 'malformed',
  )
  if (!socket.writable || error.code === 'ECONNRESET') return void socket.destroy()
  const status = isTooLong ? '431 Request Header Fields Too Large' : '400 Bad Request'
  socket.end(`HTTP/1.1 ${status}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`, () => socket.destroy())
}
