/** Counters of limits in the checkpoint's file (`checkpoint-file.ts`): one row per subscription and API. */

import type { DatabaseSync } from 'node:sqlite'
import type { SavedCounters } from '../limit-checkpoint.ts'
import { checksumOf, verifyRow } from './row-checksum.ts'

/** Retention; longer than the longest window, which is a year. */
const KEPT_MS = 400 * 86_400_000

interface Row {
  readonly saved_ms: number
  readonly body: string
  readonly checksum: number | null
}

export interface CounterTable {
  of(subscription: string, api: string): SavedCounters | null
  /** Must be called within a transaction. */
  save(counters: readonly SavedCounters[], nowMs: number): void
}

export function openCounterTable(database: DatabaseSync): CounterTable {
  const read = database.prepare('SELECT saved_ms, body, checksum FROM counter WHERE subscription = ? AND api = ?')
  const write = database.prepare(
    `INSERT INTO counter (subscription, api, saved_ms, body, checksum) VALUES (?, ?, ?, ?, ?)
     ON CONFLICT (subscription, api) DO UPDATE SET saved_ms = excluded.saved_ms, body = excluded.body,
       checksum = excluded.checksum`,
  )
  const deleteOld = database.prepare('DELETE FROM counter WHERE saved_ms < ?')

  return {
    of(subscription, api) {
      const row = read.get(subscription, api) as Row | undefined
      if (row === undefined) return null
      verifyRow(`counter of ${subscription} at ${api}`, row.checksum, [subscription, api, row.saved_ms], row.body)
      return JSON.parse(row.body) as SavedCounters
    },
    save(counters, nowMs) {
      for (const each of counters) {
        const { subscription, api } = each
        const body = JSON.stringify(each)
        write.run(subscription, api, nowMs, body, checksumOf([subscription, api, nowMs], body))
      }
      deleteOld.run(nowMs - KEPT_MS)
    },
  }
}
