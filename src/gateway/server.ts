/**
 * The HTTP server of one gateway thread: passes each request to an API, to the OAuth paths, or refuses it.
 *
 * Calls of APIs go directly to the data plane; requests to the OAuth paths go to fastify with their bodies. The connections below
 * (`client-server.ts`) refuse invalid HTTP. This file refuses what a parser accepts but two implementations could read differently:
 * two hosts, `Content-Length: 010`, other transfer codings, other versions of HTTP.
 */

import type { Caller } from '../boundary/plan/caller.ts'
import type { Authenticator, Refusal } from './authentication/authenticate.ts'
import { Call } from './call/call.ts'
import { toAttribution } from './call/call-attribution.ts'
import type { CallDependencies } from './call/call-dependencies.ts'
import { PATH_SHOWN_MAX, type HandleCall } from './handle-call.ts'
import type { RequestRules } from './headers/header-rules.ts'
import type { ClientRequest, ClientResponse, ClientServer, ClientServerOptions } from './connection/client.ts'
import { createClientServer } from './connection/client-server.ts'
import { authenticateFirst, chooseRevision } from './choose-revision.ts'
import { apiLinesFor, type CompiledRevision } from './call/revision.ts'
import { answerPreflight, isPreflight } from './cors/preflight.ts'
import { refuseStale, refuseUnavailable } from './call/routed-call.ts'
import { handleOauth, isOauthPath, watchReader } from './oauth-requests.ts'
import type { OauthHandler } from './oauth/oauth-server.ts'
import { McpCall } from './mcp/mcp-call.ts'
import { isMcpTarget, type McpEndpoint } from './mcp/mcp-endpoint.ts'
import { KnownTexts } from './routing/known-texts.ts'
import { scanTarget } from './routing/path.ts'
import type { Tracer } from './tracing/tracer.ts'
import type { TlsPlan } from '../foundation/tls/tls-plan.ts'
import type { UploadWatch } from './connection/upload-watch.ts'
import { readRequestHeaders, type RequestHeaders } from './headers/upstream-request.ts'

const NOT_CANONICAL =
  'The path is not canonical; send it without dot segments, empty segments, backslashes and encoded slashes.'

export interface GatewayServerOptions {
  /** Connections above this number are closed immediately. */
  readonly connectionsMax: number
  readonly tls: TlsPlan | null
  readonly trustedProxies: readonly string[]
  readonly context: CallDependencies
  readonly handleCall: HandleCall
  readonly mcp: Pick<McpEndpoint, 'handle'>
  readonly requestRules: RequestRules
  readonly uploads: UploadWatch
  /** Null: no traces are exported. */
  readonly tracer: Tracer | null
  readonly authenticator: Authenticator
  /** Whether this process has lost the registry for too long to serve calls, at a time of `performance.now()`. */
  readonly isStaleAt: (monotonicMs: number) => boolean
  readonly revisionOf: (api: string) => CompiledRevision | undefined
  /** Compiles a revision that `revisionOf` lacks because its API was not called yet; null if there is none. */
  readonly wake: (api: string) => Promise<void> | null
  /**
   * Returns the revision of the only API of a service for development, whose records have the calls of no API as well. Null, and
   * in other services: such calls are only counted.
   */
  readonly onlyRevision?: (() => CompiledRevision | null) | null
  /** Handles the OAuth paths; returns false for any other path. */
  readonly oauth: OauthHandler
}

/** Names of APIs in the targets of the thread. */
const names = new KnownTexts()

/** The options with the state of the server. */
interface Gateway extends GatewayServerOptions {
  /** Sequence number of the last request. */
  sequence: number
}

export function createGatewayServer(options: GatewayServerOptions): ClientServer {
  return createClientServer(createStages(options))
}

/** Returns the stages of a call, for clients over any version of HTTP. */
export function createStages(options: GatewayServerOptions): ClientServerOptions {
  const { connectionsMax, tls, trustedProxies, context } = options
  const gateway: Gateway = { ...options, sequence: 0 }
  return {
    connectionsMax,
    tls,
    trustedProxies,
    count: context.count,
    onRequest: (request, response) => onRequest(gateway, request, response),
    onFault: context.onFault,
  }
}

/** A request as it has arrived. */
interface Arrival {
  readonly request: ClientRequest
  readonly response: ClientResponse
  readonly headers: RequestHeaders
  readonly target: string
  /** See `scanTarget`. */
  readonly queryAt: number
  /** Where the name of the API ends; 0 if the target is not canonical. */
  readonly nameEnd: number
}

