/** The composition root: constructs every part once, in the order of dependencies, and closes them in reverse order. */

import { randomBytes } from 'node:crypto'
import { claimAddresses } from '../settings/addresses.ts'
import type { Facts } from '../onboarding/banner.ts'
import { createBackends } from './backend-rules.ts'
import { exemptOldBackends } from '../publishing/exempt-backends.ts'
import { createGrants } from '../access/grants.ts'
import { PLATFORM_API } from '../domain/platform-api.ts'
import { migrateOldProxies } from '../publishing/revision-zero.ts'
import { createTokenScopes } from '../access/token-scopes.ts'
import { createKeyedMutex } from '../command/keyed-mutex.ts'
import type { Config } from '../config.ts'
import { openControl } from './open-control.ts'
import { createDamageReport } from '../self-metering/damage-report.ts'
import { openDataFolder } from './open-data-folder.ts'
import { claimConnections } from '../runtime/file-descriptors.ts'
import { startScheduledWork } from './scheduled-work.ts'
import { createAuthenticator } from '../gateway/authentication/authenticate.ts'
import { createGatewayPool } from '../gateway/threads/gateway-pool.ts'
import { createGatewayPort, platformPlan } from './gateway-adapter.ts'
import { openIdentity } from './open-identity.ts'
import { openKeyRing } from '../identity/key-ring.ts'
import { platformOperations, platformScopes } from '../platform/operations.ts'
import { createPlatformLimits } from '../self-metering/platform-limits.ts'
import { ownDocument } from '../platform/openapi.ts'
import { createPlatform } from '../platform/server.ts'
import { systemClock as clock } from '../runtime/clock.ts'
import { createIdFactory } from '../runtime/ids.ts'
import { createLifecycle, type Opened } from '../runtime/lifecycle.ts'
import type { Log } from '../runtime/log.ts'
import { metricsAccess, openMetricsPort } from '../platform/metrics-server.ts'
import { createEventCounter, createMetrics } from '../runtime/metrics.ts'
import { openStream } from './open-stream.ts'
import { openAdmin } from './open-admin.ts'
import { createResources } from './resources.ts'
import { toParty } from '../self-metering/oauth-attempts.ts'
import { asksForRootPage, rootPage, sendRootPage } from '../onboarding/root-page.ts'
import { bringSample, openSampleBackend, readSample } from './open-sample.ts'
import { createConnectProbe } from '../outbound/connect-probe.ts'
import { createTargetCheck } from '../outbound/target-check.ts'
import { createWebhooks } from './open-webhooks.ts'
import { openMonitors } from './open-monitors.ts'

export interface App {
  readonly facts: Facts
  stop(): Promise<void>
}

export async function startApp({ config, log }: { config: Config; log: Log }): Promise<App> {
  const startedAt = performance.now()
  const lifecycle = createLifecycle({ clock, log })
  try {
    const facts = await build(config, log, lifecycle.opened, startedAt)
    return { facts, stop: lifecycle.close }
  } catch (cause) {
    await lifecycle.close()
    throw cause
  }
}

