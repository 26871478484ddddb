/** Composes the server of the platform API. It does not listen yet. */

import { createAttention } from '../control/attention/attention.ts'
import { PLATFORM_API } from '../foundation/domain/platform-api.ts'
import { parserLimitation } from '../gateway/connection/parser-choice.ts'
import { createMessageLimit, createMessageLimitMemory } from '../gateway/mcp/message-limit.ts'
import { createNodeList } from '../storage/nodes/node-list.ts'
import { asksForRootPage, sendRootPage, sendToConsole } from './onboarding/root-page.ts'
import type { PlatformRefusal } from '../interfaces/platform/guard.ts'
import { metricsAccess } from '../interfaces/platform/metrics-server.ts'
import type { RootPage } from '../interfaces/platform/service-routes.ts'
import { createPlatform, type Platform, type PlatformOptions } from '../interfaces/platform/server.ts'
import { readVersion } from '../foundation/runtime/version.ts'
import { openConsole } from './open-console.ts'
import type { Core } from './open-core.ts'
import type { GatewayServices } from './open-gateway.ts'
import type { Identity } from './open-identity.ts'
import type { Shared } from './open-shared.ts'
import type { StreamServices } from './open-stream.ts'
import type { Resources } from './resources.ts'
import { createAwaitNodes } from './open-nodes.ts'
import { createServiceState } from './service-state.ts'

export interface OpenPlatformOptions {
  readonly core: Core
  readonly stream: StreamServices
  readonly gateway: Pick<GatewayServices, 'authenticator' | 'platformLimits' | 'watchGrants' | 'monitors' | 'pool'>
  readonly identity: Identity
  readonly resources: Resources
  /** The HTML page at `/`. */
  readonly rootPage: string
  /** Returns why the service is starting or stopping, or null. */
  readonly notServing: () => string | null
}

export function openPlatform(options: OpenPlatformOptions): Platform {
  const { core, stream, gateway, identity, resources, rootPage, notServing } = options
  const { config, addresses, idempotencyKeys, vault, connections, secureServers, clock, metrics, log, count } = core
  const { recorder } = stream
  const { gatewayUrl, baseUrl, riskUrl } = addresses
  const console = openConsole({ core, identity, portals: resources.portals })
  return createPlatform({
    ...resources,
    ...identity.people,
    sessions: identity.sessions,
    registeredClients: identity.registeredClients,
    watchRevokedPeople: identity.personRevocations.watch,
    watchRevokedTokens: identity.tokenRevocations.watch,
    watchGrants: gateway.watchGrants,
    identityProviders: identity.providers,
    signingKeys: identity.rotation,
    onSelfApproval: (caller) => recorder.note('self_approval', caller.grant.tenant, PLATFORM_API, caller),
    attention: createAttention({
      ...core,
      risks: stream.pipeline.risks,
      upstreamIssues: gateway.monitors.upstreamIssues,
    }),
    serviceState: createServiceState(options),
    nodeList: createNodeList(core),
    operator: config.adminTenant,
    usage: stream.usage,
    statements: stream.statements,
    requests: stream.requests,
    liveRequests: stream.liveRequests,
    connectionsMax: connections.platform,
    secureServers,
    trustedProxies: config.trustedProxies,
    requestLog: config.requestLog,
    requestDays: config.retentionDays.requests,
    ifMatch: core.createMutex(),
    idempotency: { store: idempotencyKeys, vault },
    ...(core.shared !== null && { awaitNodes: createAwaitNodes(core.shared) }),
    risks: stream.pipeline.risks,
    newRequestId: () => recorder.newRequestId(),
    clock,
    metrics,
    metricsAccess: metricsAccess(config),
    log,
    notReady: () => notServing() ?? stream.refusing(),
    limitation: () => refuseApart(core.shared)?.detail ?? stream.limits.leases?.waitingFor() ?? parserLimitation,
    cannotRecord: stream.cannotRecord,
    onUnrecorded: () => count('platform_call_unrecorded'),
    addresses: () => ({ baseUrl, gatewayUrl }),
    riskUrl,
    version: readVersion(),
    messageLimit: createMessageLimit(config.mcpMessagesPerMinute, createMessageLimitMemory()),
    ...{ limits: gateway.platformLimits, corsOrigins: config.corsOrigins },
    console,
    rootPage: toRootPage(console, rootPage),
    authenticate: async (authorization, apiKey) =>
      refuseApart(core.shared) ?? gateway.authenticator.authenticate(authorization, apiKey, PLATFORM_API),
    noteUse: gateway.authenticator.noteUse,
    record: recordCall(options),
  })
}

function toRootPage(console: { readonly isBuilt: boolean }, page: string): RootPage {
  return {
    isAskedFor: asksForRootPage,
    send: (response) => (console.isBuilt ? sendToConsole(response) : sendRootPage(response, page)),
  }
}

/** A copy of the registry may be old: it is enough for calls, but neither for commands nor to show secrets. */
function refuseApart(shared: Pick<Shared, 'isJoined'> | null): PlatformRefusal | null {
  if (shared === null || shared.isJoined()) return null
  const detail =
    'PostgreSQL cannot be reached: this node serves calls from its last good configuration, and no commands.'
  return { code: 'unavailable', grant: null, detail }
}

function recordCall({ core: { config }, stream: { recorder } }: OpenPlatformOptions): PlatformOptions['record'] {
  return ({ operationId, ...call }) =>
    recorder.record({
      tenant: config.adminTenant,
      api: PLATFORM_API,
      operation: operationId,
      ...call,
    })
}
