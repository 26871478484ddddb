/**
 * One gateway thread: constructs the data plane and executes the commands of the main thread.
 *
 * The thread keeps compiled, immutable state. Its only I/O is the calls themselves and their records. It resolves each unknown
 * credential once on the main thread, which later sends corrections. No state outlives the thread.
 */

import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import type { MessagePort } from 'node:worker_threads'
import type { OauthAnswer, OauthCall } from '../../boundary/plan/oauth-call.ts'
import { createBackendGuard } from '../../foundation/outbound/backend-guard.ts'
import { systemResolve } from '../../foundation/outbound/guarded-lookup.ts'
import { openSpoolGauge } from '../../storage/spool/spool-gauge.ts'
import { openSpoolFaults } from '../../storage/spool/spool-faults.ts'
import { createSpoolWriter, type SpoolWriter } from '../../storage/spool/spool-writer.ts'
import { createClientAddress, type ClientAddress } from '../../foundation/runtime/client-address.ts'
import type { Clock } from '../../foundation/runtime/clock.ts'
import { openFreshness } from '../../foundation/runtime/freshness.ts'
import { createTurnEnd } from '../../foundation/runtime/turn-end.ts'
import { createAdmissions, createSettle, endWithoutSlot, type Admissions } from '../admission.ts'
import { createAuthenticator, type Authenticator } from '../authentication/authenticate.ts'
import { createBackendConnect } from '../backend/backend-connect.ts'
import { createUpstreamGates } from '../backend/upstream-gates.ts'
import { createCallerContexts, type CallerContexts } from '../call/caller-contexts.ts'
import { ReaderWatch } from '../connection/reader-watch.ts'
import { UploadWatch } from '../connection/upload-watch.ts'
import { createBodyBuffers } from '../forwarding/body-buffers.ts'
import type { Drift } from '../../foundation/domain/drift.ts'
import { createDriftWatch } from '../forwarding/drift-watch.ts'
import { createSendCall } from '../forwarding/send-call.ts'
import { createAdmitCall, createHandleCall } from '../handle-call.ts'
import { createRequestRules, createResponseRules } from '../headers/header-rules.ts'
import { createLoopDetection } from '../headers/loop-detection.ts'
import { createLeaseWaits } from '../../limits/lease-waits.ts'
import { SlotWatch } from '../../limits/slot-watch.ts'
import { createLimiter, type Limiter } from '../../limits/limiter.ts'
import { McpEndpoint } from '../mcp/mcp-endpoint.ts'
import { createMessageLimit } from '../mcp/message-limit.ts'
import { toCommandError } from '../messages/command-error.ts'
import { createFaultLog, type FaultLog } from '../messages/fault-log.ts'
import { createUsageWarnings } from '../messages/usage-warnings.ts'
import { createMainThreadLink, type MainThreadLink } from '../messages/main-thread-link.ts'
import type { JsonWebKeySet, ThreadSettings, ToWorker } from '../messages/messages.ts'
import type { OauthHandler } from '../oauth/oauth-server.ts'
import { createGatewayServer } from '../server.ts'
import { createTracer } from '../tracing/tracer.ts'
import { WebSockets } from '../websocket/web-sockets.ts'
import { createServedRevisions, type ServedRevisions } from './served-revisions.ts'
import { executeCommand, type ThreadParts } from './thread-commands.ts'

const SPOOL_UNWRITABLE = 'the spool cannot be written; calls get 503 until writing succeeds'
const SPOOL_WRITABLE_AGAIN = 'the spool can be written again; calls are accepted'
const OAUTH_FAILED = 'an OAuth request has failed'
const CALL_FAILED = 'a call failed with an internal error and was ended'
const THREAD_FAULT = 'an unexpected error outside of any call; the thread continues'

export interface OauthPort {
  readonly gatewayUrl: string
  readonly allowsRegistration: boolean
  readonly corsOrigins: readonly string[]
  /** Whether clients are asked for certificates. */
  readonly asksForCertificate: boolean
  readonly nowMs: () => number
  readonly clientAddress: ClientAddress | null
  /** Executes a request to one of the OAuth endpoints on the main thread. */
  readonly execute: (call: OauthCall) => Promise<OauthAnswer>
  readonly jwks: () => JsonWebKeySet
  readonly scopesOf: (api: string) => readonly string[] | null
  readonly onFailure: (cause: unknown) => void
}

export interface ThreadOptions {
  readonly settings: ThreadSettings
  readonly port: MessagePort
  readonly clock: Clock
  readonly createOauth: (port: OauthPort) => OauthHandler
  readonly keyedHash: (text: string) => string
}