function onRequest(gateway: Gateway, request: ClientRequest, response: ClientResponse): void {
  const headers = readRequestHeaders(request, gateway.requestRules)
  if (headers.fault !== 0) {
    gateway.context.count('malformed')
    return response.refuse(headers.fault)
  }
  const target = request.url ?? ''
  const queryAt = scanTarget(target)
  const nameEnd = queryAt < 0 ? 0 : endOfName(target, queryAt)
  const arrival = { request, response, headers, target, queryAt, nameEnd }
  const revision = gateway.revisionOf(names.slice(target, 1, nameEnd))
  const waking = revision === undefined ? gateway.wake(nameIn(target, queryAt)) : null
  if (waking === null) begin(gateway, arrival, revision, null)
  else beginAwake(gateway, arrival, waking)
}

function begin(
  gateway: Gateway,
  arrival: Arrival,
  revision: CompiledRevision | undefined,
  waitingSince: number | null,
): void {
  const { request, response, headers, target, queryAt, nameEnd } = arrival
  const mayBeOauth = queryAt >= 0 && (isOauthPath(target, nameEnd, queryAt) || revision === undefined)
  if (mayBeOauth && !response.destroyed) {
    const cors = revision === undefined || revision.cors === null ? null : revision.cors.tokens
    if (handleOauth(gateway, request, response, target.slice(0, queryAt), headers, cors)) return
  }
  if (revision !== undefined && revision.cors !== null && isPreflight(request, headers) && !response.destroyed)
    return handlePreflight(gateway, arrival, revision)
  if (revision !== undefined && revision.canary !== null) beginChosen(gateway, arrival, revision, waitingSince)
  else beginCall(gateway, arrival, revision, waitingSince)
}

/** Begins with the revision that serves the caller. */
function beginChosen(gateway: Gateway, arrival: Arrival, active: CompiledRevision, waitingSince: number | null): void {
  const { authorization, apiKey, isAmbiguous } = arrival.headers
  const isAnonymous = isAmbiguous || (authorization === undefined && apiKey === undefined)
  if (isAnonymous || arrival.queryAt < 0) return beginCall(gateway, arrival, active, waitingSince)
  const { api } = active.plan
  const refusalIn = (result: Caller | Refusal): Refusal | null => ('code' in result ? result : null)
  const result = authenticateFirst(gateway.authenticator, arrival.headers, api, gateway.context.onFault)
  if (!(result instanceof Promise)) {
    return beginCall(gateway, arrival, chooseRevision(active, result), waitingSince, refusalIn(result))
  }
  const since = waitingSince ?? performance.now()
  wait(gateway, arrival, result, (late) => {
    const current = gateway.revisionOf(api)
    beginCall(gateway, arrival, current && chooseRevision(current, late), since, refusalIn(late))
  })
}

/** `refusal`: of the credential, if it was verified before the revision was chosen. */
function beginCall(
  gateway: Gateway,
  arrival: Arrival,
  revision: CompiledRevision | undefined,
  waitingSince: number | null,
  refusal: Refusal | null = null,
): void {
  const { request, response, headers, target, queryAt, nameEnd } = arrival
  const sequence = (gateway.sequence = (gateway.sequence + 1) >>> 0)
  const isMcp = revision?.isMcpOn === true && isMcpTarget(target, nameEnd, queryAt)
  const call = new (isMcp ? McpCall : Call)(gateway.context, request, response, sequence)
  const nowAt = call.startedAt
  if (waitingSince !== null) call.startedAt = waitingSince
  if (gateway.tracer !== null) call.trace = gateway.tracer.begin(request, headers, sequence, target, queryAt)
  call.expectsContinue = headers.expectsContinue
  try {
    if (response.destroyed) endGone(call, headers, revision)
    else if (gateway.isStaleAt(nowAt)) refuseStaleCall(call, headers, revision)
    else if (queryAt < 0) refuseTarget(gateway, call, headers, target)
    else if (revision === undefined) refuseUnpublished(gateway, call, target.slice(0, queryAt))
    else if (refusal !== null && refusal.code === 'unavailable') refuseUnverified(call, headers, revision, refusal)
    else if (call instanceof McpCall) gateway.mcp.handle(call, headers, revision, refusal)
    else gateway.handleCall(call, headers, revision, nameEnd, queryAt, refusal)
  } catch (cause) {
    call.crash(cause)
  }
}

