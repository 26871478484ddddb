/** Opens ClickHouse, embedded or as a server, and the stores in it. */

import { join } from 'node:path'
import type { CountEvent } from '../runtime/event-reasons.ts'
import type { Config } from '../config.ts'
import { openStore, STORE_FOLDER } from '../recovery/open-store.ts'
import type { Clock } from '../runtime/clock.ts'
import type { Opened } from '../runtime/lifecycle.ts'
import type { Log } from '../runtime/log.ts'
import { openClickHouse, type ClickHouse } from '../store/clickhouse/client.ts'
import { DamagedParts } from '../store/clickhouse/new-parts.ts'
import { createReaders } from '../store/clickhouse/readers.ts'
import { createRollups, type Rollups } from '../store/clickhouse/rollups.ts'
import { createClickHouseRequestStore } from '../store/clickhouse/request-store.ts'
import { createClickHouseRiskStore } from '../store/clickhouse/risk-store.ts'
import { createClickHouseServiceLevelStore } from '../store/clickhouse/service-level-store.ts'
import { createClickHouseUsageStore } from '../store/clickhouse/usage-store.ts'
import type { RequestStore } from '../store/request-store.ts'
import type { RiskStore } from '../store/risk-store.ts'
import type { ServiceLevelStore } from '../store/service-level-store.ts'
import type { UsageStore } from '../store/usage-store.ts'

export interface Stores {
  readonly usage: UsageStore
  readonly levels: ServiceLevelStore
  readonly requests: RequestStore
}

export interface OpenedStores extends Stores {
  readonly clickHouse: ClickHouse
  readonly isNewStore: boolean
  readonly riskStore: RiskStore
}

export interface StoresOptions {
  readonly config: Config
  readonly clock: Clock
  readonly log: Log
  readonly count: CountEvent
  readonly opened: Opened
}

/** Connections for reads of usage, which never wait for an insert. */
const READERS = 2
const ROLL_AFTER_MS = 5_000
const ROLL_EVERY_MS = 600_000
/** The store keeps the parts that it merged for eight minutes. */
const VERIFY_EVERY_MS = 60_000

export async function openStores(options: StoresOptions): Promise<OpenedStores> {
  const { config, log, count, opened } = options
  const { client, isNew, remade } = await openStore(config)
  opened('ClickHouse', () => client.close())
  opened('verification of the store', verifyMerges(client, options))
  if (remade.length > 0) {
    count('store_view_remade')
    log.error(
      { definitions: remade },
      'views or rollups of the embedded store were missing or damaged and are recreated; no row is lost',
    )
  }
  const [background, ...readers] = openConnections(options, 1 + READERS)
  const rollups = createRollups(Object.assign(background!, { newParts: client.newParts }))
  opened('rollups of usage', keepRolledUp(rollups, options))
  return {
    clickHouse: client,
    isNewStore: isNew,
    usage: createClickHouseUsageStore(client, { readers: createReaders(readers), rollups }),
    levels: createClickHouseServiceLevelStore(client),
    requests: createClickHouseRequestStore(client),
    riskStore: createClickHouseRiskStore(client),
  }
}

function openConnections({ config, opened }: StoresOptions, count: number): readonly ClickHouse[] {
  const folder = join(config.dataDir, STORE_FOLDER)
  return Array.from({ length: count }, () => {
    const client = openClickHouse({ url: config.clickhouseUrl, folder })
    opened('connection to ClickHouse', () => client.close())
    return client
  })
}

/** Returns a function that stops the rollups. */
function keepRolledUp(rollups: Rollups, { clock, log, count }: StoresOptions): () => Promise<void> {
  const stopping = new AbortController()
  let current = Promise.resolve()
  const roll = (): void => {
    current = current
      .then(() =>
        stopping.signal.aborted ? undefined : rollups.roll(clock.nowMs(), { signal: stopping.signal, onMonth }),
      )
      .catch((err: unknown) => {
        if (stopping.signal.aborted) return
        count('usage_rollup_failed')
        log.error(
          { err },
          'totals of closed days could not be rolled up; summaries stay exact but take longer; retrying in ten minutes',
        )
      })
  }
  const onMonth = (month: string, days: number): void =>
    log.info({ month, days }, 'totals of closed days are rolled up')
  const cancelFirst = clock.after(ROLL_AFTER_MS, roll)
  const cancel = clock.every(ROLL_EVERY_MS, roll)
  return () => {
    cancelFirst()
    cancel()
    stopping.abort()
    return current
  }
}

/** Inserts verify their own parts; merges run in the background. Returns a function that stops the verification. */
function verifyMerges({ newParts }: ClickHouse, { clock, log, count }: StoresOptions): () => Promise<void> {
  let current = Promise.resolve()
  const cancel = clock.every(VERIFY_EVERY_MS, () => {
    current = newParts.verify().catch((err: unknown) => {
      if (err instanceof DamagedParts) {
        count('store_parts_repaired')
        log.error({ err }, 'files of the store were incomplete and are repaired; no row is lost')
      } else {
        count('store_verification_failed')
        log.error({ err }, 'new parts of the store could not be verified; retrying in a minute')
      }
    })
  })
  return () => {
    cancel()
    return current
  }
}