async function build(config: Config, log: Log, opened: Opened, startedAt: number): Promise<Facts> {
  const { host, dataDir } = config
  const addresses = await claimAddresses(config)
  const { gatewayPort, platformPort, riskPort, metricsPort, gatewayUrl, baseUrl, riskUrl } = addresses
  const sampleFiles = config.empty ? null : await readSample()

  const metrics = createMetrics()
  const createId = createIdFactory(clock.nowMs)
  const count = createEventCounter(metrics)

  const { folder, vault, registry, kept } = openDataFolder({ config, clock, log, count, opened })
  const connections = claimConnections(config.gatewayThreads, log)
  const backends = createBackends({ config, addresses, clock, log, count })
  const author = { tenant: config.adminTenant, consumer: 'system' }
  const secrets = { vault, createId, randomBytes }
  const scopes = platformScopes()
  const admin = await openAdmin({ ...secrets, config, registry, clock, scopes, log })
  const keyRing = await openKeyRing({ registry, vault, clock, author })
  const grants = createGrants({ registry })

  const damage = createDamageReport({ metrics, clock, log, count })
  const shared = { config, metrics, createId, clock, log, count, opened }
  const stream = await openStream({ ...shared, onDamage: damage.report, folder, registryEnd: registry.end })
  const { pipeline, limits, recorder, reader, usage } = stream
  opened('damage report', damage.connect(recorder, config.adminTenant))

  const authenticator = createAuthenticator({
    gatewayUrl,
    keyedHash: vault.keyedHash,
    resolve: grants.resolve,
    tenantOf: (api) => (api === PLATFORM_API ? config.adminTenant : null),
    refetch: (provider) => federation.refetch(provider),
    clock,
    count,
  })
  const scopesOf = createTokenScopes({ registry })
  const page = rootPage({ gatewayUrl, baseUrl, riskUrl })
  const gatewayPool = createGatewayPool({
    entry: new URL('../thread.ts', import.meta.url),
    threads: config.gatewayThreads,
    port: gatewayPort,
    settings: {
      host,
      gatewayUrl,
      ...stream.threadSpools,
      hashKey: vault.hashKey,
      reusePort: config.gatewayThreads > 1,
      connections,
      ownAddresses: backends.own,
      rootPage: page,
    },
    handlers: {
      resolve: grants.resolve,
      block: (parameters) => limits.declarations.block(parameters),
      oauth: (call) => oauth(call),
      refetch: ({ provider }) => federation.refetch(provider),
    },
    clock,
    log,
    onSpoolGrowth: () => reader.notify(),
    onCount: count,
    onDrift: (drift) => monitors.onDrift(drift),
    onUpstream: (reports) => monitors.upstreams.report(reports),
    onDamage: damage.report,
    onThreadGone(thread) {
      count('gateway_thread_gone')
      limits.memory.releaseThread(thread)
    },
  })
  const mutex = createKeyedMutex()
  const monitors = openMonitors({
    registry,
    mutex,
    recorder,
    gauge: stream.gauge,
    setGate: gatewayPool.setGate,
    connectBackend: backends.connect,
    tenant: config.adminTenant,
    createId,
    clock,
    log,
    count,
    opened,
  })
  const platformLimits = createPlatformLimits({
    memory: limits.platformMemory,
    operationIds: platformOperations().map(({ operationId }) => operationId),
    operatorTenant: config.adminTenant,
    clock,
  })
  const gateway = createGatewayPort({
    gatewayPool,
    declarations: limits.declarations,
    platformLimits,
    authenticator,
    onBackend: monitors.upstreams.watch,
  })
  const identity = await openIdentity({
    ...secrets,
    registry,
    gateway,
    grants,
    keyRing,
    scopesOf,
    recorder,
    clock,
    gatewayUrl,
    log,
    count,
    allowPrivate: config.allowPrivateAddresses.includes('federation'),
    async publishKeys(jwks) {
      authenticator.setKeys(jwks)
      await gatewayPool.setKeys(jwks)
    },
  })
  const allowsPrivateHooks = config.allowPrivateAddresses.includes('webhooks')
  const { federation, oauth, rotation } = identity
  opened('identity', identity.close)
  const resources = createResources({
    ...secrets,
    registry,
    gateway,
    clock,
    mutex,
    limits,
    levels: stream.levels,
    compliance: monitors.compliance,
    probeBackend: createConnectProbe({ operator: config.adminTenant }),
    refuseTarget: createTargetCheck({ clock, allowPrivate: allowsPrivateHooks }),
    backendRule: backends.rule,
    scopes,
    log,
  })

  const platformSlas = await resources.specifications.plansInForce(PLATFORM_API, [])
  await (await gateway.prepare(platformPlan(config.adminTenant, scopes), platformSlas)).swap()
  await migrateOldProxies(registry)
  await exemptOldBackends(registry, config.adminTenant)
  for await (const { plan, slas } of resources.proxies.activePlans()) {
    await (await gateway.prepare(plan, slas)).swap()
    backends.serves(plan)
  }
  let notReady: string | null = 'The gateway threads are starting.'
  const platform = createPlatform({
    ...resources,
    users: identity.users,
    identityProviders: identity.providers,
    signingKeys: rotation,
    onSelfApproval: (caller) => recorder.note('self_approval', caller.grant.tenant, PLATFORM_API, caller),
    usage,
    requests: stream.requests,
    connectionsMax: connections.platform,
    requestLog: config.requestLog,
    idempotency: { store: kept, vault },
    risks: pipeline.risks,
    clock,
    newRequestId: () => recorder.newRequestId(),
    metrics,
    metricsAccess: metricsAccess(config),
    log,
    notReady: () => notReady ?? stream.refusing(),
    cannotRecord: stream.cannotRecord,
    onUnrecorded: () => count('platform_call_unrecorded'),
    addresses: () => ({ baseUrl, gatewayUrl }),
    limits: platformLimits,
    rootPage: { isAskedFor: asksForRootPage, send: (response) => sendRootPage(response, page) },
    authenticate: async (authorization, apiKey) => authenticator.authenticate(authorization, apiKey, PLATFORM_API),
    record: ({ operationId, caller, grant, ...call }) =>
      recorder.record({
        tenant: config.adminTenant,
        api: PLATFORM_API,
        operation: operationId,
        party: caller ?? (grant === null ? null : toParty(grant)),
        ...call,
      }),
  })
  const isWanted = sampleFiles !== null && admin.made !== null
  const sampleBackend = await openSampleBackend({ isWanted, host, registry, log, opened })
  await pipeline.start()
  opened('gateway threads', () => gatewayPool.stop())
  await gatewayPool.start()
  opened('platform API', () => platform.close())
  await platform.app.listen({ host, port: platformPort })
  if (riskPort !== null) await platform.createRiskApp().listen({ host, port: riskPort })
  await openMetricsPort({ host, token: config.metricsToken, port: metricsPort, metrics, recorder, opened })
  await openControl({ config, holds: stream.holds, clock, log, opened })

  const isSample = sampleFiles !== null && admin.made !== null && sampleBackend !== null
  const sample = isSample
    ? await bringSample({ ...resources, files: sampleFiles, backendUrl: sampleBackend.url, registry, author })
    : null
  const webhooks = createWebhooks({
    registry,
    vault,
    allowPrivate: allowsPrivateHooks,
    mutex,
    tenant: config.adminTenant,
    createId,
    clock,
    log,
    metrics,
    count,
  })
  await startScheduledWork({
    ...resources,
    ownDocument: ownDocument(),
    webhooks,
    registry,
    recorder,
    createId,
    clock,
    log,
    count,
    opened,
  })
  notReady = null
  void backends.warn()
  log.info({ gatewayUrl, baseUrl, riskUrl, threads: config.gatewayThreads }, 'tollgate is up')
  return {
    gatewayUrl,
    baseUrl,
    riskUrl,
    dataDir,
    threads: config.gatewayThreads,
    startedInMs: performance.now() - startedAt,
    admin: admin.made,
    sample,
  }
}