function refuseUnpublished({ onlyRevision }: Gateway, call: Call, path: string): void {
  const only = onlyRevision?.() ?? null
  if (only === null) return call.refuse('not_found', 'No API with this name is published here.')
  call.attribution = only.unrouted
  const { api } = only.plan
  const at = `${call.request.method} ${path.slice(0, PATH_SHOWN_MAX)}`
  call.refuse('not_found', `No API is published at ${at}. The paths of ${api} begin with /${api}.`)
}

/** Answers a preflight request to a path of an API. */
function handlePreflight({ context }: Gateway, arrival: Arrival, { cors, routes }: CompiledRevision): void {
  const { request, response, headers, target, queryAt, nameEnd } = arrival
  try {
    context.count('preflight_answered')
    const lines = cors!.preflightLines(headers.origin, routes.methodsAt(target, nameEnd, queryAt))
    answerPreflight(request, response, lines, headers)
    watchReader(context, request, response)
  } catch (cause) {
    context.onFault(cause)
    response.breakOff()
  }
}

/** Begins once the API that a request names is awake. */
function beginAwake(gateway: Gateway, arrival: Arrival, waking: Promise<void>): void {
  const { target, nameEnd } = arrival
  const waitingSince = performance.now()
  wait(gateway, arrival, waking, () =>
    begin(gateway, arrival, gateway.revisionOf(target.slice(1, nameEnd)), waitingSince),
  )
}

/** Continues a request that waits before its call begins. Meanwhile it counts as a call in flight. */
function wait<T>({ context }: Gateway, { response }: Arrival, waiting: Promise<T>, next: (value: T) => void): void {
  const { inFlight, onFault } = context
  inFlight[0]!++
  waiting.then(
    (value) => {
      inFlight[0]!--
      next(value)
    },
    (cause: unknown) => {
      inFlight[0]!--
      onFault(cause)
      response.breakOff()
    },
  )
}

/** Ends a call whose client has gone while the API was woken. */
function endGone(call: Call, headers: RequestHeaders, revision: CompiledRevision | undefined): void {
  if (revision !== undefined) attributeUnrouted(call, headers, revision)
  call.clientGone()
}

function refuseStaleCall(call: Call, headers: RequestHeaders, revision: CompiledRevision | undefined): void {
  if (revision !== undefined) attributeUnrouted(call, headers, revision)
  refuseStale(call)
}

/** Refuses a call whose credential cannot be verified: it is not known which revision serves its caller. */
function refuseUnverified(call: Call, headers: RequestHeaders, revision: CompiledRevision, { detail }: Refusal): void {
  attributeUnrouted(call, headers, revision)
  refuseUnavailable(call, detail, 'authenticate')
}

function attributeUnrouted(call: Call, { origin }: RequestHeaders, revision: CompiledRevision): void {
  const isMcp = call instanceof McpCall
  call.attribution = isMcp ? revision.unroutedMcp : revision.unrouted
  call.apiLines = isMcp ? revision.apiLines : apiLinesFor(revision, origin)
}

/**
 * Refuses a path that is not canonical, because two implementations could read it differently. The record names the caller if
 * its credential is valid.
 */
function refuseTarget(
  { revisionOf, authenticator }: Gateway,
  call: Call,
  { origin }: RequestHeaders,
  target: string,
): void {
  const revision = revisionOf(nameIn(target, -1))
  if (revision === undefined) return call.refuse('path_not_canonical', NOT_CANONICAL)
  call.apiLines = apiLinesFor(revision, origin)
  const { authorization } = call.request.headers
  const key = call.request.headers['x-api-key']
  const apiKey = Array.isArray(key) ? undefined : key
  if (authorization === undefined && apiKey === undefined) return call.refuse('path_not_canonical', NOT_CANONICAL)
  Promise.resolve(authenticator.authenticate(authorization, apiKey, revision.plan.api))
    .then((result) => {
      if (call.isOver) return
      if (!('code' in result)) call.attribution = toAttribution(revision.plan, '', result, null)
      call.refuse('path_not_canonical', NOT_CANONICAL)
    })
    .catch((cause: unknown) => call.crash(cause))
}

/** Returns the name of the API, also in a target that is not canonical (`queryAt` < 0). */
function nameIn(target: string, queryAt: number): string {
  return target.slice(1, endOfName(target, queryAt < 0 ? target.length : queryAt))
}

function endOfName(target: string, queryAt: number): number {
  const slash = target.indexOf('/', 1)
  return slash < 0 || slash > queryAt ? queryAt : slash
}
