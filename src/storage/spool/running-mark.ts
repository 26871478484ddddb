/**
 * A marker file that exists while the service runs, so that the next start detects a power cut.
 *
 * A killed process loses nothing that it wrote. A power cut loses unsynced data, and records that are missing from the end of the
 * spool leave no trace there. A marker from an earlier boot of the machine is that trace: unless every record was synced, calls
 * may be missing, and the start reports this. A clean stop syncs the spool and removes the marker. A copy of the folder of a
 * running service contains the marker and is reported too.
 *
 * The boot id of Linux identifies a boot. Systems without a boot id do not detect power cuts.
 */

import { existsSync, readFileSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { syncFolder, writeWhole } from '../../foundation/runtime/sync-folder.ts'
import type { OnDamage } from './damage.ts'
import { foldersIn, segmentsIn, syncSpool } from './spool-folder.ts'
import { segmentName } from './segment-name.ts'
import type { SpoolSync } from './spool-writer-options.ts'

interface Mark {
  readonly version: 1
  /** '' if the system has no boot id. */
  readonly boot: string
  readonly sinceMs: number
  readonly sync: SpoolSync
}

export interface RunningMarkOptions {
  readonly dataDir: string
  readonly sync: SpoolSync
  readonly nowMs: number
  readonly boot: string
  readonly onDamage: OnDamage
}

const NAME = 'running'
/** In order of decreasing durability. */
const SYNCS: readonly SpoolSync[] = ['always', 'second', 'never']
/** Upper bound from a record to its sync with `second`: the period, and the same time for the sync itself. */
const SYNC_WITHIN_MS = 2_000

/** Reports an earlier power cut and writes the marker, before anything is recorded. Returns a function that removes the marker. */
export function setRunningMark({ dataDir, sync, nowMs, boot, onDamage }: RunningMarkOptions): () => void {
  const path = join(dataDir, NAME)
  const found = existsSync(path) ? readMark(path) : undefined
  const isSameBoot = found?.boot === boot
  if (found === null) {
    const what = `${NAME} is damaged, so that it is unknown whether the power was cut.`
    onDamage({ file: NAME, what, records: 0, isExact: false, fromMs: null, toMs: nowMs })
  } else if (found !== undefined && !isSameBoot && found.sync !== 'always') {
    const what = `The machine stopped while the service ran with SPOOL_SYNC=${found.sync}: the last records may not have reached the disk.`
    onDamage({ file: 'spool', what, records: 0, isExact: false, fromMs: lossFromMs(dataDir, found), toMs: nowMs })
  }
  // Killed in the same boot: unsynced data of that process is still at risk.
  const earlier = isSameBoot && found ? found : null
  const mark: Mark = {
    version: 1,
    boot,
    sinceMs: earlier?.sinceMs ?? nowMs,
    sync: SYNCS[Math.max(SYNCS.indexOf(sync), SYNCS.indexOf(earlier?.sync ?? sync))]!,
  }
  writeWhole(path, JSON.stringify(mark))

  return () => {
    syncSpool(join(dataDir, 'spool'))
    rmSync(path)
    syncFolder(dataDir)
  }
}

/** '' if the system has no boot id. */
export function readBoot(): string {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()
  } catch {
    return ''
  }
}

/** Null if it cannot be read. */
function readMark(path: string): Mark | null {
  try {
    const mark = JSON.parse(readFileSync(path, 'utf8')) as Partial<Mark> | null
    const { version, boot, sinceMs, sync } = mark ?? {}
    if (version !== 1 || typeof boot !== 'string' || typeof sinceMs !== 'number') return null
    return sync !== undefined && SYNCS.includes(sync) ? { version, boot, sinceMs, sync } : null
  } catch {
    return null
  }
}

/**
 * Returns the earliest time of a missing record. With one sync per second, the loss begins shortly before the power cut, which
 * was after the last change of any file.
 */
function lossFromMs(dataDir: string, { sync, sinceMs }: Mark): number {
  if (sync === 'never') return sinceMs
  const spool = join(dataDir, 'spool')
  const segments = (existsSync(spool) ? foldersIn(spool) : []).flatMap((source) =>
    segmentsIn(join(spool, source)).map((segment) => join(spool, source, segmentName(segment))),
  )
  const changes = [...segments, join(dataDir, 'checkpoint.db-wal')].filter(existsSync)
  return Math.max(sinceMs, ...changes.map((path) => Math.floor(statSync(path).mtimeMs) - SYNC_WITHIN_MS))
}
