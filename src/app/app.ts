/** The composition root: constructs every part once, in the order of dependencies, and closes them in reverse order. */

import type { Facts } from './onboarding/banner.ts'
import { rootPage } from './onboarding/root-page.ts'
import type { Config } from './config.ts'
import { PLATFORM_API } from '../foundation/domain/platform-api.ts'
import { httpParser, parserLimitation } from '../gateway/connection/parser-choice.ts'
import { createConnectProbe } from '../foundation/outbound/connect-probe.ts'
import { createTargetCheck } from '../foundation/outbound/target-check.ts'
import { followEnd } from '../storage/nodes/known-end.ts'
import { ownDocument } from '../interfaces/platform/openapi.ts'
import { openMetricsPort } from '../interfaces/platform/metrics-server.ts'
import type { Platform } from '../interfaces/platform/server.ts'
import { storedPlans, type StoredPlan } from '../control/publishing/stored-plans.ts'
import type { WithheldRetries } from '../control/publishing/withheld-retries.ts'
import { upgradeProxies } from '../control/publishing/upgrade-proxies.ts'
import { readAhead } from '../foundation/runtime/read-ahead.ts'
import { createTokenScopes } from '../control/access/token-scopes.ts'
import { systemClock } from '../foundation/runtime/clock.ts'
import { createLifecycle } from '../foundation/runtime/lifecycle.ts'
import type { Log } from '../foundation/runtime/log.ts'
import type { LogTap } from '../foundation/runtime/log-tap.ts'
import { releaseHeap } from '../foundation/runtime/release-heap.ts'
import { releasePages } from '../foundation/runtime/release-pages.ts'
import type { SampleBackend } from './sample/backend.ts'
import { createDamageReport } from '../interfaces/platform/self-metering/damage-report.ts'
import type { Registry } from '../storage/store/registry.ts'
import { platformPlan } from './gateway-adapter.ts'
import { followCertificates } from './follow-certificates.ts'
import { openControl } from './open-control.ts'
import { openCore, type Core, type CoreOptions } from './open-core.ts'
import { openGateway, type GatewayServices } from './open-gateway.ts'
import { openIdentity, type Identity } from './open-identity.ts'
import {
  awaitRevocations,
  createAwaitNodes,
  openNodes,
  preparesOn,
  serveStoredApis,
  staleReason,
} from './open-nodes.ts'
import { openPlatform } from './open-platform.ts'
import { createSample, openSampleBackend } from './open-sample.ts'
import { openStream, type StreamServices } from './open-stream.ts'
import { openTelemetry } from './open-telemetry.ts'
import { createWebhooks, type Webhooks } from './open-webhooks.ts'
import { createResources, type Resources } from './resources.ts'
import { startScheduledWork } from './scheduled-work.ts'
import { createCanaryReport, serveStored } from './serve-stored.ts'
import { createStopDelay } from './stop-delay.ts'
import { createWithheld } from './withheld.ts'

export interface App {
  readonly facts: Facts
  stop(): Promise<void>
}

/** The parts that the earlier stages of startup constructed. */
interface Parts {
  readonly core: Core
  readonly stream: StreamServices
  readonly gateway: GatewayServices
  readonly identity: Identity
  readonly resources: Resources
  readonly withheld: WithheldRetries
}

/** Plans that are read while the stores are opened: what a second is enough for. */
const PLANS_MAX = 2_500
const DEVELOPMENT =
  'DEVELOPMENT is on: documents may break callers, and refusals store unknown paths, which may have secrets'

/** Releasing takes a fifth of the CPU of a start, and would delay the first calls. */
const RELEASE_DELAY_MS = 30_000

export interface AppOptions {
  readonly config: Config
  readonly log: Log
  /** Lines of the log, for their export; null: they are not exported. */
  readonly logTap?: LogTap | null
}

export async function startApp({ config, log, logTap = null }: AppOptions): Promise<App> {
  const startedAt = performance.now()
  const lifecycle = createLifecycle({ clock: systemClock, log })
  try {
    const facts = await build({ config, log, opened: lifecycle.opened }, logTap, startedAt)
    return { facts, stop: lifecycle.close }
  } catch (cause) {
    await lifecycle.close()
    throw cause
  }
}

