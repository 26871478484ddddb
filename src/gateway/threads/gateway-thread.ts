/**
 * One gateway thread: what it serves, and how the main thread changes it.
 *
 * It keeps compiled, immutable state and does no I/O but the calls themselves and their records. A
 * credential it has not seen is asked for once; the main thread corrects or removes it later. Nothing
 * here outlives the thread.
 */

import { randomBytes } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { join } from 'node:path'
import type { MessagePort } from 'node:worker_threads'
import type { OauthAnswer, OauthCall } from '../../plan/oauth-call.ts'
import { createBackendGuard } from '../../outbound/backend-guard.ts'
import { systemResolve } from '../../outbound/guarded-lookup.ts'
import { openSpoolGauge } from '../../record/spool-gauge.ts'
import { openSpoolFaults } from '../../record/spool-faults.ts'
import { createSpoolWriter } from '../../record/spool-writer.ts'
import type { Clock } from '../../runtime/clock.ts'
import { createAdmissions } from '../admission.ts'
import { createAuthenticator } from '../authentication/authenticate.ts'
import { createBackendConnect } from '../backend/backend-connect.ts'
import { toCommandError } from '../messages/command-error.ts'
import { createDriftWatch } from '../forwarding/drift-watch.ts'
import { createBodyBuffers } from '../forwarding/body-buffers.ts'
import { createFaultLog } from '../messages/fault-log.ts'
import { createHandleCall } from '../handle-call.ts'
import { createRequestRules, createResponseRules } from '../headers/header-rules.ts'
import { createHostLink } from '../messages/host-link.ts'
import { createLimiter } from '../limits/limiter.ts'
import { createLoopDetection } from '../headers/loop-detection.ts'
import { createMemberships } from './product-membership.ts'
import type { Command, JsonWebKeySet, ThreadSettings, ToThread } from '../messages/messages.ts'
import { ReaderWatch } from '../connection/reader-watch.ts'
import type { GatewayResponse } from '../connection/response.ts'
import { compileRevision, operationIdsOf, type CompiledRevision } from '../call/revision.ts'
import { createSeats } from '../call/caller-contexts.ts'
import { createSendCall } from '../forwarding/send-call.ts'
import { createGatewayServer } from '../server.ts'
import { createUpstreamGates } from '../backend/upstream-gates.ts'
import { createTurnEnd } from '../../runtime/turn-end.ts'
import { UploadWatch } from '../connection/upload-watch.ts'

const IDLE_CHECK_MS = 50
const SPOOL_WRITTEN_AGAIN = 'the spool can be written again; calls are accepted'
const SPOOL_UNWRITABLE = 'the spool cannot be written; calls are answered 503 until it can'

export interface OauthServer {
  /** Answers false where the path is none of its own. */
  handle(request: IncomingMessage, response: GatewayResponse, path: string): boolean
  close(): Promise<void>
}

export interface OauthPort {
  readonly gatewayUrl: string
  /** Has the main thread answer a request to one of the OAuth endpoints. */
  readonly ask: (call: OauthCall) => Promise<OauthAnswer>
  readonly jwks: () => JsonWebKeySet
  readonly scopesOf: (api: string) => readonly string[] | null
  readonly onFailure: (cause: unknown) => void
}

export interface ThreadOptions {
  readonly settings: ThreadSettings
  readonly port: MessagePort
  readonly clock: Clock
  readonly createOauth: (port: OauthPort) => Promise<OauthServer>
  readonly keyedHash: (text: string) => string
}