export function startThread(options: ThreadOptions): void {
  const { settings, port, clock, createOauth } = options
  const mainThread = createMainThreadLink({ port, clock, spoolGrownFlag: new Int32Array(settings.spoolGrownFlag) })
  const spool = openSpool(settings, clock, mainThread)
  const limiter = createLimiter({ thread: settings.thread, threads: settings.threads })
  const callerContexts = createCallerContexts({ mainThread, limiter })
  const gates = createUpstreamGates({ clock, send: (reports) => mainThread.send({ type: 'upstream', reports }) })
  const { threads, gatewayUrl } = settings
  const connect = createConnect(settings, clock, mainThread)
  const inFlight = new Int32Array(settings.inFlight)
  const callsInFlight = (): number => inFlight[0]!
  const served = { threads, connect, gatewayUrl, namesRoutes: settings.telemetry !== null }
  const onWithheld = (api: string, cause: unknown): void =>
    mainThread.send({ type: 'withheld', api, error: toCommandError(cause) })
  const revisions = createServedRevisions({ limiter, settings: served, gates, callsInFlight, clock, onWithheld })
  const authenticator = createThreadAuthenticator(options, mainThread, revisions)
  const publishedKeys: ThreadParts['publishedKeys'] = { jwks: { keys: [] } }
  const oauth = createOauth(toOauthPort(options, mainThread, revisions, publishedKeys))
  const faults = createFaultLog({ clock, send: mainThread.send })
  const parts = { mainThread, spool, inFlight, limiter, callerContexts, revisions, authenticator }
  const { server, webSockets } = createServer(options, { ...parts, oauth, faults })
  const thread: ThreadParts = { ...parts, settings, clock, gates, publishedKeys, server, webSockets }

  port.on('message', (message: ToWorker) => receive(thread, message))
  // Last resort beneath `Call.attempt`: a fault in a callback of a library must not end the calls of all other clients.
  process.on('uncaughtException', (cause) => {
    mainThread.count('thread_fault')
    faults.report(THREAD_FAULT, cause)
  })
  mainThread.send({ type: 'loaded' })
}

function receive(thread: ThreadParts, message: ToWorker): void {
  const { mainThread } = thread
  if (message.type !== 'command') return mainThread.receive(message)
  const { id, command } = message
  void executeCommand(thread, id, command).then(
    () => mainThread.send({ type: 'acknowledged', id, error: null }),
    (cause: unknown) => mainThread.send({ type: 'acknowledged', id, error: toCommandError(cause) }),
  )
}

function openSpool(settings: ThreadSettings, clock: Clock, mainThread: MainThreadLink): SpoolWriter {
  const folder = `gateway-${settings.thread}`
  const faults = openSpoolFaults(settings.spoolFaults)
  faults.note(settings.thread, null)
  return createSpoolWriter({
    folder: join(settings.spoolFolder, folder),
    after: settings.spoolAfter[folder],
    instance: settings.spoolInstance,
    requestPrefix: randomBytes(8).toString('hex'),
    sync: settings.spoolSync,
    gauge: openSpoolGauge(settings.spoolGauge, settings.spoolBytesMax),
    clock,
    ...(settings.spoolExplains && { explanations: { onDropped: () => mainThread.count('explanation_dropped') } }),
    ...(settings.telemetry?.sampler && { traces: { onDropped: () => mainThread.count('trace_dropped') } }),
    onGrowth: mainThread.notifySpoolGrown,
    onFailure(cause) {
      mainThread.count('spool_write_failed')
      mainThread.send({ type: 'log', level: 'error', message: SPOOL_UNWRITABLE, detail: String(cause) })
    },
    onRefusing(cause) {
      faults.note(settings.thread, cause)
      if (cause === null) mainThread.send({ type: 'log', level: 'info', message: SPOOL_WRITABLE_AGAIN, detail: '' })
    },
    onUncertain: (damage) => mainThread.send({ type: 'damage', damage }),
  })
}

function createConnect({ ownAddresses, connections }: ThreadSettings, clock: Clock, { count }: MainThreadLink) {
  return createBackendConnect({
    guard: createBackendGuard({ own: ownAddresses, clock, resolve: systemResolve }),
    resolve: systemResolve,
    count,
    connectionsMax: connections.backends,
  })
}

function createThreadAuthenticator(
  { settings, clock, keyedHash }: ThreadOptions,
  mainThread: MainThreadLink,
  revisions: ServedRevisions,
): Authenticator {
  return createAuthenticator({
    gatewayUrl: settings.gatewayUrl,
    keyedHash,
    clock,
    resolve: (name) => mainThread.request('resolve', name),
    tenantOf: (api) => revisions.planOf(api)?.tenant ?? null,
    refetch: (provider) => mainThread.request('refetch', { provider }),
    count: mainThread.count,
    onUse: mainThread.noteUse,
  })
}

