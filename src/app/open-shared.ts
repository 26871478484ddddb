/** Opens what several nodes share in PostgreSQL, and joins them: a node registers first, and reads afterwards. */

import type { Config } from '../config.ts'
import { readIncarnation } from '../nodes/incarnation.ts'
import { createClockWatch } from '../nodes/clock-watch.ts'
import { compareAtStart } from '../nodes/compare-settings.ts'
import { createStalenessWatch, type StalenessWatch } from '../nodes/staleness-watch.ts'
import type { CountEvent } from '../runtime/event-reasons.ts'
import type { Clock } from '../runtime/clock.ts'
import type { Opened } from '../runtime/lifecycle.ts'
import type { Log } from '../runtime/log.ts'
import type { Vault } from '../runtime/vault.ts'
import type { Addresses } from '../settings/addresses.ts'
import { readVersion } from '../settings/information-flags.ts'
import { hashSharedSettings } from '../settings/shared-settings.ts'
import { FORMAT } from '../store/nodes.ts'
import type { Postgres } from '../store/postgres/open-postgres.ts'

export interface Shared extends Omit<Postgres, 'close'> {
  /** Names this node in claims. */
  readonly incarnation: string
  /** Position of the registry before anything of it was read. */
  readonly readFrom: number
  /** Null: the node serves calls without the registry, however long. */
  readonly freshness: StalenessWatch | null
  /** Lets the next node start. */
  readonly endStart: () => Promise<void>
}

export interface SharedOptions {
  readonly config: Config
  readonly addresses: Addresses
  readonly vault: Pick<Vault, 'keyedHash'>
  readonly clock: Clock
  readonly log: Log
  readonly count: CountEvent
  readonly opened: Opened
}

/** Throws `StartRefused`. `end` ends the process at once. */
export async function openShared(options: SharedOptions, end: (sentence: string) => void): Promise<Shared> {
  const { config, addresses, vault, clock, log, count, opened } = options
  const { databaseUrl: url, nodeName, dataDir, maxStalenessSeconds } = config
  if (url === null) throw new Error('a single node shares nothing')
  // A single node starts sooner without these.
  const { openPostgres } = await import('../store/postgres/open-postgres.ts')
  const { lockStart } = await import('../store/postgres/start-lock.ts')
  const maxStalenessMs = maxStalenessSeconds === null ? null : maxStalenessSeconds * 1_000
  const freshness = maxStalenessMs === null ? null : createStalenessWatch({ ...options, maxStalenessMs })
  const postgres = await openPostgres({
    url,
    nodeName,
    clock,
    staleAfterMs: maxStalenessMs,
    ...(freshness !== null && { onFresh: freshness.onFresh }),
    onClockOffset: createClockWatch(options),
    onFailed(cause) {
      count('registry_connection_failed')
      log.error({ err: cause }, 'a connection to PostgreSQL failed and is opened again; calls are served meanwhile')
    },
    onRewound: () =>
      end('PostgreSQL lacks changes that this node has applied: it was restored, or a standby took over'),
    onUnreadableSignal: () => count('risk_signal_unreadable'),
    onReplaced: () => end(`another process runs with a copy of DATA_DIR ${dataDir}`),
  })
  opened('PostgreSQL', postgres.close)
  const endStart = await lockStart({ url, nodeName })
  opened('start', endStart)
  const { registry, nodes } = postgres
  const incarnation = readIncarnation(dataDir)
  const settings = hashSharedSettings(config, addresses, vault.keyedHash)
  await compareAtStart({ ...options, nodes, incarnation, settings, mayDiffer: config.addressesMayDiffer })
  await nodes.register({ incarnation, name: nodeName, version: readVersion(), format: FORMAT, settings })
  opened('list of nodes', () => nodes.leave())
  return { ...postgres, incarnation, freshness, readFrom: await registry.end(), endStart }
}