function releaseMemory(): void {
  releaseHeap()
  releasePages()
}

/** One of several nodes asks no server for the end, so that it stores usage while PostgreSQL is away. */
function endOf({ registry, shared }: Pick<Core, 'registry' | 'shared'>): Registry['end'] {
  return shared === null ? registry.end : followEnd(registry, shared.readFrom)
}

async function build(options: CoreOptions, logTap: LogTap | null, startedAt: number): Promise<Facts> {
  const { config, log, opened } = options
  const core = await openCore(options)
  const { registry, addresses, admin, backends } = core
  await upgradeProxies(registry, config.adminTenant)
  // A node reads the plans of all APIs while its stores are opened.
  const stored =
    core.shared === null ? null : readAhead(storedPlans({ registry, backendRule: backends.rule }), PLANS_MAX)
  const isWanted = core.sampleFiles !== null && admin.made !== null
  // Its thread starts and compiles the schemas of OpenAPI meanwhile; a fault shows when the sample is created.
  if (isWanted)
    core.documents.read({ bytes: core.sampleFiles.openApi, previous: null }, config.adminTenant).catch(() => {})
  const page = rootPage(addresses)
  const damage = createDamageReport(core)
  // Opened before the pipeline, so that it stops after it.
  const observer = await openTelemetry(core, logTap)
  const stream = await openStream({ ...core, onDamage: damage.report, registryEnd: endOf(core), observer })
  opened('damage report', damage.connect(stream.recorder, config.adminTenant))

  const gateway = openGateway({ core, stream, onDamage: damage.report, rootPage: page, identity: () => identity })
  const identity = await startIdentity(core, stream, gateway)
  const { resources, withheld } = constructResources(core, stream, gateway)
  const parts: Parts = { core, stream, gateway, identity, resources, withheld }
  await activateStored(parts, stored)
  await openNodes(parts)
  await core.shared?.endStart()

  let notServing: string | null = 'The gateway threads are starting.'
  const platform = openPlatform({ ...parts, rootPage: page, notServing: () => notServing ?? staleReason(core.shared) })
  const sampleBackend = await openSampleBackend({ ...core, isWanted, host: config.host })
  await listen(parts, platform)
  const sample = isWanted ? await openSample(parts, sampleBackend) : null
  await startWork(parts)
  opened('memory of the start', systemClock.after(RELEASE_DELAY_MS, releaseMemory))
  notServing = null
  core.shared?.beginCopy()
  // Opened last, so that a stop begins with it.
  const onStopping = (): void => void (notServing = 'The service is stopping.')
  opened('delay of the stop', createStopDelay({ ...core, ...gateway, platform, stream, onStopping }))
  void backends.warn()

  const { gatewayUrl, baseUrl, riskUrl } = addresses
  const threads = config.gatewayThreads
  if (parserLimitation !== null) log.warn(parserLimitation)
  if (config.isDevelopment) log.warn(DEVELOPMENT)
  log.info({ gatewayUrl, baseUrl, riskUrl, threads, httpParser }, 'tollgate is up')
  const ownerUrl = admin.ownerLink?.url ?? null
  const startedInMs = performance.now() - startedAt
  return {
    gatewayUrl,
    baseUrl,
    riskUrl,
    dataDir: config.dataDir,
    threads,
    startedInMs,
    admin: admin.made,
    ownerUrl,
    sample,
  }
}

async function startIdentity(core: Core, { recorder }: StreamServices, gateway: GatewayServices): Promise<Identity> {
  const { config, registry, addresses, shared } = core
  const { authenticator, pool } = gateway
  const identity = await openIdentity({
    ...core,
    gateway: gateway.port,
    mutex: gateway.mutex,
    operator: config.adminTenant,
    gatewayUrl: addresses.gatewayUrl,
    baseUrl: addresses.baseUrl,
    scopesOf: createTokenScopes({ registry }),
    recorder,
    allowPrivate: config.allowPrivateAddresses.includes('federation'),
    allowsRegistration: config.mcpDynamicRegistration,
    allowPrivateClients: config.allowPrivateAddresses.includes('clients'),
    async publishKeys(jwks) {
      authenticator.setKeys(jwks)
      await pool.setKeys(jwks)
    },
  })
  return shared === null ? identity : { ...identity, oauth: awaitRevocations(identity.oauth, createAwaitNodes(shared)) }
}

