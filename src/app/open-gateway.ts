/**
 * Composes the gateway threads with the parts of the main thread that serve them: authentication, limits and monitoring.
 * The threads do not start here.
 */

import { createGrants, type Grants } from '../control/access/grants.ts'
import { createLastingResolve } from '../control/access/lasting-grants.ts'
import { PLATFORM_API } from '../foundation/domain/platform-api.ts'
import { createAuthenticator, type Authenticator } from '../gateway/authentication/authenticate.ts'
import { createMessageLimitMemory } from '../gateway/mcp/message-limit.ts'
import type { GatewayPool } from '../gateway/threads/gateway-pool-options.ts'
import { createGatewayPool } from '../gateway/threads/gateway-pool.ts'
import type { KeyedMutex } from '../control/command/keyed-mutex.ts'
import type { GatewayPort } from '../boundary/plan/gateway-port.ts'
import type { Grant } from '../boundary/plan/grant.ts'
import { platformOperations } from '../interfaces/platform/operations.ts'
import type { OnDamage } from '../storage/spool/damage.ts'
import { createPlatformLimits, type PlatformLimits } from '../interfaces/platform/self-metering/platform-limits.ts'
import { createGatewayPort } from './gateway-adapter.ts'
import type { Core } from './open-core.ts'
import type { Identity } from './open-identity.ts'
import { openMonitors, type Monitors } from './open-monitors.ts'
import type { StreamServices } from './open-stream.ts'

export interface GatewayOptions {
  readonly core: Core
  readonly stream: StreamServices
  readonly onDamage: OnDamage
  /** The HTML page at `/`. */
  readonly rootPage: string
  /** Called only when the threads run, after identity has been opened. */
  readonly identity: () => Pick<Identity, 'federation' | 'oauth'>
}

export interface GatewayServices {
  readonly pool: GatewayPool
  readonly port: GatewayPort
  readonly authenticator: Authenticator
  readonly platformLimits: PlatformLimits
  readonly monitors: Monitors
  /** Registers a listener for grants that change. */
  readonly watchGrants: (listener: (grant: Grant) => void) => void
  /** Locks by API, subscription or event subscription; shared by all commands. */
  readonly mutex: KeyedMutex
}

export function openGateway(options: GatewayOptions): GatewayServices {
  const { core, stream, identity } = options
  const { config, backends, vault, grants, clock, count } = core
  const { limits } = stream
  const tenant = config.adminTenant

  const authenticator = createAuthenticator({
    gatewayUrl: core.addresses.gatewayUrl,
    keyedHash: vault.keyedHash,
    resolve: grants.resolve,
    tenantOf: (api) => (api === PLATFORM_API ? tenant : null),
    refetch: (provider) => identity().federation.refetch(provider),
    clock,
    count,
    onUse: (credential) => core.lastUses.note([credential]),
  })
  const pool = openPool(options, () => monitors)
  // Stopped before the pipeline if the threads have served; here if the start is refused before.
  core.opened('loading gateway threads', () => pool.stop())
  pool.load()
  const mutex = core.createMutex()
  const { recorder, gauge } = stream
  const { setGate } = pool
  const monitors = openMonitors({
    ...core,
    mutex,
    recorder,
    leases: limits.leases,
    gauge,
    setGate,
    connectBackend: backends.connect,
    tenant,
  })
  const platformLimits = createPlatformLimits({
    memory: limits.platformMemory,
    operationIds: platformOperations().map(({ operationId }) => operationId),
    operatorTenant: tenant,
    servesWithoutLeases: core.config.limitsWithoutRedis === 'serve',
    clock,
    log: core.log,
  })
  const grantListeners: ((grant: Grant) => void)[] = []
  const port = createGatewayPort({
    gatewayPool: pool,
    vault,
    declarations: limits.declarations,
    platformLimits,
    authenticator,
    onGrant: (grant) => grantListeners.forEach((listener) => listener(grant)),
    onServed: monitors.backendCertificates.serve,
    onBackend: monitors.upstreams.watch,
    onCanary: monitors.upstreams.watchCanary,
    onWithdrawal(api) {
      monitors.upstreams.unwatch(api)
      monitors.backendCertificates.withdraw(api)
    },
  })
  const watchGrants = (listener: (grant: Grant) => void): void => void grantListeners.push(listener)
  return { pool, port, authenticator, platformLimits, monitors, watchGrants, mutex }
}

function openPool(options: GatewayOptions, monitors: () => Monitors): GatewayPool {
  const { core, stream, identity, rootPage, onDamage } = options
  const { config, addresses, heldPorts, vault, connections, backends, clock, log, count } = core
  const { limits, reader, threadSpoolSettings } = stream
  return createGatewayPool({
    entry: new URL('../thread.ts', import.meta.url),
    threads: config.gatewayThreads,
    port: addresses.gatewayPort,
    settings: {
      host: config.host,
      gatewayUrl: addresses.gatewayUrl,
      tls: core.certificates?.plan ?? null,
      trustedProxies: config.trustedProxies,
      allowsRegistration: config.mcpDynamicRegistration,
      corsOrigins: config.corsOrigins,
      ...threadSpoolSettings,
      telemetry: config.telemetry === null ? null : { sampler: config.telemetry.traces?.sampler ?? null },
      freshness: core.shared?.freshness?.memory ?? null,
      messageCounts: createMessageLimitMemory(),
      messagesPerMinute: config.mcpMessagesPerMinute,
      servesWithoutLeases: config.limitsWithoutRedis === 'serve',
      namesPaths: config.isDevelopment,
      hashKey: vault.hashKey,
      reusePort: config.gatewayThreads > 1 || heldPorts.has(addresses.gatewayPort),
      connections,
      ownAddresses: backends.own,
      rootPage,
    },
    handlers: {
      resolve: lastingResolve(core),
      block: (parameters) => limits.declarations.block(parameters),
      lease: (need) => limits.memory.refill(need),
      oauth: (call) => identity().oauth(call),
      refetch: ({ provider }) => identity().federation.refetch(provider),
    },
    clock,
    log,
    onSpoolGrowth: () => reader.notify(),
    onCount: count,
    onUsed: core.lastUses.note,
    onDrift: (drift) => monitors().onDrift(drift),
    onUpstream: (reports) => monitors().upstreams.report(reports),
    onDamage,
    onWithheld(api, cause) {
      count('revision_withheld')
      log.error({ err: cause, api }, 'a gateway thread cannot compile the stored revision of an API; its calls get 503')
    },
    onThreadGone(thread) {
      count('gateway_thread_gone')
      limits.memory.releaseThread(thread)
    },
  })
}

/** Several nodes go on with callers that this one knows while PostgreSQL is away. */
function lastingResolve({ shared, grants: { resolve }, clock }: Core): Grants['resolve'] {
  if (shared === null) return resolve
  const { resolve: resolveCopied } = createGrants({ registry: shared.copy.reads })
  return createLastingResolve({ resolve, resolveCopied, isCopyCurrent: () => shared.copyLag() === 0, clock })
}
