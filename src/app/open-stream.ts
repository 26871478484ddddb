/**
 * Composes the path of a record from the spool through the stream to the store, and the spool for calls that
 * the main thread serves.
 */

import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import type { Holds } from '../storage/backup/control-session.ts'
import { agree } from '../storage/recovery/agree.ts'
import { completeRows } from '../storage/recovery/recover-store.ts'
import type { OpenedFolder } from './open-data-folder.ts'
import type { SpoolGauge } from '../storage/spool/spool-gauge.ts'
import type { SpoolReader } from '../storage/spool/spool-reader.ts'
import type { SpoolWriter } from '../storage/spool/spool-writer.ts'
import type { Clock } from '../foundation/runtime/clock.ts'
import type { CreateId } from '../foundation/runtime/ids.ts'
import {
  createPlatformRecorder,
  type PlatformRecorder,
} from '../interfaces/platform/self-metering/platform-recorder.ts'
import { createFlushLog } from '../storage/store/clickhouse/flush-log.ts'
import { createLiveRequests, type LiveRequests } from '../pipeline/metering/live-requests.ts'
import { createSharedLiveRequests } from '../pipeline/metering/shared-live-requests.ts'
import type { RequestFeed } from '../storage/store/request-store.ts'
import { createClickHouseNameStore } from '../storage/store/clickhouse/name-store.ts'
import type { NameStore } from '../storage/store/name-store.ts'
import { matches, openSqliteCheckpoint, type SqliteCheckpoint } from '../storage/store/sqlite/checkpoint.ts'
import type { SqliteRegistry } from '../storage/store/sqlite/registry.ts'
import type { PromiseSource } from '../pipeline/service-level/service-evaluator.ts'
import type { BatchObserver } from '../pipeline/stream/pipeline-state.ts'
import { createPipeline, type Pipeline } from '../pipeline/stream/topology.ts'
import { createStoreHold, keepSegments } from './backup-holds.ts'
import type { RunJob } from './node-jobs.ts'
import { openLeases } from './open-leases.ts'
import { createLimits, type Limits } from './open-limits.ts'
import type { Shared } from './open-shared.ts'
import {
  makeSpoolFolders,
  openPlatformSpool,
  openSpool,
  platformFaultIndex,
  spoolFolderOf,
  spoolRefusal,
  type SpoolOptions,
  type ThreadSpoolSettings,
} from './open-spool.ts'
import { openSharedRisks, type SharedRiskServices } from './open-shared-risks.ts'
import { openStores, type OpenedStores, type Stores } from './open-stores.ts'

export interface StreamOptions extends SpoolOptions {
  readonly createId: CreateId
  readonly folder: OpenedFolder
  /** Position of the last change of the registry that this node has received. */
  readonly registryEnd: () => Promise<number>
  readonly runJob: RunJob
  /** Receives the records for the export of telemetry; null: nothing is exported. */
  readonly observer: BatchObserver | null
  /** Null: a single node. */
  readonly shared: Shared | null
}

export interface StreamServices extends Stores {
  /** Started by the caller, once the declarations that serve are known. */
  readonly pipeline: Pipeline
  readonly limits: Limits
  /** Calls as they are recorded. */
  readonly liveRequests: RequestFeed
  readonly reader: { notify(): void }
  readonly spool: SpoolWriter
  readonly recorder: PlatformRecorder
  readonly gauge: SpoolGauge
  /** Settings of the gateway threads' spools. */
  readonly threadSpoolSettings: ThreadSpoolSettings
  /** Reason why calls are refused; null if they are not. */
  readonly refusing: () => string | null
  /** Reason why calls of the platform API cannot be recorded; null if they can. */
  readonly cannotRecord: () => string | null
  /** Stores that hold names of consumers. */
  readonly names: readonly NameStore[]
  /** Writers that a backup pauses. */
  readonly holds: Holds
}

export async function openStream(options: StreamOptions): Promise<StreamServices> {
  const { config, clock, opened } = options
  const { clickHouse, isNewStore, riskStore, ...stores } = await openStores(options)
  const newInstance = (): string => randomBytes(8).toString('hex')
  const checkpoint = openSqliteCheckpoint({ path: join(config.dataDir, 'checkpoint.db'), newInstance })
  opened('checkpoint', () => checkpoint.close())
  makeSpoolFolders(config)
  await checkFolder(options, { clickHouse, isNewStore }, checkpoint)

  const leases = await openLeases(options)
  const limits = createLimits({ threads: config.gatewayThreads, checkpoint, leases, clock })
  const spool = openSpool(checkpoint, options)
  const { keepSpool, reader } = keepSegments(spool.reader)
  const parts = { checkpoint, limits, reader, stores: { ...stores, riskStore, clickHouse } }
  const { shared } = options
  const ownCalls = shared === null ? createLiveRequests({ mode: config.requestLog, clock }) : null
  const liveRequests = ownCalls ?? openSharedLiveRequests(options, stores)
  // A single node detects the risks itself; if it joins others later, it continues from there.
  if (shared === null && checkpoint.signalPosition() !== null) checkpoint.saveSignalPosition(null)
  const { gauge } = spool
  const { levels } = stores
  const { promises } = limits.declarations
  const own = { checkpoint, reader, gauge, riskStore, levels, promises }
  const sharedRisks = shared === null ? null : await openSharedRisks({ ...options, ...own, shared })
  const pipeline = openPipeline(options, { ...parts, ownCalls, sharedRisks })
  const platformSpool = openPlatformSpool(spool, options)
  const holds: Holds = {
    holdStore: pipeline.hold,
    keepSpool,
    ...createStoreHold(clickHouse, config),
    spoolShare: () => spool.gauge.share,
    hasMasterKey: config.masterKey === null,
  }

  return {
    ...stores,
    pipeline,
    limits,
    liveRequests,
    reader: spool.reader,
    spool: platformSpool,
    recorder: createPlatformRecorder({ spool: platformSpool, clock }),
    gauge: spool.gauge,
    threadSpoolSettings: spool.threadSpoolSettings,
    refusing: () => spoolRefusal(spool),
    cannotRecord: () => spool.faults.reasonOf(platformFaultIndex(config)),
    names: [createClickHouseNameStore(clickHouse), checkpoint, ...(shared === null ? [] : [shared.risks])],
    holds,
  }
}

