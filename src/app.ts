/**
 * The composition root: everything is built here, once, in the order in which it depends on each
 * other, and closed in the reverse order.
 */

import { randomBytes } from 'node:crypto'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Facts } from './banner.ts'
import { createApis } from './catalogue/apis.ts'
import { createConsumers } from './catalogue/consumers.ts'
import { createFirstAdmin } from './catalogue/first-admin.ts'
import { createGrants } from './catalogue/grants.ts'
import { PLATFORM_API } from './catalogue/platform-api.ts'
import { createProxies } from './catalogue/proxies.ts'
import { createSpecifications } from './catalogue/specifications.ts'
import { createSubscriptions } from './catalogue/subscriptions.ts'
import { createTokenScopes } from './catalogue/token-scopes.ts'
import type { Config } from './config.ts'
import { DEFAULT_RISK_RULES } from './domain/risk-rules.ts'
import { createAuthenticator, type Authenticator } from './gateway/authenticate.ts'
import { createFleet, type Fleet } from './gateway/fleet.ts'
import { createLimitDesk } from './gateway/limit-desk.ts'
import { createLimitMemory } from './gateway/limit-memory.ts'
import { createGatewayPort, platformPlan } from './gateway-port.ts'
import { openKeyRing } from './identity/key-ring.ts'
import { createSecretBrake } from './identity/secret-brake.ts'
import { createTokenIssuer } from './identity/token-issuer.ts'
import { startPipeline } from './pipeline/topology.ts'
import { createPlatformRecorder } from './platform-recorder.ts'
import { platformOperations, platformScopes } from './platform/operations.ts'
import { createPlatform } from './platform/server.ts'
import { claimPort } from './ports.ts'
import { createSpoolGaugeMemory, openSpoolGauge } from './record/spool-gauge.ts'
import { openSpoolReader } from './record/spool-reader.ts'
import { createSpoolWriter } from './record/spool-writer.ts'
import { systemClock as clock } from './runtime/clock.ts'
import { createIdFactory } from './runtime/ids.ts'
import { createLifecycle } from './runtime/lifecycle.ts'
import type { Log } from './runtime/log.ts'
import { createMetrics } from './runtime/metrics.ts'
import { createVault, loadMasterKey } from './runtime/vault.ts'
import { bringSample, openSampleBackend, readSample } from './sample.ts'
import { openClickHouse } from './store/clickhouse/client.ts'
import { migrate } from './store/clickhouse/migrations.ts'
import { createClickHouseRiskStore } from './store/clickhouse/risk-store.ts'
import { createClickHouseUsageStore } from './store/clickhouse/usage-store.ts'
import type { Author } from './store/registry.ts'
import { matches, openSqliteCheckpoint } from './store/sqlite/checkpoint.ts'
import { lockDataFolder } from './store/sqlite/data-folder.ts'
import { openSqliteRegistry } from './store/sqlite/registry.ts'
import { createTokenDesk, toParty } from './token-desk.ts'

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

type Opened = (name: string, close: () => Promise<void> | void) => void

