/**
 * Opens the data folder at startup: locks it, checks that it is complete, and opens the files of the control
 * plane.
 *
 * Files that are too large to be checked before use are checked while the service runs; if one is damaged, the process exits.
 */

import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import type { Config } from './config.ts'
import { inspectFolder, type DataFolder } from '../storage/recovery/folder-parts.ts'
import type { CountEvent } from '../foundation/runtime/event-reasons.ts'
import type { Clock } from '../foundation/runtime/clock.ts'
import type { Opened } from '../foundation/runtime/lifecycle.ts'
import type { Log } from '../foundation/runtime/log.ts'
import { createVault, loadMasterKey, type Vault } from '../foundation/runtime/vault.ts'
import type { CredentialUseStore } from '../storage/store/credential-uses.ts'
import type { IdempotencyStore } from '../storage/store/idempotency-store.ts'
import type { Addresses } from './settings/addresses.ts'
import type { Registry } from '../storage/store/registry.ts'
import { createSingleNode, FORMAT, type Nodes } from '../storage/store/nodes.ts'
import { readVersion } from '../foundation/runtime/version.ts'
import { openShared, type Shared } from './open-shared.ts'
import { lockDataFolder } from '../storage/store/sqlite/data-folder.ts'
import { checkLargeFiles } from '../storage/store/sqlite/database-check.ts'
import { refuseMoved } from '../storage/store/sqlite/moved-registry.ts'
import { openSqliteIdempotencyStore } from '../storage/store/sqlite/idempotency-store.ts'
import { openSqliteRegistry, type SqliteRegistry } from '../storage/store/sqlite/registry.ts'

export interface OpenDataFolderOptions {
  readonly config: Config
  readonly addresses: Addresses
  readonly clock: Clock
  readonly log: Log
  readonly count: CountEvent
  readonly opened: Opened
}

export interface OpenedFolder extends DataFolder {
  /** Null: the registry is in PostgreSQL. */
  readonly own: Pick<SqliteRegistry, 'notedChanges' | 'noteChanges'> | null
}

export interface OpenedDataFolder {
  readonly folder: OpenedFolder
  readonly vault: Vault
  readonly registry: Registry
  readonly credentialUses: CredentialUseStore
  readonly idempotencyKeys: IdempotencyStore
  /** Registered. */
  readonly nodes: Nodes
  /** Names this node in the list. */
  readonly incarnation: string
  /** Null: this is the only node. */
  readonly shared: Shared | null
}

/** Throws `StartRefused`. */
export async function openDataFolder(options: OpenDataFolderOptions): Promise<OpenedDataFolder> {
  const { config, log, count, opened } = options
  const { dataDir, masterKey } = config
  opened('data folder', lockDataFolder(dataDir))
  const isEmbedded = config.clickhouseUrl === null
  const isRegistryShared = config.databaseUrl !== null
  const folder = inspectFolder({ dataDir, hasMasterKey: masterKey !== null, isEmbedded, isRegistryShared })
  const vault = createVault(loadMasterKey({ dataDir, masterKey }))
  const shared = isRegistryShared ? await openShared({ ...options, vault }, (sentence) => endWith(sentence, log)) : null
  const stores = shared ?? (await openOwnFiles(options, folder))
  const stopCheck = checkLargeFiles({
    dataDir,
    onDamaged: (sentence) => endWith(sentence, log),
    onFailed(cause) {
      count('file_check_failed')
      log.error({ err: cause }, 'database files could not be checked; the check is repeated at the next start')
    },
  })
  opened('file check', stopCheck)
  const { registry, credentialUses, idempotencyKeys, nodes, incarnation } = stores
  const own = 'own' in stores ? stores.own : null
  const complete = (instance: string): void => {
    own?.claim(instance)
    folder.complete(instance)
  }
  const control = { registry, credentialUses, idempotencyKeys, nodes, incarnation }
  return { folder: { ...folder, complete, own }, vault, ...control, shared }
}

type OwnFiles = Omit<OpenedDataFolder, 'folder' | 'vault' | 'shared'> & { readonly own: SqliteRegistry }

async function openOwnFiles(
  { config: { dataDir, nodeName }, clock, log, count, opened }: OpenDataFolderOptions,
  { manifest }: DataFolder,
): Promise<OwnFiles> {
  refuseMoved(dataDir)
  const registry = openSqliteRegistry({
    path: join(dataDir, 'registry.db'),
    clock,
    instance: manifest?.instance ?? null,
  })
  opened('registry', () => registry.close())
  const idempotencyKeys = openSqliteIdempotencyStore({
    path: join(dataDir, 'idempotency.db'),
    clock,
    onDamaged(cause, aside) {
      count('idempotency_reset')
      log.error(
        { err: cause, file: 'idempotency.db', aside },
        'idempotency.db is damaged and was moved aside; if a client repeats a request of the last day, it is executed again',
      )
    },
  })
  opened('idempotency keys', () => idempotencyKeys.close())
  const nodes = createSingleNode(clock)
  // No other process reads this list, so that the name need not survive a restart.
  const incarnation = randomUUID()
  await nodes.register({ incarnation, name: nodeName, version: readVersion(), format: FORMAT, settings: {} })
  const { credentialUses } = registry
  return { registry, credentialUses, idempotencyKeys, nodes, incarnation, own: registry }
}

const EXIT_REFUSED = 2

/** Exits immediately, without a shutdown, so that nothing more is written to damaged files. */
function endWith(sentence: string, log: Log): void {
  log.fatal(sentence)
  process.stderr.write(`tollgate: ${sentence}\n`)
  process.exit(EXIT_REFUSED)
}