export async function startThread({ settings, port, clock, createOauth, keyedHash }: ThreadOptions): Promise<void> {
  const host = createHostLink({ port, clock, grownFlag: new Int32Array(settings.grown) })
  const revisions = new Map<string, CompiledRevision>()
  const prepared = new Map<number, { readonly revision: CompiledRevision; readonly since: number }>()
  const memberships = createMemberships()
  let jwks: JsonWebKeySet = { keys: [] }

  const source = `gateway-${settings.thread}`
  const spoolFaults = openSpoolFaults(settings.spoolFaults)
  spoolFaults.note(settings.thread, null)
  const spool = createSpoolWriter({
    folder: join(settings.spoolFolder, source),
    after: settings.spoolAfter[source],
    requestPrefix: randomBytes(8).toString('hex'),
    sync: settings.spoolSync,
    gauge: openSpoolGauge(settings.spoolGauge, settings.spoolBytesMax),
    clock,
    ...(settings.spoolExplains && { explanations: { onDropped: () => host.count('explanation_dropped') } }),
    onGrowth: host.grown,
    onFailure(cause) {
      host.count('spool_write_failed')
      host.tell({ type: 'log', level: 'error', message: SPOOL_UNWRITABLE, detail: String(cause) })
    },
    onRefusing(cause) {
      spoolFaults.note(settings.thread, cause)
      if (cause === null) host.tell({ type: 'log', level: 'info', message: SPOOL_WRITTEN_AGAIN, detail: '' })
    },
    onUncertain: (damage) => host.tell({ type: 'damage', damage }),
  })
  const gates = createUpstreamGates({ clock, send: (reports) => host.tell({ type: 'upstream', reports }) })
  const limiter = createLimiter({ thread: settings.thread, threads: settings.threads })
  const seats = createSeats({ host, limiter })
  const admissions = createAdmissions({ limiter })
  const authenticator = createAuthenticator({
    gatewayUrl: settings.gatewayUrl,
    keyedHash,
    clock,
    resolve: (name) => host.ask('resolve', name),
    tenantOf: (api) => revisions.get(api)?.plan.tenant ?? null,
    refetch: (provider) => host.ask('refetch', { provider }),
    count: host.count,
  })
  const connectBackend = createBackendConnect({
    guard: createBackendGuard({ own: settings.ownAddresses, clock, resolve: systemResolve }),
    resolve: systemResolve,
    count: host.count,
    connectionsMax: settings.connections.backends,
  })
  const oauth = await createOauth({
    gatewayUrl: settings.gatewayUrl,
    ask: (call) => host.ask('oauth', call),
    jwks: () => jwks,
    scopesOf: (api) => revisions.get(api)?.plan.allowedScopes ?? null,
    onFailure(cause) {
      host.count('oauth_failed')
      host.tell({ type: 'log', level: 'error', message: 'an OAuth request has failed', detail: String(cause) })
    },
  })
  const faults = createFaultLog({ clock, tell: host.tell })
  const onFault = (cause: unknown): void => {
    host.count('call_failed')
    faults.report('a call failed with an internal error and was ended', cause)
  }
  const drift = createDriftWatch({
    spool,
    emit: (drift) => host.tell({ type: 'drift', drift }),
    count: host.count,
    nowMs: clock.nowMs,
    onFault,
  })
  const readers = new ReaderWatch(onFault)
  const uploads = new UploadWatch()
  const loops = createLoopDetection(`tollgate-${keyedHash('name in Via and CDN-Loop').slice(0, 16)}`)
  const isAccepting = (): boolean => spool.accepting
  const handleCall = createHandleCall({
    authenticator,
    seats,
    admissions,
    loops,
    drift,
    nowMs: clock.nowMs,
    isAccepting,
    send: createSendCall({
      responseRules: createResponseRules(),
      turnEnd: createTurnEnd(),
      drift,
      loops,
      uploads,
      readers,
      bodies: createBodyBuffers(uploads),
      nowMs: clock.nowMs,
      isAccepting,
      count: host.count,
    }),
  })
  const server = createGatewayServer({
    context: {
      spool,
      nowMs: clock.nowMs,
      count: host.count,
      readers,
      inFlight: new Int32Array(settings.inFlight),
      onFault,
    },
    handleCall,
    requestRules: createRequestRules(),
    uploads,
    authenticator,
    revisionOf: (api) => revisions.get(api),
    oauth: oauth.handle,
    connectionsMax: settings.connections.clients,
  })

  async function run(id: number, command: Command): Promise<void> {
    switch (command.type) {
      case 'prepare': {
        const since = memberships.now()
        const backends = { threads: settings.threads, connect: connectBackend }
        const revision = await compileRevision(command.plan, command.slas, limiter, backends)
        return void prepared.set(id, { revision, since })
      }
      case 'swap':
        return swap(command.prepared)
      case 'abort':
        prepared.get(command.prepared)?.revision.backend?.close()
        prepared.delete(command.prepared)
        return
      case 'sla': {
        const revision = revisions.get(command.sla.api)
        revision?.slas.set(command.sla.variant, limiter.compile(command.sla, operationIdsOf(revision.plan)))
        return seats.release(command.sla.api)
      }
      case 'grant':
        return authenticator.applyGrant(command.grant)
      case 'keys':
        jwks = command.jwks
        return authenticator.setKeys(command.jwks)
      case 'membership':
        return changeMembership(command.api, command.productIds)
      case 'revoked':
        return command.tokens.forEach(authenticator.revokeToken)
      case 'providers':
        return authenticator.setProviders(command.providers)
      case 'gate':
        return gates.of(command.api).set(command.gate)
      case 'blocks':
        return seats.release(command.api)
      case 'listen':
        return listen(command.port)
      case 'drain':
        return drain()
    }
  }

  function swap(id: number): void {
    const found = prepared.get(id)
    if (found === undefined) throw new Error(`nothing was prepared under ${id}`)
    prepared.delete(id)
    const { revision, since } = found
    const next = { ...revision, plan: memberships.correct(revision.plan, since) }
    const before = revisions.get(next.plan.api)
    if (next.backend !== null) next.backend.gate = gates.of(next.plan.api)
    revisions.set(next.plan.api, next)
    before?.backend?.close()
  }

  /** Calls in flight keep the revision they began with, which goes on to be served but for this. */
  function changeMembership(api: string, productIds: readonly string[]): void {
    memberships.say(api, productIds)
    const revision = revisions.get(api)
    if (revision === undefined) return
    revisions.set(api, { ...revision, plan: { ...revision.plan, memberOfProductIds: productIds } })
    authenticator.membershipChanged(revision.plan.tenant)
  }

  function listen(number: number): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    server.once('error', reject)
    server.listen({ host: settings.host, port: number, reusePort: settings.reusePort }, () => {
      server.off('error', reject)
      const address = server.address()
      if (address !== null && typeof address === 'object') host.tell({ type: 'listening', port: address.port })
      resolve()
    })
    return promise
  }

  async function drain(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    server.close(() => resolve())
    server.closeIdleConnections()
    // A connection whose last call ends now would be kept for the next one.
    const stop = clock.every(IDLE_CHECK_MS, () => server.closeIdleConnections())
    await promise
    stop()
    await oauth.close()
    gates.close()
    spool.close()
    host.close()
  }

  port.on('message', (message: ToThread) => {
    if (message.type !== 'command') return host.hear(message)
    void run(message.id, message.command).then(
      () => host.tell({ type: 'acknowledged', id: message.id, error: null }),
      (cause: unknown) => host.tell({ type: 'acknowledged', id: message.id, error: toCommandError(cause) }),
    )
  })
  // The net under `Call.attempt`: a fault in a library's own callback must not end the calls of all others.
  process.on('uncaughtException', (cause) => {
    host.count('thread_fault')
    faults.report('an unexpected error outside of any call; the thread goes on', cause)
  })
  host.tell({ type: 'loaded' })
}
