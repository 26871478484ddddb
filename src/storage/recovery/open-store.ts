/**
 * Opens the store, migrates its schema, and maps failures to a `StartRefused`.
 *
 * The embedded engine verifies neither its definition files nor some files of its parts, so these are compared with the migrations
 * and with the rows; others it verifies too late. Damaged views and rollups are recreated from the rest. An external server is
 * responsible for its own files.
 */

import { join } from 'node:path'
import { acceptLossCommand } from '../../foundation/runtime/accept-loss.ts'
import { StartRefused } from '../../foundation/runtime/start-refused.ts'
import { openClickHouse, type ClickHouse } from '../store/clickhouse/client.ts'
import { compareDefinitions, isDerived, remakeDerived } from '../store/clickhouse/definitions.ts'
import { tablesOf } from '../store/clickhouse/flush-notes.ts'
import { migrateStore } from '../store/clickhouse/cluster-migrations.ts'
import { openEmbedded } from '../store/clickhouse/open-embedded.ts'
import { detachParts, findPartFaults, type PartFault } from '../store/clickhouse/part-faults.ts'
import { refuseUnusable } from '../store/clickhouse/refuse-unusable.ts'
import { toStoreRefused } from '../store/clickhouse/store-refused.ts'
import { TABLES } from './store-claims.ts'

export interface OpenStoreOptions {
  readonly dataDir: string
  /** Null: embedded. */
  readonly clickhouseUrl: string | null
  /** Cluster of the server, whose tables replicate. Default: none. */
  readonly clickhouseCluster?: string | null
  /** True: detaches parts with damaged files, and leaves missing tables to the caller, instead of refusing the start. */
  readonly isLossAccepted?: boolean
}

export interface OpenedStore {
  readonly client: ClickHouse
  /** True if the store had no tables before. */
  readonly isNew: boolean
  /** Views and rollups that were missing or damaged and were recreated. */
  readonly remade: readonly string[]
}

export const STORE_FOLDER = 'clickhouse'
const REASON_CHARS = 300
const FILES_NAMED_MAX = 5

/** Throws `StartRefused`. */
export async function openStore(options: OpenStoreOptions): Promise<OpenedStore> {
  const { dataDir, clickhouseUrl: url, clickhouseCluster: cluster = null } = options
  const folder = join(dataDir, STORE_FOLDER)
  const remedy = `put back its newest copy, or ${acceptLossCommand('store', dataDir)}`
  let client: ClickHouse | null = null
  try {
    client = url === null ? openEmbedded(folder) : openClickHouse({ url, folder, cluster })
    await refuseUnusable(client, url)
    const isNew = (await tablesOf(client)).length === 0
    await migrateStore(client)
    const remade = url === null ? await checkFiles(client, options, remedy) : []
    if (options.isLossAccepted !== true) await requireTables(client, remedy)
    return { client, isNew, remade }
  } catch (cause) {
    await client?.close()
    throw toStoreRefused({ url, folder }, cause, remedy)
  }
}

/** Returns the views and rollups that were recreated. Throws `StartRefused`. */
async function checkFiles(
  client: ClickHouse,
  { dataDir, isLossAccepted = false }: OpenStoreOptions,
  remedy: string,
): Promise<readonly string[]> {
  const refuse = (sentence: string): never => {
    throw new StartRefused(`${sentence} (${join(dataDir, STORE_FOLDER)}); ${remedy}`)
  }
  const { changedTables, missingTables, lostDerived } = await compareDefinitions(client)
  if (changedTables.length > 0) {
    refuse(
      `the store's definition of ${changedTables.join(', ')} differs from sql/definitions.sql: the .sql file of the table is damaged`,
    )
  }
  // `requireTables` refuses the start.
  if (missingTables.length > 0) return []
  const isDetached = ({ table }: PartFault): boolean => isLossAccepted || isDerived(table)
  let faults = await findPartFaults(client)
  // A part with one fault may hide faults of others.
  while (faults.some(isDetached)) {
    await detachParts(client, faults.filter(isDetached))
    faults = await findPartFaults(client)
  }
  if (faults.length > 0) {
    const files = faults.map(({ table, part, file }) => [table, part, ...(file === null ? [] : [file])].join('/'))
    refuse(`files of the store are damaged: ${files.slice(0, FILES_NAMED_MAX).join(', ')}`)
  }
  await remakeDerived(client, lostDerived)
  return lostDerived
}

/** Throws `StartRefused`. Whatever reads the store afterwards may name any table. */
async function requireTables(client: ClickHouse, remedy: string): Promise<void> {
  const tables = await tablesOf(client)
  const missing = TABLES.filter((table) => !tables.includes(table))
  if (missing.length > 0) throw new StartRefused(`the store lacks ${missing.join(', ')}; ${remedy}`)
}

/** Returns the first message that is not empty, of an error or its cause, on one line. */
export function reasonOf(cause: unknown): string {
  const errors = [cause, cause instanceof Error ? cause.cause : undefined].filter((each) => each instanceof Error)
  const text = errors.map(({ message }) => message).find((message) => message !== '') ?? String(cause)
  return text.replaceAll(/\s+/g, ' ').slice(0, REASON_CHARS)
}
