/**
 * Composes the path of a record from the spool through the stream to the store, and the spool for calls that
 * the main thread serves.
 */

import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import type { Holds } from '../backup/control-session.ts'
import type { Config } from '../config.ts'
import type { ThreadSettings } from '../gateway/messages/messages.ts'
import { createStoreHold, keepSegments } from './backup-holds.ts'
import { createLimits, type Limits } from './open-limits.ts'
import { openStores, type Stores } from './open-stores.ts'
import { createPipeline, type Pipeline } from '../stream/topology.ts'
import { laterOf } from '../record/spool-position.ts'
import { createPlatformRecorder, type PlatformRecorder } from '../self-metering/platform-recorder.ts'
import type { OnDamage } from '../record/damage.ts'
import { createSpoolFaultsMemory, openSpoolFaults } from '../record/spool-faults.ts'
import { readBoot, setRunningMark } from '../record/running-mark.ts'
import { agree } from '../recovery/agree.ts'
import type { DataFolder } from '../recovery/folder-parts.ts'
import { createSpoolGaugeMemory, openSpoolGauge, type SpoolGauge } from '../record/spool-gauge.ts'
import { openSpoolReader } from '../record/spool-reader.ts'
import { createSpoolWriter, type SpoolWriter } from '../record/spool-writer.ts'
import type { CountEvent } from '../runtime/event-reasons.ts'
import type { Clock } from '../runtime/clock.ts'
import type { CreateId } from '../runtime/ids.ts'
import type { Opened } from '../runtime/lifecycle.ts'
import type { Log } from '../runtime/log.ts'
import { opening } from '../runtime/start-refused.ts'
import type { Metrics } from '../runtime/metrics.ts'
import { makeFolder } from '../runtime/sync-folder.ts'
import { createFlushLog } from '../store/clickhouse/flush-log.ts'
import { matches, openSqliteCheckpoint } from '../store/sqlite/checkpoint.ts'

export interface StreamOptions {
  readonly config: Config
  readonly metrics: Metrics
  readonly createId: CreateId
  readonly clock: Clock
  readonly log: Log
  readonly count: CountEvent
  readonly onDamage: OnDamage
  readonly opened: Opened
  readonly folder: DataFolder
  /** Number of the registry's last change. */
  readonly registryEnd: () => Promise<number>
}

export interface StreamServices extends Stores {
  /** Started by the caller, once the declarations that serve are known. */
  readonly pipeline: Pipeline
  readonly limits: Limits
  readonly reader: { notify(): void }
  readonly spool: SpoolWriter
  readonly recorder: PlatformRecorder
  readonly gauge: SpoolGauge
  /** Settings of the gateway threads' spools. */
  readonly threadSpools: ThreadSpools
  /** Reason why calls are refused; null if they are not. */
  readonly refusing: () => string | null
  /** Reason why calls of the platform API cannot be recorded; null if they can. */
  readonly cannotRecord: () => string | null
  /** Writers that a backup pauses. */
  readonly holds: Holds
}

type ThreadSpools = Pick<
  ThreadSettings,
  'spoolFolder' | 'spoolAfter' | 'spoolSync' | 'spoolGauge' | 'spoolBytesMax' | 'spoolFaults' | 'spoolExplains'
>

export async function openStream(options: StreamOptions): Promise<StreamServices> {
  const { config, metrics, createId, clock, log, count, onDamage, opened, folder, registryEnd } = options
  const { dataDir } = config
  const calls = metrics.counter('calls_total', 'Calls that were recorded, by API, outcome and class of status', [
    'api',
    'outcome',
    'status',
  ])

  const { clickHouse, isNewStore, riskStore, ...stores } = await openStores({ config, log, count, opened })
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
    registryEnd,
  })
  const { keepSpool, ...kept } = keepSegments(reader)
  const pipeline = createPipeline({
    reader: kept.reader,
    checkpoint,
    flushLog,
    ...stores,
    riskStore,
    requestLog: config.requestLog,
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

  const holds: Holds = {
    holdStore: pipeline.hold,
    keepSpool,
    ...createStoreHold(clickHouse, config),
    spoolShare: () => gauge.share,
    hasMasterKey: config.masterKey === null,
  }

  return {
    ...stores,
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

/** Creates the folders of the spool, so that a file in their place refuses the start. Throws `StartRefused`. */
function makeSpoolFolders(spoolFolder: string, threads: number): void {
  const sources = ['', 'platform', ...Array.from({ length: threads }, (_, thread) => `gateway-${thread}`)]
  for (const source of sources) {
    opening(join(spoolFolder, source), (path) => makeFolder(path, 0o700))
  }
}
