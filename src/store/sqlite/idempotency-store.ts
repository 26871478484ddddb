/**
 * Idempotency keys of one node, in a file of their own: they come and go, and are no part of the audit.
 *
 * A claim that cannot be written is refused. How a claim ended is held in memory if the disk does not take
 * it: the work is done by then, and its caller gets the answer. After a restart such a key counts as cut off.
 */

import { DatabaseSync } from 'node:sqlite'
import type { Clock } from '../../runtime/clock.ts'
import type { IdempotencyStore, KeptRequest } from '../idempotency-store.ts'
import { isUnwritable, written } from './sqlite-error.ts'

export interface SqliteIdempotencyOptions {
  readonly path: string
  readonly clock: Pick<Clock, 'nowMs'>
}

const KEPT_MS = 86_400_000
/** Old ones that each claim clears away: more than one, so that they go faster than they come. */
const CLEARED_AT_ONCE = 4
/** Ends held in memory; keys beyond stay claimed. */
const HELD_MAX = 1_000

export function openSqliteIdempotencyStore({ path, clock }: SqliteIdempotencyOptions): IdempotencyStore {
  const database = new DatabaseSync(path)
  database.exec(`
    PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA busy_timeout = 5000;
    CREATE TABLE IF NOT EXISTS kept (
      key TEXT PRIMARY KEY, request_hash TEXT NOT NULL, state TEXT NOT NULL, answer TEXT, at_ms INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX IF NOT EXISTS kept_by_age ON kept (at_ms);
    UPDATE kept SET state = 'cut_off' WHERE state = 'running'`)
  const clear = database.prepare(
    'DELETE FROM kept WHERE key IN (SELECT key FROM kept WHERE at_ms <= ? ORDER BY at_ms LIMIT ?)',
  )
  const forget = database.prepare('DELETE FROM kept WHERE key = ? AND at_ms <= ?')
  const find = database.prepare('SELECT request_hash, state, answer FROM kept WHERE key = ?')
  const insert = database.prepare("INSERT INTO kept (key, request_hash, state, at_ms) VALUES (?, ?, 'running', ?)")
  const finish = database.prepare("UPDATE kept SET state = 'done', answer = ? WHERE key = ?")
  const release = database.prepare("DELETE FROM kept WHERE key = ? AND state = 'running'")

  /** Ends that are not on disk yet; null: the key is free. */
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

  /** Writes the ends that the disk refused, as a claim shows that it takes them again. */
  function writeHeld(): void {
    for (const [key, answer] of held) {
      writeEnd(key, answer)
      held.delete(key)
    }
  }

  function claim(key: string, requestHash: string): KeptRequest | null {
    const nowMs = clock.nowMs()
    writeHeld()
    clear.run(nowMs - KEPT_MS, CLEARED_AT_ONCE)
    forget.run(key, nowMs - KEPT_MS)
    const row = find.get(key)
    if (row === undefined) {
      insert.run(key, requestHash, nowMs)
      return null
    }
    const { request_hash: hash, state, answer } = row
    return { requestHash: String(hash), state: state as KeptRequest['state'], answer: answer as string | null }
  }

  return {
    claim: async (key, requestHash) => written('idempotency keys', () => claim(key, requestHash)),
    finish: async (key, answer) => end(key, answer),
    release: async (key) => end(key, null),
    close: () => database.close(),
  }
}
