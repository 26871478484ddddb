/**
 * Moves the usage of a folder to a ClickHouse server, for `tollgate migrate --usage`.
 *
 * The calls of the spool are stored in the folder first, as a start would do; then the folder's store is copied. Nothing is removed
 * from the folder. The caller has locked it.
 */

import { hostname } from 'node:os'
import { join } from 'node:path'
import type { RequestLogMode } from '../../pipeline/metering/request-log.ts'
import { agree } from '../../storage/recovery/agree.ts'
import { inspectFolder } from '../../storage/recovery/folder-parts.ts'
import { openStore } from '../../storage/recovery/open-store.ts'
import { systemClock as clock } from '../../foundation/runtime/clock.ts'
import { createLog } from '../../foundation/runtime/log.ts'
import { StartRefused } from '../../foundation/runtime/start-refused.ts'
import type { ClickHouse } from '../../storage/store/clickhouse/client.ts'
import { moveUsage, type MovedPartition } from '../../storage/store/clickhouse/move-usage.ts'
import { lockStart } from '../../storage/store/postgres/start-lock.ts'
import { openSqliteCheckpoint, type SqliteCheckpoint } from '../../storage/store/sqlite/checkpoint.ts'
import { drainSpool } from './drain-spool.ts'
import type { StoreSettings } from './store-settings.ts'

export interface UsageMove {
  readonly folder: string
  readonly store: StoreSettings
  /** PostgreSQL lets one node or command at a time change the schema of the server. */
  readonly databaseUrl: string
  readonly requestLog: RequestLogMode
  readonly registryEnd: number
}

export interface MovedUsage {
  /** Calls of the spool that this run stored. */
  readonly calls: number
  readonly partitions: readonly MovedPartition[]
}

/** Throws `StartRefused`. */
export async function migrateUsage(move: UsageMove): Promise<MovedUsage> {
  const { folder, store, databaseUrl } = move
  if (store.clickhouseUrl === null) throw new StartRefused('--usage needs CLICKHOUSE_URL, where the usage moves to')
  const parts = inspectFolder({ dataDir: folder, hasMasterKey: true, isEmbedded: true })
  if (parts.manifest?.isEmbedded === false)
    throw new StartRefused(`${folder} has no store of its own: its usage is on a ClickHouse server already`)
  // First, so that a wrong address changes nothing.
  const endStart = await lockStart({ url: databaseUrl, nodeName: hostname() })
  const { client: target } = await openStore({ dataDir: folder, ...store }).finally(endStart)
  try {
    const { client: source, isNew } = await openStore({ dataDir: folder, clickhouseUrl: null })
    try {
      const path = join(folder, 'checkpoint.db')
      const checkpoint = openSqliteCheckpoint({ path, newInstance: () => refuseUnused(folder) })
      try {
        const calls = await storeSpool(move, parts, { source, isNew, checkpoint })
        const { instance } = checkpoint
        return { calls, partitions: await moveUsage({ source, target, instance, nowMs: clock.nowMs() }) }
      } finally {
        checkpoint.close()
      }
    } finally {
      await source.close()
    }
  } finally {
    await target.close()
  }
}

function refuseUnused(folder: string): never {
  throw new StartRefused(`${folder} has no checkpoint.db: the service has never started; run migrate without --usage`)
}

interface Opened {
  readonly source: ClickHouse
  readonly isNew: boolean
  readonly checkpoint: SqliteCheckpoint
}

/** Returns the number of calls. */
async function storeSpool(
  { folder: dataDir, requestLog, registryEnd }: UsageMove,
  parts: ReturnType<typeof inspectFolder>,
  { source: client, isNew, checkpoint }: Opened,
): Promise<number> {
  const log = createLog('warn')
  await agree({
    dataDir,
    spoolFolder: join(dataDir, 'spool'),
    folder: parts,
    client,
    isNewStore: isNew,
    checkpoint,
    registryEnd,
    shared: null,
    nowMs: clock.nowMs(),
    log,
    count: () => {},
  })
  const end = async (): Promise<number> => registryEnd
  const { calls } = await drainSpool({ dataDir, client, checkpoint, requestLog, registryEnd: end, clock, log })
  return calls
}

/** Describes what has moved, per table. */
export function describeUsage({ calls, partitions }: MovedUsage, server: string): readonly string[] {
  const tables = Map.groupBy(partitions, ({ table }) => table)
  const rows = [...tables].map(([table, moved]) => {
    const there = moved.filter(({ isNew }) => !isNew).length
    const ids = moved.map(({ id }) => id)
    const before = there === 0 ? '' : `, ${there} of them earlier`
    return `  ${table.padEnd(22)}${moved.length} ${moved.length === 1 ? 'part' : 'parts'} (${ids[0]} to ${ids.at(-1)})${before}`
  })
  return [
    calls === 0 ? 'The spool held no call that was not stored.' : `Stored ${calls} calls of the spool in the folder.`,
    rows.length === 0 ? 'The store holds no usage.' : `Moved the usage to ${server}, and compared counts and sums:`,
    ...rows,
  ]
}
