/**
 * Consistent copies of SQLite files while another process writes.
 *
 * A read transaction fixes the moment of the copy; SQLite's backup API then copies the pages of that moment, however long it takes.
 * The copy is one file: its write-ahead log is merged into it.
 */

import { DatabaseSync, backup } from 'node:sqlite'
import { StartRefused, toStartRefused } from '../../../foundation/runtime/start-refused.ts'
import type { PendingFlush, SpoolPosition } from '../checkpoint.ts'

export interface Snapshot {
  /** Copies what was committed when the snapshot was opened, and checks the copy. Throws `StartRefused`. */
  copyTo(path: string): Promise<void>
  close(): void
}

export function openSnapshot(path: string): Snapshot {
  const database = guarded(path, () => new DatabaseSync(path, { readOnly: true }))
  guarded(path, () => database.exec('PRAGMA busy_timeout = 5000; BEGIN; SELECT count(*) FROM sqlite_schema'))
  return {
    async copyTo(target) {
      try {
        await backup(database, target, { rate: 2 ** 30 })
      } catch (cause) {
        throw toStartRefused(path, cause)
      }
      mergeLogAndCheck(target, path)
    },
    close: () => database.close(),
  }
}

function mergeLogAndCheck(copy: string, original: string): void {
  const database = new DatabaseSync(copy)
  try {
    database.exec('PRAGMA synchronous = FULL; PRAGMA journal_mode = DELETE')
    const [row] = database.prepare('PRAGMA quick_check(1)').all() as { quick_check: string }[]
    if (row?.quick_check === 'ok') return
    throw new StartRefused(`${original} is damaged (${row?.quick_check}); restore it from an earlier backup`)
  } catch (cause) {
    throw toStartRefused(copy, cause)
  } finally {
    database.close()
  }
}

export interface CheckpointState {
  readonly instance: string
  readonly flushes: number
  readonly position: SpoolPosition
  readonly pending: PendingFlush | null
}

/** Reads the state of the checkpoint at `path` without changing the file. */
export function readCheckpointState(path: string): CheckpointState {
  const database = guarded(path, () => new DatabaseSync(path, { readOnly: true }))
  try {
    const rows = database.prepare('SELECT name, value FROM state').all() as { name: string; value: string }[]
    const values = new Map(rows.map(({ name, value }) => [name, JSON.parse(value) as unknown]))
    return {
      instance: (values.get('instance') as string | undefined) ?? '',
      flushes: (values.get('flushes') as number | undefined) ?? 0,
      position: (values.get('position') as SpoolPosition | undefined) ?? {},
      pending: (values.get('pending') as PendingFlush | undefined) ?? null,
    }
  } finally {
    database.close()
  }
}

/** Reads the position of the last change of the registry at `path` without changing the file. */
export function readChange(path: string): number {
  const database = guarded(path, () => new DatabaseSync(path, { readOnly: true }))
  try {
    const row = database.prepare('SELECT coalesce(sum(seq), 0) AS change FROM sqlite_sequence').get()
    return Number(row?.['change'] ?? 0)
  } catch (cause) {
    throw toStartRefused(path, cause)
  } finally {
    database.close()
  }
}

function guarded<T>(path: string, work: () => T): T {
  try {
    return work()
  } catch (cause) {
    throw toStartRefused(path, cause)
  }
}
