/** Counters of limits in the checkpoint's file: one row for a subscription at an API. */

import type { DatabaseSync } from 'node:sqlite'
import type { SavedCounters } from '../limit-checkpoint.ts'

const SCHEMA = `
  CREATE TABLE IF NOT EXISTS counter (
    subscription TEXT NOT NULL, api TEXT NOT NULL, saved_ms INTEGER NOT NULL, body TEXT NOT NULL,
    PRIMARY KEY (subscription, api)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX IF NOT EXISTS counter_by_age ON counter (saved_ms);
`
/** Longer than the longest window, which is a year. */
const KEPT_MS = 400 * 86_400_000

export interface CounterTable {
  of(subscription: string, api: string): SavedCounters | null
  /** Within the caller's transaction. */
  save(counters: readonly SavedCounters[], nowMs: number): void
}

export function openCounterTable(database: DatabaseSync): CounterTable {
  database.exec(SCHEMA)
  const read = database.prepare('SELECT body FROM counter WHERE subscription = ? AND api = ?')
  const write = database.prepare(
    `INSERT INTO counter (subscription, api, saved_ms, body) VALUES (?, ?, ?, ?)
     ON CONFLICT (subscription, api) DO UPDATE SET saved_ms = excluded.saved_ms, body = excluded.body`,
  )
  const forget = database.prepare('DELETE FROM counter WHERE saved_ms < ?')

  return {
    of(subscription, api) {
      const row = read.get(subscription, api) as { body: string } | undefined
      return row === undefined ? null : (JSON.parse(row.body) as SavedCounters)
    },
    save(counters, nowMs) {
      for (const each of counters) write.run(each.subscription, each.api, nowMs, JSON.stringify(each))
      forget.run(nowMs - KEPT_MS)
    },
  }
}
