/**
 * What happened: the way of a record from the spool through the pipeline into the store, and the spool
 * of the main thread's own calls.
 */

import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import type { Holds } from '../backup/control-session.ts'
import { PLATFORM_API } from '../domain/platform-api.ts'
import type { Config } from '../config.ts'
import type { ThreadSettings } from '../gateway/messages/messages.ts'
import { createLimits, type Limits } from './open-limits.ts'
import { flushToken } from '../store/flush-token.ts'
import { createPipeline, type Pipeline } from '../stream/topology.ts'
import { laterOf } from '../record/spool-position.ts'
import { createPlatformRecorder, type PlatformRecorder } from '../self-metering/platform-recorder.ts'
import type { OnDamage } from '../record/damage.ts'
import { createSpoolFaultsMemory, openSpoolFaults } from '../record/spool-faults.ts'
import { readBoot, setRunningMark } from '../record/running-mark.ts'
import { agree } from '../recovery/agree.ts'
import type { DataFolder } from '../recovery/folder-parts.ts'
import { openStore } from '../recovery/open-store.ts'
import { createSpoolGaugeMemory, openSpoolGauge, type SpoolGauge } from '../record/spool-gauge.ts'
import { openSpoolReader, type SpoolReader } from '../record/spool-reader.ts'
import { createSpoolWriter, type SpoolWriter } from '../record/spool-writer.ts'
import type { Clock } from '../runtime/clock.ts'
import type { CreateId } from '../runtime/ids.ts'
import type { Opened } from '../runtime/lifecycle.ts'
import type { Log } from '../runtime/log.ts'
import { opening } from '../runtime/start-refused.ts'
import type { Metrics } from '../runtime/metrics.ts'
import { makeFolder } from '../runtime/sync-folder.ts'
import { createFlushLog } from '../store/clickhouse/flush-log.ts'
import { createStoreFreezer } from '../store/clickhouse/frozen-store.ts'
import { createClickHouseRequestStore } from '../store/clickhouse/request-store.ts'
import { createClickHouseRiskStore } from '../store/clickhouse/risk-store.ts'
import { createClickHouseServiceLevelStore } from '../store/clickhouse/service-level-store.ts'
import { createClickHouseUsageStore } from '../store/clickhouse/usage-store.ts'
import { matches, openSqliteCheckpoint } from '../store/sqlite/checkpoint.ts'
import type { RequestStore } from '../store/request-store.ts'
import type { ServiceLevelStore } from '../store/service-level-store.ts'
import type { UsageStore } from '../store/usage-store.ts'

export interface LedgerOptions {
  readonly config: Config
  readonly metrics: Metrics
  readonly createId: CreateId
  readonly clock: Clock
  readonly log: Log
  readonly count: (reason: string, by?: number) => void
  readonly onDamage: OnDamage
  readonly opened: Opened
  readonly folder: DataFolder
  /** Position of the registry's last change. */
  readonly registryEnd: () => Promise<number>
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
  readonly gauge: SpoolGauge
  /** What the gateway threads need for their spools. */
  readonly threadSpools: ThreadSpools
  /** Why calls are refused; null while they are not. */
  readonly refusing: () => string | null
  /** Why calls of the platform API cannot be recorded; null while they can. */
  readonly cannotRecord: () => string | null
  /** What a backup holds back. */
  readonly holds: Holds
}

type ThreadSpools = Pick<
  ThreadSettings,
  'spoolFolder' | 'spoolAfter' | 'spoolSync' | 'spoolGauge' | 'spoolBytesMax' | 'spoolFaults' | 'spoolExplains'
>

