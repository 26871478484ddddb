/**
 * The server of the platform API: one fastify instance for all resources.
 *
 * Unknown members of a request are refused with a pointer, and every error is a problem document. A separate port can serve the
 * risk paths as well. Closing ends the streams and waits for calls in flight.
 */

import type { IncomingMessage, RequestListener } from 'node:http'
import fastify, { type FastifyInstance, type FastifyServerOptions } from 'fastify'
import { createKeyedMutex, type KeyedMutex } from '../../control/command/keyed-mutex.ts'
import type { Caller } from '../../boundary/plan/caller.ts'
import { MCP_PATH } from '../../boundary/plan/mcp-exposure.ts'
import type { Grant } from '../../boundary/plan/grant.ts'
import { acceptProxyHeaders } from '../../foundation/runtime/accept-proxy-headers.ts'
import type { Metrics } from '../../foundation/runtime/metrics.ts'
import type { RequestFeed } from '../../storage/store/request-store.ts'
import type { RiskFeed } from '../../storage/store/risk-store.ts'
import { refuseAmbiguousHeads } from './ambiguous-head.ts'
import { BROWSER_HEADERS, installBrowserHeaders } from './browser-headers.ts'
import { createAllowedMethods } from './allowed-methods.ts'
import { installCors } from './cors.ts'
import { installEtags } from './conditional.ts'
import { installGuard, type GuardOptions } from './guard.ts'
import { HTTP_BOUNDS, refuseMalformed } from './http-bounds.ts'
import { createOnce, type IdempotencyOptions } from './idempotency.ts'
import { installJsonBody } from './json-body.ts'
import { createInnerCalls, type InnerCalls } from './mcp/inner-call.ts'
import { serveMessages, type MessageLimit } from './mcp/message-endpoint.ts'
import { createOperationRunner } from './mcp/operation-runner.ts'
import { compilePlatformTools, type PlatformTools } from './mcp/platform-tools.ts'
import type { MetricsAccess } from './metrics-access.ts'
import { installDocumentBodies } from './document-bodies.ts'
import type { EventReaders } from './event-readers.ts'
import { buildOauthOpenApi } from './oauth-openapi.ts'
import { buildOpenApi, ownDocument } from './openapi.ts'
import type { Operations } from './operation.ts'
import { ALL_OPERATIONS, platformScopes, RISK_PATHS } from './operations.ts'
import { installProblems, sendProblem, toProblem } from './problems.ts'
import { toProtectedResource, type PublicAddresses } from './protected-resource.ts'
import { createProgressStream } from './progress-stream.ts'
import { RESOURCES, type ResourceServices } from './resources.ts'
import { createRequestStream } from './request-stream.ts'
import { createRiskStream } from './risk-stream.ts'
import { riskHandlers } from './risks.ts'
import type { SecureServers } from './secure-servers.ts'
import { createServe, type AwaitNodes, type ServeOptions } from './serve.ts'
import { closeQuietConnections } from './quiet-connections.ts'
import { serviceRoutes, type RootPage } from './service-routes.ts'
import { createValidatorCompiler } from './validator.ts'

/** The services of all resources, and what the server itself needs. `progress` and `requestStream` are created here. */
export interface PlatformOptions extends GuardOptions, Omit<ResourceServices, 'progress' | 'requestStream'> {
  /** Maximum number of connections per port; further ones are closed immediately. Default: unlimited. */
  readonly connectionsMax?: number
  /** Default: clients connect without TLS. */
  readonly secureServers?: SecureServers | null
  /** Networks of proxies that may name the client of a connection; default: none. */
  readonly trustedProxies?: readonly string[]
  readonly idempotency: IdempotencyOptions
  /** Keeps a resource unchanged between the check of `If-Match` and the change. Default: on this node. */
  readonly ifMatch?: KeyedMutex
  /** Default: this is the only node. */
  readonly awaitNodes?: AwaitNodes
  readonly risks: RiskFeed
  /** Calls as they are recorded. */
  readonly liveRequests: RequestFeed
  readonly newRequestId: () => string
  readonly metrics: Metrics
  /** Limits the messages over MCP that call no operation. */
  readonly messageLimit: MessageLimit
  /** Origins whose pages may call the operations. Default: none. */
  readonly corsOrigins?: readonly string[]
  /** Default: loopback. */
  readonly metricsAccess?: MetricsAccess
  /** Registers a listener for people whose access was taken away. */
  readonly watchRevokedPeople: (listener: (person: string) => void) => void
  /** Registers a listener for the ids of tokens that are revoked one by one. */
  readonly watchRevokedTokens: (listener: (jti: string) => void) => void
  /** Registers a listener for grants that change. */
  readonly watchGrants: (listener: (grant: Grant) => void) => void
  /** Returns why the service is not ready, or null. */
  readonly notReady: () => string | null
  /** Returns what a service that serves calls cannot do at the moment, or null; default: nothing. */
  readonly limitation?: () => string | null
  readonly addresses: () => PublicAddresses
  /** Default: the platform address. */
  readonly riskUrl?: string
  /** The version of the service, for clients. */
  readonly version?: string
  /** The start page at `/`. Default: none. */
  readonly rootPage?: RootPage
  readonly console?: ConsolePort
  /** Maximum number of concurrent readers of the risk stream, in total and per tenant. */
  readonly readersMax?: number
  readonly readersOfTenantMax?: number
}

