/**
 * Opens the stores that the platform reads, with connections of their own for reads, and keeps them up to date in the background.
 */

import { join } from 'node:path'
import type { Config } from './config.ts'
import type { Job } from '../control/command/claimed-job.ts'
import type { RunJob } from './node-jobs.ts'
import { STORE_FOLDER } from '../storage/recovery/open-store.ts'
import type { Clock } from '../foundation/runtime/clock.ts'
import type { CountEvent } from '../foundation/runtime/event-reasons.ts'
import type { Opened } from '../foundation/runtime/lifecycle.ts'
import type { Log } from '../foundation/runtime/log.ts'
import { dropAbandoned } from '../storage/store/clickhouse/aside-tables.ts'
import { openClickHouse, type ClickHouse } from '../storage/store/clickhouse/client.ts'
import { createReaders, type Readers } from '../storage/store/clickhouse/readers.ts'
import { createClickHouseRequestStore } from '../storage/store/clickhouse/request-store.ts'
import { createRetention, type Retention } from '../storage/store/clickhouse/retention.ts'
import { createClickHouseRiskStore } from '../storage/store/clickhouse/risk-store.ts'
import { createRollups, NOTHING_ROLLED, type Rollups } from '../storage/store/clickhouse/rollups.ts'
import { createClickHouseServiceLevelStore } from '../storage/store/clickhouse/service-level-store.ts'
import { createClickHouseStatementStore } from '../storage/store/clickhouse/statement-store.ts'
import { createClickHouseUsageStore } from '../storage/store/clickhouse/usage-store.ts'
import type { FollowedLog, RequestStore } from '../storage/store/request-store.ts'
import type { KeptUsage } from '../storage/store/retention.ts'
import type { RiskStore } from '../storage/store/risk-store.ts'
import type { ServiceLevelStore } from '../storage/store/service-level-store.ts'
import type { StatementStore } from '../storage/store/statement-store.ts'
import type { UsageStore } from '../storage/store/usage-store.ts'

export interface OpenUsageOptions {
  readonly config: Pick<Config, 'dataDir' | 'clickhouseUrl' | 'clickhouseCluster' | 'databaseUrl' | 'retentionDays'>
  /** As read from the store. */
  readonly kept: KeptUsage
  readonly clock: Clock
  readonly log: Log
  readonly count: CountEvent
  readonly opened: Opened
  readonly runJob: RunJob
}

export interface OpenedUsage {
  readonly usage: UsageStore
  readonly statements: StatementStore
  readonly levels: ServiceLevelStore
  readonly requests: RequestStore & FollowedLog
  readonly riskStore: RiskStore
  /** All connections opened here. */
  readonly connections: readonly ClickHouse[]
}

/** Connections for reads of usage, and as many for all other reads, so that neither delays the other. */
const READERS = 2
/** The work of a start comes first. */
const FIRST_MS = 5_000
const EVERY_MS = 600_000

export function openUsage(client: ClickHouse, options: OpenUsageOptions): OpenedUsage {
  const { newParts } = client
  const connections: ClickHouse[] = []
  const connect = (): ClickHouse => {
    const connection = openConnection(options)
    connections.push(connection)
    return connection
  }
  const background = Object.assign(connect(), { newParts })
  const canceller = connect()
  const open = (): Readers =>
    createReaders(
      Array.from({ length: READERS }, () => connect()),
      { canceller },
    )
  const [readers, others] = [open(), open()]
  // A node does not know which closed days another one still writes, and a replica does not know which rollups it lacks: both read the
  // hourly totals instead.
  const hasRollups = options.config.databaseUrl === null && client.cluster === null
  const rollups = hasRollups ? createRollups(background) : NOTHING_ROLLED
  const retention = createRetention({ client: background, days: options.config.retentionDays, kept: options.kept })
  const kept = (): KeptUsage => retention.kept
  const usage = createClickHouseUsageStore(client, { readers, rollups, kept })
  const statements = createClickHouseStatementStore({ client: background, readers, usage, kept, priced: rollups })
  const dropsAbandoned = async (signal: AbortSignal): Promise<void> =>
    void (await dropAbandoned(background, options.clock.nowMs(), signal))
  void options.runJob('rollups of usage', () =>
    createUpkeep({ rollups, statements, retention, dropsAbandoned }, options),
  )
  return {
    usage,
    statements,
    levels: createClickHouseServiceLevelStore(client, others),
    requests: createClickHouseRequestStore(client, others),
    riskStore: createClickHouseRiskStore(client, others),
    connections,
  }
}

function openConnection({ config, opened }: OpenUsageOptions): ClickHouse {
  const { clickhouseUrl: url, clickhouseCluster: cluster } = config
  const client = openClickHouse({ url, cluster, folder: join(config.dataDir, STORE_FOLDER) })
  opened('connection to ClickHouse', () => client.close())
  return client
}

interface Upkeep {
  readonly rollups: Rollups
  readonly statements: StatementStore
  readonly retention: Retention
  readonly dropsAbandoned: (signal: AbortSignal) => Promise<void>
}

function createUpkeep(
  { rollups, statements, retention, dropsAbandoned }: Upkeep,
  { clock, log, count }: OpenUsageOptions,
): Job {
  const stopping = new AbortController()
  const { signal } = stopping
  const onMonth = (month: string, days: number): void =>
    log.info({ month, days }, 'totals of closed days are rolled up')
  let current = Promise.resolve()

  async function run(): Promise<void> {
    if (signal.aborted) return
    try {
      await dropsAbandoned(signal)
      await rollups.roll(clock.nowMs(), { signal, onMonth })
      await statements.close(clock.nowMs(), signal)
    } catch (err) {
      if (signal.aborted) return
      count('usage_rollup_failed')
      log.error({ err }, 'totals of closed days could not be rolled up; summaries stay exact; retrying in ten minutes')
    }
  }

  async function expire(): Promise<void> {
    if (signal.aborted) return
    const onRemoved = (table: string, period: string): void =>
      log.info({ table, period }, 'rows whose retention has ended are removed')
    try {
      await retention.expire(clock.nowMs(), { signal, onRemoved })
    } catch (err) {
      if (signal.aborted) return
      count('retention_failed')
      log.error({ err }, 'rows whose retention has ended could not be removed; they stay; retrying in ten minutes')
    }
  }

  const work = (): void => {
    current = current.then(run).then(expire)
  }
  const timers: (() => void)[] = []
  return {
    start: async () => void timers.push(clock.after(FIRST_MS, work), clock.every(EVERY_MS, work)),
    stop() {
      for (const cancel of timers) cancel()
      stopping.abort()
      return current
    },
  }
}