export async function openLedger(options: LedgerOptions): Promise<Ledger> {
  const { config, metrics, createId, clock, log, count, onDamage, opened, folder, registryEnd } = options
  const { dataDir } = config
  const calls = metrics.counter('calls_total', 'Calls that were recorded, by API, outcome and class of status', [
    'api',
    'outcome',
    'status',
  ])

  const { client: clickHouse, isNew: isNewStore } = await openStore(config)
  opened('ClickHouse', () => clickHouse.close())
  const usage = createClickHouseUsageStore(clickHouse)
  const requests = createClickHouseRequestStore(clickHouse)
  const levels = createClickHouseServiceLevelStore(clickHouse)
  const newInstance = (): string => randomBytes(8).toString('hex')
  const checkpoint = openSqliteCheckpoint({ path: join(dataDir, 'checkpoint.db'), newInstance })
  opened('checkpoint', () => checkpoint.close())

  const spoolFolder = join(dataDir, 'spool')
  makeSpoolFolders(spoolFolder, config.gatewayThreads)
  await agree({
    dataDir,
    spoolFolder,
    folder,
    client: clickHouse,
    isNewStore,
    checkpoint,
    registryEnd: await registryEnd(),
    nowMs: clock.nowMs(),
    log,
    count,
  })
  folder.complete(checkpoint.instance)
  const limits = createLimits({ threads: config.gatewayThreads, checkpoint, clock })
  const mark = { dataDir, sync: config.spoolSync, nowMs: clock.nowMs(), boot: readBoot(), onDamage }
  opened('running mark', setRunningMark(mark))
  const gaugeMemory = createSpoolGaugeMemory()
  const gauge = openSpoolGauge(gaugeMemory, config.spoolMaxBytes)
  metrics.measured('spool_used_ratio', 'Share of the spool limit that is used', () => gauge.share)
  const billed = checkpoint.position()
  const pendingTo = checkpoint.pending()?.to ?? {}
  const spoolAfter = [pendingTo, checkpoint.riskPosition(), checkpoint.limitPosition()].reduce(laterOf, billed)
  const faultsMemory = createSpoolFaultsMemory(config.gatewayThreads + 1)
  const faults = openSpoolFaults(faultsMemory)
  /** Behind those of the gateway threads. */
  const own = config.gatewayThreads
  const reader = openSpoolReader({
    folder: spoolFolder,
    gauge,
    billed,
    onDamage,
    onTornTail(path, bytes) {
      count('spool_torn_tail')
      log.warn({ path, bytes }, 'the end of a spool segment was torn and is passed over')
    },
  })
  opened('spool reader', () => reader.close())
  const flushLog = createFlushLog({
    client: clickHouse,
    instance: () => checkpoint.instance,
    nowMs: clock.nowMs,
    tokenOf: (table, flush) => flushToken(table, checkpoint.instance, flush),
    registryEnd,
  })
  const { keepSpool, ...kept } = keepSegments(reader)
  const pipeline = createPipeline({
    reader: kept.reader,
    checkpoint,
    flushLog,
    usage,
    levels,
    requests,
    requestLog: config.requestLog,
    riskStore: createClickHouseRiskStore(clickHouse),
    rules: config.riskRules,
    limits: limits.ledger,
    promises: limits.declarations.promises,
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
    after: spoolAfter['platform'],
    sync: config.spoolSync,
    gauge,
    clock,
    ...(config.requestLog !== 'off' && { explanations: { onDropped: () => count('explanation_dropped') } }),
    onGrowth: () => reader.notify(),
    onFailure(cause) {
      count('spool_write_failed')
      log.error(
        { err: cause },
        'the spool of the platform API cannot be written; commands are answered 503 until it can',
      )
    },
    onRefusing: (cause) => faults.note(own, cause),
    onUncertain: onDamage,
  })
  opened('platform spool', () => spool.close())
  const recorder = createPlatformRecorder({ spool, clock })

  const threadSpools: ThreadSpools = {
    spoolFolder,
    spoolAfter,
    spoolSync: config.spoolSync,
    spoolGauge: gaugeMemory,
    spoolBytesMax: config.spoolMaxBytes,
    spoolFaults: faultsMemory,
    spoolExplains: config.requestLog !== 'off',
  }

  function refusing(): string | null {
    const { reason } = faults
    if (reason !== null) return `The spool cannot be written (${reason}); calls are answered 503 until it can.`
    if (!gauge.isFull) return null
    return 'The spool has reached SPOOL_MAX_BYTES; calls are answered 503 until the store has taken records in.'
  }

  const freezer = createStoreFreezer({
    client: clickHouse,
    url: config.clickhouseUrl,
    folder: join(dataDir, 'clickhouse'),
    leaveOut: PLATFORM_API,
  })
  const holds: Holds = {
    holdStore: pipeline.hold,
    keepSpool,
    freezeStore: () => freezer.freeze('backup'),
    thawStore: freezer.thaw,
    spoolShare: () => gauge.share,
    hasMasterKey: config.masterKey === null,
  }

  return {
    usage,
    levels,
    requests,
    pipeline,
    limits,
    reader,
    spool,
    recorder,
    gauge,
    threadSpools,
    refusing,
    cannotRecord: () => faults.reasonOf(own),
    holds,
  }
}

/** Before a reader or a gateway thread meets what is no folder. Throws `StartRefused`. */
function makeSpoolFolders(spoolFolder: string, threads: number): void {
  const sources = ['', 'platform', ...Array.from({ length: threads }, (_, thread) => `gateway-${thread}`)]
  for (const source of sources) {
    opening(join(spoolFolder, source), (path) => makeFolder(path, 0o700))
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