/** The management UI, served beside the API. */
export interface ConsolePort {
  /** Returns the path that a request is for, before it is routed. */
  rewriteUrl(this: void, request: IncomingMessage): string
  /** Installed before the guard. */
  install(this: void, app: FastifyInstance): void
}

const UNKNOWN_VERSION = '0.0.0'

export interface Platform {
  readonly app: FastifyInstance
  /** Creates a server of the risk paths alone, for a separate port. */
  createRiskApp(): FastifyInstance
  /** Ends each connection with its next response; new connections are still served. */
  leave(): void
  close(): Promise<void>
}

export function createPlatform(options: PlatformOptions): Platform {
  const { metrics, addresses } = options
  const baseUrl = (): string => addresses().baseUrl
  const stream = createRiskStream({ ...options, onEnd: countEnds(metrics) })
  metrics.measured('risk_stream_readers', 'Risk streams that are open', () => stream.readers)
  const riskPaths = { ...riskHandlers(options), ...stream.handlers }
  const innerCalls = createInnerCalls()
  const app = createApp(options, ALL_OPERATIONS, innerCalls, options.console)
  const shared = sharedBy(options, baseUrl)
  const serve = createServe({ app, ...shared })
  const apps = [app]
  serveDocuments(app, options)
  openMessages(app, options, innerCalls)
  const progress = createProgressStream(options)
  const requestStream = createRequestStream(options)
  const services = { ...options, progress, requestStream }
  for (const streams of [stream, progress, requestStream]) endWithAccess(streams, options)
  for (const { serveWith } of RESOURCES) serveWith(serve, services)
  serve(RISK_PATHS, riskPaths)

  return {
    app,
    createRiskApp() {
      const riskApp = createApp(options, RISK_PATHS, innerCalls)
      createServe({ app: riskApp, ...shared })(RISK_PATHS, riskPaths)
      apps.push(riskApp)
      return riskApp
    },
    leave() {
      for (const each of apps) each.server.maxRequestsPerSocket = 1
    },
    async close() {
      for (const streams of [stream, progress, requestStream]) streams.close()
      await Promise.all(apps.map((each) => each.close()))
    },
  }
}

/** Options that the servers of all paths and of the risk paths share. */
function sharedBy(options: PlatformOptions, baseUrl: () => string): Omit<ServeOptions, 'app'> {
  const { subscriptions, eventSubscriptions, idempotency, ifMatch: mutex = createKeyedMutex() } = options
  const owners = { subscription: subscriptions.checkOwner, eventSubscription: eventSubscriptions.checkOwner }
  return { baseUrl, once: createOnce(idempotency), mutex, owners, awaitNodes: options.awaitNodes ?? (async () => []) }
}