function constructResources(
  core: Core,
  { limits, levels }: StreamServices,
  gateway: GatewayServices,
): Pick<Parts, 'resources' | 'withheld'> {
  const { config, clock, backends, shared, count, log } = core
  const { port, mutex, monitors } = gateway
  const withheld = createWithheld(core, () => resources.proxies)
  const resources = createResources({
    ...core,
    gateway: port,
    mutex,
    limits,
    levels,
    compliance: monitors.compliance,
    probeBackend: createConnectProbe({ operator: config.adminTenant }),
    refuseTarget: createTargetCheck({ clock, allowPrivate: config.allowPrivateAddresses.includes('webhooks') }),
    backendRule: backends.rule,
    allowsBreaking: config.isDevelopment,
    ...(shared !== null && preparesOn(shared, { count, log })),
    // One of several nodes follows its own changes, and tries again there.
    onCanaryWithheld: createCanaryReport({ count, log, withheld: shared === null ? withheld : null }),
    judge: gateway.authenticator.judge,
  })
  return { resources, withheld }
}

/** Activates the platform API and every API of the registry. `stored`: null for a single node. */
async function activateStored(
  { core, gateway: { port }, resources, withheld }: Parts,
  stored: AsyncIterable<StoredPlan> | null,
): Promise<void> {
  const { config, backends, scopes } = core
  const platformSlas = await resources.specifications.plansInForce(PLATFORM_API, [])
  await (await port.prepare(platformPlan(config.adminTenant, scopes, config.corsOrigins), platformSlas)).swap()
  if (stored !== null) return serveStoredApis(core, resources.proxies, stored, withheld)
  for await (const { plan, slas } of resources.proxies.activePlans()) {
    await serveStored({ ...core, withheld }, port, { plan, slas })
    backends.serves(plan)
  }
}

/** Starts the pipeline and the gateway threads, then listens on every port. */
async function listen({ core, stream, gateway: { pool } }: Parts, platform: Platform): Promise<void> {
  const { config, addresses, heldPorts, opened, metrics } = core
  const { host, metricsToken: token } = config
  const { platformPort, riskPort, metricsPort } = addresses
  const at = (port: number) => ({ host, port, reusePort: heldPorts.has(port) })
  await stream.pipeline.start()
  opened('gateway threads', () => pool.stop())
  await pool.start()
  opened('platform API', () => platform.close())
  await platform.app.listen(at(platformPort))
  if (riskPort !== null) await platform.createRiskApp().listen(at(riskPort))
  if (metricsPort !== null)
    await openMetricsPort({ ...at(metricsPort), token, metrics, recorder: stream.recorder, opened })
  await openControl({ ...core, holds: stream.holds })
  await followCertificates({ core, pool, recorder: stream.recorder })
  heldPorts.release()
}

async function openSample({ core, resources }: Parts, backend: SampleBackend | null): Promise<Facts['sample']> {
  const { sampleFiles: files } = core
  if (files === null || backend === null) return null
  return createSample({ ...core, ...resources, files, backendUrl: backend.url })
}

/** Starts webhooks and the work that the service starts on its own initiative. */
async function startWork({
  core,
  stream: { recorder, names, levels },
  gateway: { mutex },
  identity,
  resources,
  withheld,
}: Parts): Promise<void> {
  core.opened('withheld revisions', () => withheld.stop())
  withheld.start()
  const { adminTenant: tenant, allowPrivateAddresses } = core.config
  const allowPrivate = allowPrivateAddresses.includes('webhooks')
  let webhooks: Webhooks | null = null
  core.metrics.measured('webhook_deliveries_waiting', 'Deliveries that are queued', () => webhooks?.waiting() ?? 0)
  const { registeredClients } = identity
  const work = {
    ...core,
    ...resources,
    tenant,
    registeredClients,
    ownDocument,
    createWebhooks: () => (webhooks = createWebhooks({ ...core, mutex, tenant, allowPrivate })),
    recorder,
    names,
    levels,
  }
  await startScheduledWork(work)
}
