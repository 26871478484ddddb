/**
 * A file that is in the data folder while the service runs, so that the next start can tell that the power was cut.
 *
 * A process that is killed loses nothing that it wrote; a power cut takes what was not synced, and what is gone from
 * the end of the spool leaves no trace there. A mark of an earlier boot of the machine is that trace: unless every
 * record was synced, calls may be missing, and this is reported. A clean stop brings the spool to the disk and removes
 * the mark. A folder that was copied from a running service carries the mark along, and is reported too.
 *
 * Boots are told apart by Linux's boot id. On systems without one, power cuts are not recognised.
 */

import { existsSync, readFileSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { syncFolder, writeWhole } from '../runtime/sync-folder.ts'
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
/** From the most careful to the least. */
const SYNCS: readonly SpoolSync[] = ['always', 'second', 'never']
/** The longest time from a record to its sync with `second`: the period, and as long again for the sync itself. */
const SYNC_WITHIN_MS = 2_000

/** Reports an earlier power cut and sets the mark, before anything is recorded. Returns how to remove the mark. */
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
  // Killed in the same boot: what that process has not synced is still at risk.
  const kept = isSameBoot && found ? found : null
  const mark: Mark = {
    version: 1,
    boot,
    sinceMs: kept?.sinceMs ?? nowMs,
    sync: SYNCS[Math.max(SYNCS.indexOf(sync), SYNCS.indexOf(kept?.sync ?? sync))]!,
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
 * No record before this is missing. With a sync a second, the loss begins shortly before the cut, and the cut was after
 * the last change of any file.
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
