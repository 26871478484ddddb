/**
 * Composes the spool: the memory in which the threads share its size and its faults, the reader, and the writer for calls that the
 * main thread serves.
 */

import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import type { Config } from './config.ts'
import type { ThreadSettings } from '../gateway/messages/messages.ts'
import type { OnDamage } from '../storage/spool/damage.ts'
import { readBoot, setRunningMark } from '../storage/spool/running-mark.ts'
import { createSpoolFaultsMemory, openSpoolFaults, type SpoolFaults } from '../storage/spool/spool-faults.ts'
import { createSpoolGaugeMemory, openSpoolGauge, type SpoolGauge } from '../storage/spool/spool-gauge.ts'
import { laterOf } from '../storage/spool/spool-position.ts'
import { openSpoolReader, type OpenSpoolReader } from '../storage/spool/spool-reader.ts'
import { createSpoolWriter, type SpoolWriter } from '../storage/spool/spool-writer.ts'
import type { CountEvent } from '../foundation/runtime/event-reasons.ts'
import type { Clock } from '../foundation/runtime/clock.ts'
import type { Opened } from '../foundation/runtime/lifecycle.ts'
import type { Log } from '../foundation/runtime/log.ts'
import type { Metrics } from '../foundation/runtime/metrics.ts'
import { opening } from '../foundation/runtime/start-refused.ts'
import { makeFolder } from '../foundation/runtime/sync-folder.ts'
import type { SpoolPosition } from '../storage/store/checkpoint.ts'
import type { SqliteCheckpoint } from '../storage/store/sqlite/checkpoint.ts'

export interface SpoolOptions {
  readonly config: Config
  readonly metrics: Metrics
  readonly clock: Clock
  readonly log: Log
  readonly count: CountEvent
  readonly onDamage: OnDamage
  readonly opened: Opened
}

export interface Spool {
  readonly gauge: SpoolGauge
  readonly faults: SpoolFaults
  readonly reader: OpenSpoolReader
  readonly threadSpoolSettings: ThreadSpoolSettings
}

/** Settings of the gateway threads' spools. */
export type ThreadSpoolSettings = Pick<
  ThreadSettings,
  | 'spoolFolder'
  | 'spoolAfter'
  | 'spoolInstance'
  | 'spoolSync'
  | 'spoolGauge'
  | 'spoolBytesMax'
  | 'spoolFaults'
  | 'spoolExplains'
>

export const spoolFolderOf = (dataDir: string): string => join(dataDir, 'spool')

/** Index of the platform's writer in the memory of the faults. The gateway threads use 0 to gatewayThreads − 1. */
export const platformFaultIndex = ({ gatewayThreads }: Pick<Config, 'gatewayThreads'>): number => gatewayThreads

/** Creates the folders of the spool, so that startup fails if a file has the name of one. Throws `StartRefused`. */
export function makeSpoolFolders({ dataDir, gatewayThreads }: Config): void {
  const sources = ['', 'platform', ...Array.from({ length: gatewayThreads }, (_, thread) => `gateway-${thread}`)]
  for (const source of sources) {
    opening(join(spoolFolderOf(dataDir), source), (path) => makeFolder(path, 0o700))
  }
}

/** Sets the running mark, creates the shared memory, and opens the spool for reading from the last billed position. */
export function openSpool(checkpoint: SqliteCheckpoint, options: SpoolOptions): Spool {
  const { config, metrics, clock, log, count, onDamage, opened } = options
  const { dataDir, spoolSync, spoolMaxBytes } = config
  const spoolFolder = spoolFolderOf(dataDir)
  const removeMark = setRunningMark({ dataDir, sync: spoolSync, nowMs: clock.nowMs(), boot: readBoot(), onDamage })
  opened('running mark', removeMark)
  const spoolGauge = createSpoolGaugeMemory()
  const gauge = openSpoolGauge(spoolGauge, spoolMaxBytes)
  metrics.measured('spool_used_ratio', 'Share of the spool limit that is used', () => gauge.share)
  const spoolFaults = createSpoolFaultsMemory(config.gatewayThreads + 1)
  const reader = openSpoolReader({
    folder: spoolFolder,
    gauge,
    billed: checkpoint.position(),
    onDamage,
    onTornTail(path, bytes) {
      count('spool_torn_tail')
      log.warn({ path, bytes }, 'a spool segment ends with an incomplete record, which is skipped')
    },
  })
  opened('spool reader', () => reader.close())
  const threadSpoolSettings: ThreadSpoolSettings = {
    spoolFolder,
    spoolAfter: lastPositionOf(checkpoint),
    spoolInstance: checkpoint.instance,
    spoolSync,
    spoolGauge,
    spoolBytesMax: spoolMaxBytes,
    spoolFaults,
    spoolExplains: config.requestLog !== 'off',
  }
  return { gauge, faults: openSpoolFaults(spoolFaults), reader, threadSpoolSettings }
}

/** Returns the latest position that any consumer has committed: new segments are numbered after it. */
function lastPositionOf(checkpoint: SqliteCheckpoint): SpoolPosition {
  const pendingTo = checkpoint.pending()?.to ?? {}
  return [pendingTo, checkpoint.riskPosition(), checkpoint.limitPosition()].reduce(laterOf, checkpoint.position())
}

export function openPlatformSpool(
  { gauge, faults, reader, threadSpoolSettings }: Spool,
  options: SpoolOptions,
): SpoolWriter {
  const { config, clock, log, count, onDamage, opened } = options
  const spool = createSpoolWriter({
    folder: join(threadSpoolSettings.spoolFolder, 'platform'),
    requestPrefix: randomBytes(8).toString('hex'),
    after: threadSpoolSettings.spoolAfter['platform'],
    instance: threadSpoolSettings.spoolInstance,
    sync: config.spoolSync,
    gauge,
    clock,
    ...(threadSpoolSettings.spoolExplains && { explanations: { onDropped: () => count('explanation_dropped') } }),
    onGrowth: () => reader.notify(),
    onFailure(cause) {
      count('spool_write_failed')
      log.error(
        { err: cause },
        'the spool of the platform API cannot be written; commands get 503 until writing succeeds',
      )
    },
    onRefusing: (cause) => faults.note(platformFaultIndex(config), cause),
    onUncertain: onDamage,
  })
  opened('platform spool', () => spool.close())
  return spool
}

/** Returns why calls are refused, or null. */
export function spoolRefusal({ faults: { reason }, gauge }: Spool): string | null {
  if (reason !== null) return `The spool cannot be written (${reason}); calls get 503 until writing succeeds.`
  if (!gauge.isFull) return null
  return 'The spool has reached SPOOL_MAX_BYTES; calls get 503 until the store accepts records.'
}
