/**
 * Idempotency keys of one node, in a separate file: they are short-lived and not part of the audit log.
 *
 * A claim that cannot be written is refused. The result of a claim stays in memory if the disk refuses it, because the work is done
 * and the caller gets the response. After a restart such a key counts as interrupted.
 */

import { existsSync, renameSync, rmSync } from 'node:fs'
import type { DatabaseSync } from 'node:sqlite'
import type { Clock } from '../../../foundation/runtime/clock.ts'
import type { IdempotencyStore, StoredRequest } from '../idempotency-store.ts'
import { isUnwritable, withWriteRefusal } from './sqlite-error.ts'
import { DatabaseDamaged, openDatabase, toRefusal } from './open-database.ts'

export interface SqliteIdempotencyOptions {
  readonly path: string
  readonly clock: Pick<Clock, 'nowMs'>
  /** A damaged file was moved to `aside`, and a new one is used. */
  readonly onDamaged?: (cause: Error, aside: string) => void
}

const REMEDY = 'remove it: it only holds answers for repeated requests, kept for one day'
const KEPT_MS = 86_400_000
/** Number of expired keys that each claim deletes: more than one, so that they decrease. */
const DELETED_PER_CLAIM = 4
/** Maximum number of results in memory; above it, keys remain claimed. */
const HELD_MAX = 1_000

interface SqliteIdempotencyStore extends IdempotencyStore {
  close(): void
}

/** Moves a damaged file aside, because it holds only the answers of one day. Throws `StartRefused`. */
export function openSqliteIdempotencyStore(options: SqliteIdempotencyOptions): SqliteIdempotencyStore {
  const { path, clock, onDamaged = () => {} } = options
  const database = openOrReplace(path, onDamaged)
  const clear = database.prepare(
    'DELETE FROM kept WHERE key IN (SELECT key FROM kept WHERE at_ms <= ? ORDER BY at_ms LIMIT ?)',
  )
  const deleteExpired = database.prepare('DELETE FROM kept WHERE key = ? AND at_ms <= ?')
  const find = database.prepare('SELECT request_hash, state, answer FROM kept WHERE key = ?')
  const insert = database.prepare("INSERT INTO kept (key, request_hash, state, at_ms) VALUES (?, ?, 'running', ?)")
  const finish = database.prepare("UPDATE kept SET state = 'done', answer = ? WHERE key = ?")
  const release = database.prepare("DELETE FROM kept WHERE key = ? AND state = 'running'")

  /** Answers that are not on disk yet; null: the key was released. */
  const held = new Map<string, string | null>()

  function end(key: string, answer: string | null): void {
    try {
      writeEnd(key, answer)
    } catch (cause) {
      if (!isUnwritable(cause)) throw cause
      if (held.size < HELD_MAX) held.set(key, answer)
    }
  }

  function writeEnd(key: string, answer: string | null): void {
    if (answer === null) release.run(key)
    else finish.run(answer, key)
  }

  /** Writes the results that the disk refused before. */
  function writeHeld(): void {
    for (const [key, answer] of held) {
      writeEnd(key, answer)
      held.delete(key)
    }
  }

  function claim(key: string, requestHash: string): StoredRequest | null {
    const nowMs = clock.nowMs()
    writeHeld()
    clear.run(nowMs - KEPT_MS, DELETED_PER_CLAIM)
    deleteExpired.run(key, nowMs - KEPT_MS)
    const row = find.get(key)
    if (row === undefined) {
      insert.run(key, requestHash, nowMs)
      return null
    }
    const { request_hash: hash, state, answer } = row
    return { requestHash: String(hash), state: state as StoredRequest['state'], answer: answer as string | null }
  }

  return {
    claim: async (key, requestHash) => withWriteRefusal('idempotency keys', () => claim(key, requestHash)),
    runClaimed: (_, work) => work(),
    finish: async (key, answer) => end(key, answer),
    release: async (key) => end(key, null),
    close: () => database.close(),
  }
}

function openOrReplace(path: string, onDamaged: (cause: Error, aside: string) => void): DatabaseSync {
  try {
    return open(path)
  } catch (cause) {
    if (!(cause instanceof DatabaseDamaged)) throw cause
    const aside = `${path}.damaged`
    for (const suffix of ['', '-wal']) moveAside(path + suffix, aside + suffix)
    rmSync(`${path}-shm`, { force: true })
    onDamaged(cause, aside)
    return open(path)
  }
}

function open(path: string): DatabaseSync {
  const { database } = openDatabase({ path, remedy: REMEDY })
  try {
    database.exec(`
      CREATE TABLE IF NOT EXISTS kept (
        key TEXT PRIMARY KEY, request_hash TEXT NOT NULL, state TEXT NOT NULL, answer TEXT, at_ms INTEGER NOT NULL
      ) STRICT, WITHOUT ROWID;
      CREATE INDEX IF NOT EXISTS kept_by_age ON kept (at_ms);
      UPDATE kept SET state = 'cut_off' WHERE state = 'running'`)
    return database
  } catch (cause) {
    database.close()
    throw toRefusal(path, cause, REMEDY)
  }
}

/** Replaces the file that was moved aside before. */
function moveAside(from: string, to: string): void {
  rmSync(to, { force: true })
  if (existsSync(from)) renameSync(from, to)
}
