/** Opens the parts that all others depend on: addresses, metrics, the data folder, and the credentials of the operator. */

import { randomBytes } from 'node:crypto'
import type { Secrets } from '../control/access/credential-document.ts'
import type { FirstAdmin } from '../control/access/first-admin.ts'
import { createGrants, type Grants } from '../control/access/grants.ts'
import { createLastUses, type LastUses } from '../control/access/last-uses.ts'
import { noteServiceAddress } from '../control/access/service-address.ts'
import { createKeyedMutex, type KeyedMutex } from '../control/command/keyed-mutex.ts'
import { createSharedMutex } from '../control/command/shared-mutex.ts'
import type { Config } from './config.ts'
import { openKeyRing, type KeyRing } from '../control/identity/key-ring.ts'
import { createThreadPool } from '../foundation/jobs/thread-pool.ts'
import { platformScopes } from '../interfaces/platform/operations.ts'
import { SecureServers } from '../interfaces/platform/secure-servers.ts'
import { createDocumentReader, type DocumentReader } from '../control/publishing/document-reader.ts'
import { createHeldPorts, type HeldPorts } from '../foundation/runtime/check-port.ts'
import { systemClock as clock, type Clock } from '../foundation/runtime/clock.ts'
import type { CountEvent } from '../foundation/runtime/event-reasons.ts'
import { claimConnections, type ConnectionShares } from '../foundation/runtime/file-descriptors.ts'
import { createIdFactory } from '../foundation/runtime/ids.ts'
import type { Opened } from '../foundation/runtime/lifecycle.ts'
import type { Log } from '../foundation/runtime/log.ts'
import { createEventCounter, createMetrics, type Metrics } from '../foundation/runtime/metrics.ts'
import { claimAddresses, type Addresses } from './settings/addresses.ts'
import type { CredentialUseStore } from '../storage/store/credential-uses.ts'
import type { Author } from '../storage/store/registry.ts'
import { createBackends, type Backends } from './backend-rules.ts'
import { createRunJob, type RunJob } from './node-jobs.ts'
import type { ServedCertificates } from '../foundation/tls/served-certificates.ts'
import { openAdmin } from './open-admin.ts'
import { openDataFolder, type OpenedDataFolder } from './open-data-folder.ts'
import { openCertificates } from './open-certificates.ts'
import { readSample, type SampleFiles } from './open-sample.ts'

export interface CoreOptions {
  readonly config: Config
  readonly log: Log
  readonly opened: Opened
}

export interface Core extends CoreOptions, Secrets, OpenedDataFolder {
  readonly clock: Clock
  readonly metrics: Metrics
  readonly count: CountEvent
  readonly addresses: Addresses
  readonly heldPorts: HeldPorts
  /** Null if the settings exclude the sample. */
  readonly sampleFiles: SampleFiles | null
  readonly connections: ConnectionShares
  readonly backends: Backends
  /** Null: clients connect without TLS. */
  readonly certificates: ServedCertificates | null
  /** Those of the platform; null without TLS. */
  readonly secureServers: SecureServers | null
  /** Author of the changes that the service makes on its own initiative. */
  readonly author: Author
  /** All scopes of the platform API. */
  readonly scopes: readonly string[]
  readonly admin: FirstAdmin
  readonly keyRing: KeyRing
  readonly grants: Grants
  readonly lastUses: LastUses
  readonly documents: DocumentReader
  /** Creates a mutex, which holds across nodes. */
  readonly createMutex: () => KeyedMutex
  readonly runJob: RunJob
}

/** Throws `StartRefused`. */
export async function openCore({ config, log, opened }: CoreOptions): Promise<Core> {
  const heldPorts = createHeldPorts()
  opened('held ports', heldPorts.release)
  const addresses = await claimAddresses(config, heldPorts)
  const sampleFiles = config.empty ? null : readSample()
  const metrics = createMetrics()
  const createId = createIdFactory(clock.nowMs)
  const count = createEventCounter(metrics)

  const certificates = await openCertificates({ config, metrics, clock, log, count })
  const dataFolder = await openDataFolder({ config, addresses, clock, log, count, opened })
  const { vault, registry, shared } = dataFolder
  const lastUses = openLastUses(dataFolder.credentialUses, { log, count })
  opened('last uses of credentials', lastUses.close)
  const connections = claimConnections(config.gatewayThreads, log)
  const backends = createBackends({ config, addresses, clock, log, count })
  const author = { tenant: config.adminTenant, consumer: 'system' }
  const secrets = { vault, createId, randomBytes }
  const scopes = platformScopes()
  const { gatewayUrl } = addresses
  const isReadOnly = shared?.isJoined() === false
  const admin = await openAdmin({ ...secrets, config, registry, clock, scopes, log, gatewayUrl, isReadOnly })
  if (!isReadOnly) await noteServiceAddress(registry, author, addresses)
  const keyRing = await openKeyRing({ registry, vault, clock, author })
  const grants = createGrants({ registry })
  const entry = new URL('./document-thread.ts', import.meta.url)
  // Apart from the linter's threads, so that no command waits until documents have been judged.
  const documentThread = createThreadPool({ entry, clock, log, threads: 1 })
  opened('document thread', documentThread.close)

  return {
    ...dataFolder,
    ...secrets,
    config,
    log,
    opened,
    clock,
    metrics,
    count,
    addresses,
    heldPorts,
    sampleFiles,
    connections,
    backends,
    certificates,
    secureServers: certificates === null ? null : new SecureServers(certificates.plan),
    author,
    scopes,
    admin,
    keyRing,
    grants,
    lastUses,
    documents: createDocumentReader(documentThread),
    createMutex: () => (shared === null ? createKeyedMutex() : createSharedMutex(shared.fences)),
    runJob: createRunJob({ shared, clock, log, count, opened }),
  }
}

function openLastUses(store: CredentialUseStore, { log, count }: Pick<Core, 'log' | 'count'>): LastUses {
  return createLastUses({
    store,
    clock,
    onFailed(cause) {
      count('credential_uses_failed')
      log.warn({ err: cause }, 'the last uses of credentials could not be stored; they are kept and stored in a minute')
    },
  })
}