/** Serves metrics, readiness, and the documents that describe the service. */
function serveDocuments(app: FastifyInstance, options: PlatformOptions): void {
  const {
    metrics,
    metricsAccess = { kind: 'loopback' },
    notReady,
    limitation = () => null,
    addresses,
    riskUrl,
    version = UNKNOWN_VERSION,
    rootPage,
  } = options
  let openApi: string | null = null
  let oauthOpenApi: string | null = null
  serviceRoutes(app, {
    metrics,
    metricsAccess,
    notReady,
    limitation,
    openApi: () => (openApi ??= JSON.stringify(buildOpenApi({ operations: ALL_OPERATIONS, ...addresses() }))),
    protectedResource: () => JSON.stringify(toProtectedResource(addresses(), platformScopes())),
    mcpResource: () => JSON.stringify(toProtectedResource(addresses(), platformScopes(), MCP_PATH)),
    oauthOpenApi: () => (oauthOpenApi ??= JSON.stringify(buildOauthOpenApi(addresses()))),
    addresses: () => ({
      ...addresses(),
      riskUrl: riskUrl ?? addresses().baseUrl,
      version,
    }),
    ...(rootPage !== undefined && { rootPage }),
  })
}

/** Ends the streams of a caller whose access is taken away. */
function endWithAccess({ endOf }: Pick<EventReaders, 'endOf'>, options: PlatformOptions): void {
  options.watchRevokedPeople((person) => endOf((caller) => caller.person === person))
  options.watchRevokedTokens((jti) => endOf((caller) => caller.jti === jti))
  options.watchGrants((grant) => endOf((caller) => isReduced(caller, grant)))
}

/** Whether a grant gives the caller less than its stream began with. */
function isReduced({ grant, scopes }: Caller, { credential, valid, active, scopes: left }: Grant): boolean {
  return grant.credential === credential && (!valid || !active || [...scopes].some((scope) => !left.includes(scope)))
}

function openMessages(app: FastifyInstance, options: PlatformOptions, innerCalls: InnerCalls): void {
  let tools: PlatformTools | null = null
  serveMessages(app, {
    ...options,
    run: createOperationRunner(app, innerCalls),
    tools: () => (tools ??= compilePlatformTools(ALL_OPERATIONS, ownDocument())),
    limit: options.messageLimit,
    baseUrl: () => options.addresses().baseUrl,
    version: options.version ?? UNKNOWN_VERSION,
  })
}

/**
 * Without it, fastify loads compilers of its own, of which none is used: 20 ms of CPU. Its types know only these. No route declares a
 * schema of its answer.
 */
const SCHEMAS = {
  compilersFactory: { buildValidator: createValidatorCompiler, buildSerializer: () => () => JSON.stringify },
} as unknown as NonNullable<FastifyServerOptions['schemaController']>

function createApp(
  options: PlatformOptions,
  operations: Operations,
  innerCalls: InnerCalls,
  console?: ConsolePort,
): FastifyInstance {
  const { secureServers = null, trustedProxies = [] } = options
  const app = fastify({
    ...HTTP_BOUNDS,
    logger: false,
    genReqId: options.newRequestId,
    requestIdHeader: false,
    exposeHeadRoutes: false,
    // While closing, a call on an open connection is served, and the connection is closed after its answer.
    return503OnClosing: false,
    forceCloseConnections: 'idle',
    frameworkErrors: (error, request, reply) => {
      void reply.headers({ ...BROWSER_HEADERS, 'X-Request-Id': request.id })
      void sendProblem(request, reply, toProblem(error))
    },
    clientErrorHandler: (error, socket) => refuseMalformed(error, socket, options.newRequestId()),
    ...(secureServers !== null && { serverFactory: (listener: RequestListener) => secureServers.create(listener) }),
    rewriteUrl: console?.rewriteUrl ?? (({ url = '/' }: IncomingMessage) => url),
    schemaController: SCHEMAS,
  })
  if (options.connectionsMax !== undefined) app.server.maxConnections = options.connectionsMax
  acceptProxyHeaders(app.server, trustedProxies, () => {})
  closeQuietConnections(app, secureServers !== null)
  installJsonBody(app)
  const allowedMethods = createAllowedMethods(Object.values(operations))
  installProblems(app, { log: options.log, allowedMethods })
  installBrowserHeaders(app)
  refuseAmbiguousHeads(app)
  installCors(app, { origins: options.corsOrigins ?? [], allowedMethods })
  // ETags come before the guard: it records the status that is sent, which may be 304.
  installEtags(app)
  console?.install(app)
  installGuard(app, options, innerCalls)
  installDocumentBodies(app)
  return app
}

function countEnds(metrics: Metrics): (reason: string) => void {
  const ends = metrics.counter('risk_stream_ends_total', 'Risk streams that ended, by reason', ['reason'])
  return (reason) => ends.inc({ reason })
}