/** Checks that the parts of the data folder belong together, then records that the folder is complete. */
async function checkFolder(
  { config, folder, registryEnd, shared, clock, log, count, onDamage, opened }: StreamOptions,
  { clickHouse, isNewStore }: Pick<OpenedStores, 'clickHouse' | 'isNewStore'>,
  checkpoint: SqliteCheckpoint,
): Promise<void> {
  const { dataDir } = config
  await agree({
    dataDir,
    spoolFolder: spoolFolderOf(dataDir),
    folder,
    client: clickHouse,
    isNewStore,
    checkpoint,
    // The copy of the registry may be older, and has a check of its own.
    registryEnd: shared?.isJoined() === false ? Infinity : await registryEnd(),
    notedChanges: folder.own?.notedChanges() ?? 0,
    shared,
    nowMs: clock.nowMs(),
    log,
    count,
    onDamage,
  })
  folder.complete(checkpoint.instance)
  if (folder.own !== null) opened('notes of the checkpoint', noteChanges(folder.own, checkpoint, clock))
}

/** A minute, so that neither a backup nor a copy of the files of a running service has a checkpoint that is older than the note. */
const NOTED_EVERY_MS = 60_000

/** Lets the registry know how far the checkpoint is, so that an older copy of everything but the registry is detected. */
function noteChanges(
  registry: Pick<SqliteRegistry, 'noteChanges'>,
  checkpoint: SqliteCheckpoint,
  clock: Clock,
): () => void {
  let noted = 0
  const note = (changes: number): void => {
    if (changes === noted) return
    noted = changes
    try {
      registry.noteChanges(changes)
    } catch {
      // The disk is full, perhaps. An earlier note is harmless.
    }
  }
  checkpoint.beginRun(clock.nowMs())
  let before = checkpoint.changes()
  note(before)
  return clock.every(NOTED_EVERY_MS, () => {
    note(before)
    before = checkpoint.changes()
  })
}

interface PipelineParts {
  readonly checkpoint: SqliteCheckpoint
  readonly limits: Limits
  /** Null: streams show the calls of all nodes. */
  readonly ownCalls: LiveRequests | null
  readonly reader: SpoolReader
  readonly stores: Omit<OpenedStores, 'isNewStore'>
  /** Null: a single node. */
  readonly sharedRisks: SharedRiskServices | null
}

function openSharedLiveRequests(
  { config, clock, log, count, opened }: StreamOptions,
  { requests: store }: Stores,
): RequestFeed {
  const feed = createSharedLiveRequests({ mode: config.requestLog, store, clock, log, count })
  opened('streams of calls', () => feed.stop())
  return feed
}

/** One node cannot judge a promise from its part of the calls. */
const NO_PROMISES: PromiseSource = { of: () => [], isAny: false }

function openPipeline(
  options: StreamOptions,
  { checkpoint, limits, ownCalls, reader, stores, sharedRisks }: PipelineParts,
): Pipeline {
  const { config, metrics, createId, clock, log, count, opened, registryEnd } = options
  const calls = metrics.counter('calls_total', 'Calls that were recorded, by API, outcome and class of status', [
    'api',
    'outcome',
    'status',
  ])
  const { clickHouse, ...others } = stores
  const flushLog = createFlushLog({
    client: clickHouse,
    isEmbedded: config.clickhouseUrl === null,
    instance: () => checkpoint.instance,
    nowMs: clock.nowMs,
    registryEnd,
    async completeRows() {
      const made = await completeRows(clickHouse, clock.nowMs())
      if (made !== '') log.error(`the spool lacks records of an interrupted flush: ${made}`)
      return made !== ''
    },
  })
  const pipeline = createPipeline({
    reader,
    checkpoint,
    flushLog,
    ...others,
    requestLog: config.requestLog,
    rules: config.riskRules,
    clearedDays: config.retentionDays.risks,
    limits: limits.ledger,
    promises: sharedRisks === null ? limits.declarations.promises : NO_PROMISES,
    detectsRisks: sharedRisks === null,
    ...(sharedRisks !== null && { held: sharedRisks.held }),
    matches,
    clock,
    createId,
    log,
    count,
    onRead: (batch) => ownCalls?.add(batch),
    telemetry: options.observer,
    onCalls: (counted) => counted.forEach(({ calls: by, ...labels }) => calls.inc(labels, by)),
  })
  opened('pipeline', () => pipeline.stop())
  return sharedRisks === null ? pipeline : withSharedRisks(pipeline, sharedRisks)
}

function withSharedRisks(pipeline: Pipeline, { feed, start }: SharedRiskServices): Pipeline {
  return {
    ...pipeline,
    risks: feed,
    async start() {
      await pipeline.start()
      await start()
    },
  }
}
