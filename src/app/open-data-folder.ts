/**
 * Opens the data folder at startup: locks it, checks that it is complete, and opens the files of the control
 * plane.
 *
 * Files that are too large to be checked before use are checked while the service runs; if one is damaged, the process exits.
 */

import { join } from 'node:path'
import type { Config } from '../config.ts'
import { inspectFolder, type DataFolder } from '../recovery/folder-parts.ts'
import type { CountEvent } from '../runtime/event-reasons.ts'
import type { Clock } from '../runtime/clock.ts'
import type { Opened } from '../runtime/lifecycle.ts'
import type { Log } from '../runtime/log.ts'
import { createVault, loadMasterKey, type Vault } from '../runtime/vault.ts'
import type { IdempotencyStore } from '../store/idempotency-store.ts'
import type { Registry } from '../store/registry.ts'
import { lockDataFolder } from '../store/sqlite/data-folder.ts'
import { checkLargeFiles } from '../store/sqlite/database-check.ts'
import { openSqliteIdempotencyStore } from '../store/sqlite/idempotency-store.ts'
import { openSqliteRegistry } from '../store/sqlite/registry.ts'

export interface OpenDataFolderOptions {
  readonly config: Config
  readonly clock: Clock
  readonly log: Log
  readonly count: CountEvent
  readonly opened: Opened
}

export interface OpenedDataFolder {
  readonly folder: DataFolder
  readonly vault: Vault
  readonly registry: Registry
  /** Position of the registry before anything of it was read. */
  readonly readFrom: number
  /** Lets the next node start. */
  readonly endStart: () => Promise<void>
  readonly idempotencyKeys: IdempotencyStore
}

/** Throws `StartRefused`. */
export async function openDataFolder(options: OpenDataFolderOptions): Promise<OpenedDataFolder> {
  const { config, clock, log, count, opened } = options
  const { dataDir, masterKey } = config
  opened('data folder', lockDataFolder(dataDir))
  const isEmbedded = config.clickhouseUrl === null
  const isRegistryShared = config.databaseUrl !== null
  const folder = inspectFolder({ dataDir, hasMasterKey: masterKey !== null, isEmbedded, isRegistryShared })
  const vault = createVault(loadMasterKey({ dataDir, masterKey }))
  const { registry, endStart } = await openRegistry(options)
  opened('registry', () => registry.close())
  opened('start', endStart)
  const readFrom = await registry.end()
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
  const stopCheck = checkLargeFiles({
    dataDir,
    onDamaged: (sentence) => endWith(sentence, log),
    onFailed(cause) {
      count('file_check_failed')
      log.error({ err: cause }, 'database files could not be checked; the check is repeated at the next start')
    },
  })
  opened('file check', stopCheck)
  return { folder, vault, registry, readFrom, endStart, idempotencyKeys }
}

/** Throws `StartRefused`. */
async function openRegistry(options: OpenDataFolderOptions): Promise<Pick<OpenedDataFolder, 'registry' | 'endStart'>> {
  const { config, clock, log, count } = options
  const { dataDir, databaseUrl: url, nodeName } = config
  if (url === null) {
    return { registry: openSqliteRegistry({ path: join(dataDir, 'registry.db'), clock }), endStart: async () => {} }
  }
  // A single node starts sooner without these.
  const { openPostgresRegistry } = await import('../store/postgres/registry.ts')
  const { lockStart } = await import('../store/postgres/start-lock.ts')
  const registry = await openPostgresRegistry({
    url,
    nodeName,
    clock,
    onFailed(cause) {
      count('registry_connection_failed')
      log.error({ err: cause }, 'a connection to PostgreSQL failed and is opened again; calls are served meanwhile')
    },
    onRewound: () =>
      endWith('PostgreSQL lacks changes that this node has applied: it was restored, or a standby took over', log),
  })
  return { registry, endStart: await lockStart({ url, nodeName }) }
}

const EXIT_REFUSED = 2

/** Exits immediately, without a shutdown, so that nothing more is written to damaged files. */
function endWith(sentence: string, log: Log): void {
  log.fatal(sentence)
  process.stderr.write(`tollgate: ${sentence}\n`)
  process.exit(EXIT_REFUSED)
}
