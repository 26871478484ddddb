/**
 * The server of one gateway thread: decides for each request whether it is a call of an API, an OAuth
 * path or nothing.
 *
 * One Node server serves both (fastify's `serverFactory`): calls go straight to the data plane. The
 * parser refuses what is not valid HTTP: both lengths, bare line feeds, folded headers, spaces before a
 * colon, a header block over 16 KB. What it lets through and two readers could take in two ways is
 * refused here: two hosts, `Content-Length: 010`, other transfer codings, other versions of HTTP.
 */

import { createServer, type IncomingMessage, type Server } from 'node:http'
import type { Socket } from 'node:net'
import type { Authenticator } from './authentication/authenticate.ts'
import { Call, type CallDependencies } from './call/call.ts'
import { toAttribution } from './call/call-attribution.ts'
import type { HandleCall } from './handle-call.ts'
import type { RequestRules } from './headers/header-rules.ts'
import { createQueuedResponses } from './connection/queued-responses.ts'
import { PlainReader } from './connection/reader-watch.ts'
import { createConnectionRefusals } from './connection/refuse-connection.ts'
import { GatewayResponse } from './connection/response.ts'
import type { CompiledRevision } from './call/revision.ts'
import { scanTarget } from './routing/path.ts'
import type { UploadWatch } from './connection/upload-watch.ts'
import { readRequestHeaders, type RequestHeaders } from './headers/upstream-request.ts'

const HEADER_BYTES_MAX = 16 * 1024
const HEADERS_WITHIN_MS = 15_000
/** The net under the deadlines of `upload-watch.ts`. */
const REQUEST_WITHIN_MS = 660_000
const CHECK_EVERY_MS = 5_000
const KEEP_ALIVE_MS = 65_000

export interface GatewayServerOptions {
  /** Connections above it are closed at once. */
  readonly connectionsMax: number
  readonly context: CallDependencies
  readonly handleCall: HandleCall
  readonly requestRules: RequestRules
  readonly uploads: UploadWatch
  readonly authenticator: Authenticator
  readonly revisionOf: (api: string) => CompiledRevision | undefined
  /** Takes the OAuth paths; answers false for others. */
  readonly oauth: (request: IncomingMessage, response: GatewayResponse, path: string) => boolean
}

export function createGatewayServer(options: GatewayServerOptions): Server {
  const { context, handleCall, requestRules, uploads, authenticator, revisionOf, oauth, connectionsMax } = options
  const refusals = createConnectionRefusals(context.count)
  const queued = createQueuedResponses()
  let sequence = 0

  function onRequest(request: IncomingMessage, response: GatewayResponse, expectsContinue: boolean): void {
    if (refusals.isRefused(request.socket)) return
    if (response.socket === null) queued.add(request.socket, response)
    const headers = readRequestHeaders(request, requestRules)
    if (headers.fault !== 0) return refuseHead(request, response, headers.fault)
    const target = request.url ?? ''
    sequence = (sequence + 1) >>> 0
    const queryAt = scanTarget(target)
    const nameEnd = queryAt < 0 ? 0 : endOfName(target, queryAt)
    const revision = revisionOf(target.slice(1, nameEnd))
    if (queryAt >= 0 && (isOauthPath(target, nameEnd, queryAt) || revision === undefined)) {
      if (handleOauth(request, response, target.slice(0, queryAt), expectsContinue)) return
    }
    const call = new Call(context, request, response, sequence)
    call.expectsContinue = expectsContinue
    try {
      if (queryAt < 0) refuseTarget(call, target)
      else if (revision === undefined) call.refuse('not_found', 'There is no such API.')
      else handleCall(call, headers, revision, nameEnd, queryAt)
    } catch (cause) {
      call.crash(cause)
    }
  }

  /**
   * The credential of an OAuth request is in its body, so the body is asked for, unless the answer is already on its way. A
   * client that was not asked may send its body or not: either way the connection ends with the response.
   */
  function handleOauth(
    request: IncomingMessage,
    response: GatewayResponse,
    path: string,
    expectsContinue: boolean,
  ): boolean {
    try {
      const { shouldKeepAlive } = response
      if (expectsContinue) response.shouldKeepAlive = false
      if (!oauth(request, response, path)) {
        response.shouldKeepAlive = shouldKeepAlive
        return false
      }
      if (expectsContinue) response.askForBody()
      if (!request.complete) watchUpload(request, response)
      watchReader(request.socket, response)
    } catch (cause) {
      context.onFault(cause)
      response.breakOff()
    }
    return true
  }

  /** Form bodies are short: one window of the watch has to do. Listening to the data would take it from its reader. */
  function watchUpload(request: IncomingMessage, response: GatewayResponse): void {
    const { socket } = request
    const upload = uploads.create(() => socket.destroy())
    upload.resume()
    request.once('end', () => upload.end())
    response.once('close', () => upload.end())
  }

  /** From the end of the response until the socket has taken everything. */
  function watchReader(socket: Socket, response: GatewayResponse): void {
    const { readers, count } = context
    const reader = new PlainReader(socket, response, () => count('client_too_slow'))
    response.once('close', () => readers.leave(reader))
    if (response.writableEnded) readers.enter(reader)
    else response.once('prefinish', () => readers.enter(reader))
  }

  /** The framing or the host of the request is in doubt: nothing that follows on the connection is read. */
  function refuseHead(
    request: IncomingMessage,
    response: GatewayResponse,
    status: Exclude<RequestHeaders['fault'], 0>,
  ): void {
    const { socket } = request
    context.count('malformed')
    refusals.mark(socket)
    response.writeHead(status, { Connection: 'close', 'Content-Length': '0' })
    response.end()
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
    Promise.resolve(authenticator.authenticate(authorization, apiKey, revision.plan.api))
      .then((result) => {
        if (call.isOver) return
        if (!('code' in result)) call.attribution = toAttribution(revision.plan, '', result, null)
        call.refuse('path_not_canonical', detail)
      })
      .catch((cause: unknown) => call.crash(cause))
  }

  const server = createServer(
    {
      ServerResponse: GatewayResponse,
      maxHeaderSize: HEADER_BYTES_MAX,
      headersTimeout: HEADERS_WITHIN_MS,
      requestTimeout: REQUEST_WITHIN_MS,
      connectionsCheckingInterval: CHECK_EVERY_MS,
      keepAliveTimeout: KEEP_ALIVE_MS,
      noDelay: true,
      // Refused here instead, so that nothing behind it is served.
      requireHostHeader: false,
      insecureHTTPParser: false,
    },
    (request, response) => onRequest(request, response, false),
  )
  server.maxConnections = connectionsMax
  server.on('drop', () => context.count('connection_refused'))
  server.on('checkContinue', (request, response) => onRequest(request, response, true))
  // What else a client expects is not answered with 417 (RFC 9110, 10.1.1 leaves it open), which Node would send unwatched.
  server.on('checkExpectation', (request, response) => onRequest(request, response, false))
  server.on('clientError', refusals.refuse)
  server.on('connect', refusals.refuseConnect)
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