function toOauthPort(
  { settings: { gatewayUrl, allowsRegistration, corsOrigins, trustedProxies, tls }, clock }: ThreadOptions,
  mainThread: MainThreadLink,
  revisions: ServedRevisions,
  publishedKeys: ThreadParts['publishedKeys'],
): OauthPort {
  return {
    gatewayUrl,
    allowsRegistration,
    corsOrigins,
    asksForCertificate: tls !== null && tls.clientCa !== null,
    nowMs: clock.nowMs,
    clientAddress: createClientAddress(trustedProxies),
    execute: (call) => mainThread.request('oauth', call),
    jwks: () => publishedKeys.jwks,
    scopesOf: (api) => revisions.planOf(api)?.allowedScopes ?? null,
    onFailure(cause) {
      mainThread.count('oauth_failed')
      mainThread.send({ type: 'log', level: 'error', message: OAUTH_FAILED, detail: String(cause) })
    },
  }
}

interface ServerParts {
  readonly mainThread: MainThreadLink
  readonly spool: SpoolWriter
  readonly inFlight: Int32Array
  readonly limiter: Limiter
  readonly callerContexts: CallerContexts
  readonly revisions: ServedRevisions
  readonly authenticator: Authenticator
  readonly oauth: OauthHandler
  readonly faults: FaultLog
}

function createOnFault({ mainThread, faults }: Pick<ServerParts, 'mainThread' | 'faults'>): (cause: unknown) => void {
  return (cause) => {
    mainThread.count('call_failed')
    faults.report(CALL_FAILED, cause)
  }
}

function createThreadAdmissions(
  { servesWithoutLeases, thread }: ThreadSettings,
  { mainThread, limiter }: ServerParts,
  onFault: (cause: unknown) => void,
): Admissions {
  const waits = createLeaseWaits((need) => mainThread.request('lease', need))
  const slots = servesWithoutLeases ? null : new SlotWatch({ thread, end: endWithoutSlot, onFault })
  return createAdmissions({ limiter, waits, slots })
}

/** Constructs the server with the stages of a call. */
function createServer(
  { settings, settings: { servesWithoutLeases, namesPaths }, clock, clock: { nowMs }, keyedHash }: ThreadOptions,
  parts: ServerParts,
): Pick<ThreadParts, 'server' | 'webSockets'> {
  const { mainThread, spool, inFlight, limiter, callerContexts, revisions, authenticator, oauth } = parts
  const { count } = mainThread
  const onFault = createOnFault(parts)
  const emit = (drift: Drift): void => mainThread.send({ type: 'drift', drift })
  const drift = createDriftWatch({ spool, emit, count, nowMs, onFault })
  const readers = new ReaderWatch(onFault)
  const uploads = new UploadWatch()
  const loops = createLoopDetection(`tollgate-${keyedHash('name in Via and CDN-Loop').slice(0, 16)}`)
  const isAccepting = (): boolean => spool.accepting
  const isStaleAt = settings.freshness === null ? () => false : openFreshness(settings.freshness).isStaleAt
  const bodies = createBodyBuffers(uploads)
  const responseRules = createResponseRules()
  const live = { authenticator, isStaleAt, readers, responseRules, clock, onFault, settle: createSettle(limiter) }
  const webSockets = new WebSockets({ ...live, revisionOf: revisions.of })
  const send = createSendCall({
    ...{ drift, uploads, readers },
    webSockets,
    responseRules,
    turnEnd: createTurnEnd(),
    loops,
    bodies,
    nowMs,
    isAccepting,
    count,
    warnOfUsage: createUsageWarnings({ clock, count, send: (message) => mainThread.send(message) }),
    clientAddress: createClientAddress(settings.trustedProxies),
  })
  const admissions = createThreadAdmissions(settings, parts, onFault)
  const own = { admissions, loops, drift, nowMs, isAccepting, isStaleAt, send }
  const stages = { authenticator, callerContexts, servesWithoutLeases, namesPaths, ...own }
  const mcp = new McpEndpoint({
    ...stages,
    bodies,
    limit: createMessageLimit(settings.messagesPerMinute, settings.messageCounts),
    admit: createAdmitCall(stages),
    origin: new URL(settings.gatewayUrl).origin,
  })
  const server = createGatewayServer({
    context: { spool, nowMs, count, readers, inFlight, onFault },
    handleCall: createHandleCall(stages),
    mcp,
    requestRules: createRequestRules(),
    uploads,
    tracer: settings.telemetry?.sampler ? createTracer(settings.telemetry.sampler, spool.requestPrefix) : null,
    authenticator,
    isStaleAt,
    revisionOf: revisions.of,
    wake: revisions.wake,
    onlyRevision: namesPaths ? revisions.only : null,
    oauth,
    connectionsMax: settings.connections.clients,
    tls: settings.tls,
    trustedProxies: settings.trustedProxies,
  })
  return { server, webSockets }
}
