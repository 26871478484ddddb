/**
 * What happened: the way of a record from the spool through the pipeline into the store, and the spool
 * of the main thread's own calls.
 */

import { randomBytes } from 'node:crypto'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Holds } from './backup/control-socket.ts'
import { PLATFORM_API } from './catalogue/platform-api.ts'
import type { Config } from './config.ts'
import { createLimits, type Limits } from './limits.ts'
import { createPipeline, type Pipeline } from './pipeline/topology.ts'
import { createPlatformRecorder, type PlatformRecorder } from './platform-recorder.ts'
import { createSpoolGaugeMemory, openSpoolGauge, type SpoolGauge } from './record/spool-gauge.ts'
import { openSpoolReader, type SpoolReader } from './record/spool-reader.ts'
import { createSpoolWriter, type SpoolWriter } from './record/spool-writer.ts'
import type { Clock } from './runtime/clock.ts'
import type { CreateId } from './runtime/ids.ts'
import type { Opened } from './runtime/lifecycle.ts'
import type { Log } from './runtime/log.ts'
import { opening } from './runtime/start-refused.ts'
import type { Metrics } from './runtime/metrics.ts'
import { createStoreFreezer } from './store/clickhouse/frozen-store.ts'
import { openClickHouse, type ClickHouse, type ClickHouseOptions } from './store/clickhouse/client.ts'
import { toStoreRefused } from './store/clickhouse/store-refused.ts'
import { migrate } from './store/clickhouse/migrations.ts'
import { createClickHouseRequestStore } from './store/clickhouse/request-store.ts'
import { createClickHouseRiskStore } from './store/clickhouse/risk-store.ts'
import { createClickHouseServiceLevelStore } from './store/clickhouse/service-level-store.ts'
import { createClickHouseUsageStore } from './store/clickhouse/usage-store.ts'
import { matches, openSqliteCheckpoint } from './store/sqlite/checkpoint.ts'
import type { RequestStore } from './store/request-store.ts'
import type { ServiceLevelStore } from './store/service-level-store.ts'
import type { UsageStore } from './store/usage-store.ts'

export interface LedgerOptions {
  readonly config: Config
  readonly metrics: Metrics
  readonly createId: CreateId
  readonly clock: Clock
  readonly log: Log
  readonly count: (reason: string, by?: number) => void
  readonly opened: Opened
}

export interface Ledger {
  readonly usage: UsageStore
  readonly levels: ServiceLevelStore
  readonly requests: RequestStore
  /** Does not run before it is started: what limits are in force has to be known then. */
  readonly pipeline: Pipeline
  readonly limits: Limits
  readonly reader: { notify(): void }
  readonly spool: SpoolWriter
  readonly recorder: PlatformRecorder
  readonly spoolFolder: string
  readonly gaugeMemory: SharedArrayBuffer
  readonly gauge: SpoolGauge
  /** What a backup holds back. */
  readonly holds: Holds
}

export async function openLedger(options: LedgerOptions): Promise<Ledger> {
  const { config, metrics, createId, clock, log, count, opened } = options
  const { dataDir } = config
  const calls = metrics.counter('calls_total', 'Calls that were recorded, by API, outcome and class of status', [
    'api',
    'outcome',
    'status',
  ])

  const place = { url: config.clickhouseUrl, folder: join(dataDir, 'clickhouse') }
  const clickHouse = await openStore(place, opened)
  const usage = createClickHouseUsageStore(clickHouse)
  const requests = createClickHouseRequestStore(clickHouse)
  const levels = createClickHouseServiceLevelStore(clickHouse)
  const newInstance = (): string => randomBytes(8).toString('hex')
  const checkpoint = opening(join(dataDir, 'checkpoint.db'), (path) => openSqliteCheckpoint({ path, newInstance }))
  opened('checkpoint', () => checkpoint.close())

  const limits = createLimits({ threads: config.gatewayThreads, checkpoint, clock })

  const spoolFolder = join(dataDir, 'spool')
  makeSpoolFolders(spoolFolder, config.gatewayThreads)
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
  const { keepSpool, ...kept } = keepSegments(reader)
  const pipeline = createPipeline({
    reader: kept.reader,
    checkpoint,
    usage,
    levels,
    requests,
    requestLog: config.requestLog,
    riskStore: createClickHouseRiskStore(clickHouse),
    rules: config.riskRules,
    limits: limits.ledger,
    promises: limits.desk.promises,
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
    ...(config.requestLog !== 'off' && { explanations: { onDropped: () => count('explanation_dropped') } }),
    onGrowth: () => reader.notify(),
    onFailure(cause) {
      count('spool_write_failed')
      log.error({ err: cause }, 'the spool cannot be written')
    },
  })
  opened('platform spool', () => spool.close())
  const recorder = createPlatformRecorder({ spool, clock })

  const freezer = createStoreFreezer({ client: clickHouse, ...place, leaveOut: PLATFORM_API })
  const holds: Holds = {
    holdStore: pipeline.hold,
    keepSpool,
    freezeStore: () => freezer.freeze('backup'),
    thawStore: freezer.thaw,
    spoolShare: () => gauge.share,
    hasMasterKey: config.masterKey === null,
  }
  return { usage, levels, requests, pipeline, limits, reader, spool, recorder, spoolFolder, gaugeMemory, gauge, holds }
}

/** Before a reader or a gateway thread meets what is no folder. Throws `StartRefused`. */
function makeSpoolFolders(spoolFolder: string, threads: number): void {
  const sources = ['platform', ...Array.from({ length: threads }, (_, thread) => `gateway-${thread}`)]
  for (const source of sources) {
    opening(join(spoolFolder, source), (path) => mkdirSync(path, { recursive: true, mode: 0o700 }))
  }
}

/** Throws `StartRefused` if the store cannot be opened or does not answer. */
async function openStore(place: ClickHouseOptions, opened: Opened): Promise<ClickHouse> {
  try {
    const clickHouse = openClickHouse(place)
    opened('ClickHouse', () => clickHouse.close())
    await migrate(clickHouse)
    return clickHouse
  } catch (cause) {
    throw toStoreRefused(place, cause)
  }
}

/** A reader whose segments can be kept while a backup copies them; the next release makes up for it. */
function keepSegments(reader: SpoolReader): { readonly reader: SpoolReader; keepSpool: () => () => void } {
  let isKept = false
  return {
    reader: {
      ...reader,
      release(position) {
        if (!isKept) reader.release(position)
      },
    },
    keepSpool() {
      isKept = true
      return () => (isKept = false)
    },
  }
}