async function build(config: Config, log: Log, opened: Opened, startedAt: number): Promise<Facts> {
  const { host, dataDir } = config
  const gatewayPort = await claimPort('GATEWAY_PORT', host, config.gatewayPort)
  const platformPort = await claimPort('PLATFORM_PORT', host, config.platformPort)
  const riskPort = config.riskPort === null ? null : await claimPort('RISK_PORT', host, config.riskPort)
  const gatewayUrl = config.gatewayUrl ?? urlOf(host, gatewayPort)
  const baseUrl = config.baseUrl ?? urlOf(host, platformPort)
  const riskUrl = config.riskUrl ?? (riskPort === null ? baseUrl : urlOf(host, riskPort))
  const sampleFiles = config.empty ? null : await readSample()

  opened('data folder', lockDataFolder(dataDir))
  const vault = createVault(loadMasterKey({ dataDir, masterKey: config.masterKey }))
  const metrics = createMetrics()
  const createId = createIdFactory(clock.nowMs)
  const counted = metrics.counter('events_total', 'Drops, retries, refusals without a record and the like, by reason', [
    'reason',
  ])
  const count = (reason: string, by = 1): void => counted.inc({ reason }, by)

  const calls = metrics.counter('calls_total', 'Calls that were recorded, by API, outcome and class of status', [
    'api',
    'outcome',
    'status',
  ])

  const registry = openSqliteRegistry({ path: join(dataDir, 'registry.db'), clock })
  opened('registry', () => registry.close())
  const author: Author = { tenant: config.adminTenant, consumer: 'system' }
  const secrets = { vault, createId, randomBytes }
  const scopes = platformScopes()
  const chosen =
    config.adminClientId === null || config.adminClientSecret === null
      ? null
      : { clientId: config.adminClientId, clientSecret: config.adminClientSecret }
  const admin = await createFirstAdmin({ ...secrets, registry, clock, tenant: config.adminTenant, scopes, chosen })
  const keyRing = await openKeyRing({ registry, vault, clock, author })
  const grants = createGrants({ registry })

  const clickHouse = openClickHouse({ url: config.clickhouseUrl, folder: join(dataDir, 'clickhouse') })
  opened('ClickHouse', () => clickHouse.close())
  await migrate(clickHouse)
  const usage = createClickHouseUsageStore(clickHouse)
  const checkpoint = openSqliteCheckpoint({
    path: join(dataDir, 'checkpoint.db'),
    newInstance: () => randomBytes(8).toString('hex'),
  })
  opened('checkpoint', () => checkpoint.close())

  const spoolFolder = join(dataDir, 'spool')
  mkdirSync(spoolFolder, { recursive: true, mode: 0o700 })
  const gaugeMemory = createSpoolGaugeMemory()
  const gauge = openSpoolGauge(gaugeMemory, config.spoolMaxBytes)
  metrics.measured('spool_used_ratio', 'Share of the spool limit that is used', () => gauge.share)
  const reader = openSpoolReader({
    folder: spoolFolder,
    gauge,
    onTornTail(path, bytes) {
      count('spool_torn_tail')
      log.warn({ path, bytes }, 'the end of a spool segment was torn and is passed over')
    },
  })
  opened('spool reader', () => reader.close())
  const pipeline = await startPipeline({
    reader,
    checkpoint,
    usage,
    riskStore: createClickHouseRiskStore(clickHouse),
    rules: DEFAULT_RISK_RULES,
    matches,
    clock,
    createId,
    log,
    count,
    onCalls: (counted) => counted.forEach(({ calls: by, ...labels }) => calls.inc(labels, by)),
  })
  opened('pipeline', () => pipeline.stop())
  const spool = createSpoolWriter({
    folder: join(spoolFolder, 'platform'),
    requestPrefix: randomBytes(8).toString('hex'),
    sync: config.spoolSync,
    gauge,
    clock,
    onGrowth: () => reader.notify(),
    onFailure(cause) {
      count('spool_write_failed')
      log.error({ err: cause }, 'the spool cannot be written')
    },
  })
  opened('platform spool', () => spool.close())
  const recorder = createPlatformRecorder({ spool, clock })

  const authenticator = createAuthenticator({
    gatewayUrl,
    keyedHash: vault.keyedHash,
    resolve: grants.resolve,
    clock,
    count,
  })
  authenticator.setKeys(keyRing.publicKeys() as Parameters<Authenticator['setKeys']>[0])
  const limitMemory = createLimitMemory({ threads: config.gatewayThreads })
  const limitDesk = createLimitDesk(limitMemory)
  const scopesOf = createTokenScopes({ registry })
  const issueToken = createTokenIssuer({
    keyRing,
    clientFor: grants.clientFor,
    scopesOf,
    keyedHash: vault.keyedHash,
    brake: createSecretBrake(clock),
    clock,
    createId,
    gatewayUrl,
  })
  const fleet = createFleet({
    entry: new URL('./thread.ts', import.meta.url),
    threads: config.gatewayThreads,
    port: gatewayPort,
    settings: {
      host,
      gatewayUrl,
      spoolFolder,
      spoolSync: config.spoolSync,
      spoolGauge: gaugeMemory,
      spoolBytesMax: config.spoolMaxBytes,
      hashKey: vault.hashKey,
      reusePort: config.gatewayThreads > 1,
    },
    answers: {
      resolve: grants.resolve,
      block: (ask) => limitDesk.block(ask),
      issue: createTokenDesk({ issue: issueToken, scopesOf, recorder, clock }),
    },
    clock,
    log,
    onGrowth: () => reader.notify(),
    onCount: count,
    onThreadGone(thread) {
      count('gateway_thread_gone')
      limitMemory.releaseThread(thread)
    },
  })
  const gateway = createGatewayPort(fleet, limitDesk, authenticator)
  const specifications = createSpecifications({ registry, createId, gateway })
  const proxies = createProxies({ registry, gateway, specifications, createId, clock })
  const consumers = createConsumers({ registry, createId })
  const subscriptions = createSubscriptions({
    ...secrets,
    registry,
    gateway,
    specifications,
    clock,
    platformOperations: platformOperations(),
  })

  await fleet.setKeys(keyRing.publicKeys() as Parameters<Fleet['setKeys']>[0])
  await (await gateway.prepare(platformPlan(config.adminTenant, scopes), [])).swap()
  for await (const { plan, slas } of proxies.activePlans()) await (await gateway.prepare(plan, slas)).swap()
  let notReady: string | null = 'The gateway threads are starting.'
  const platform = createPlatform({
    consumers,
    apis: createApis({ registry }),
    proxies,
    specifications,
    subscriptions,
    usage,
    risks: pipeline.risks,
    clock,
    newRequestId: () => recorder.newRequestId(),
    metrics,
    log,
    notReady: () => notReady ?? (spool.accepting ? null : 'The spool cannot be written.'),
    addresses: () => ({ baseUrl, gatewayUrl }),
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
  const sampleBackend = await openSampleBackend({ isWanted, host, registry, log })
  if (sampleBackend !== null) opened('sample backend', () => sampleBackend.close())
  opened('gateway threads', () => fleet.stop())
  await fleet.start()
  opened('platform API', () => platform.close())
  await platform.app.listen({ host, port: platformPort })
  if (riskPort !== null) await platform.createRiskApp().listen({ host, port: riskPort })

  const sample =
    sampleFiles === null || admin.made === null || sampleBackend === null
      ? null
      : await bringSample({
          files: sampleFiles,
          backendUrl: sampleBackend.url,
          registry,
          proxies,
          specifications,
          consumers,
          subscriptions,
          author,
        })
  notReady = null
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

function urlOf(host: string, port: number): string {
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`
}
