/** Outbox of risk events in the checkpoint's file (`checkpoint-file.ts`): events that the store has not received yet. */

import type { RiskEvent } from '../../../foundation/domain/risk.ts'
import type { OutboxBatch } from '../risk-checkpoint.ts'
import type { CheckpointFile } from './checkpoint-file.ts'
import { checksumOf, verifyRow } from './row-checksum.ts'

const BATCH_EVENTS_MAX = 5_000

interface OutboxRow {
  readonly id: string
  readonly batch: number | null
  readonly body: string
  readonly checksum: number | null
}

export interface OutboxTable {
  /**
   * Adds `events` and deletes the oldest unclaimed ones above the limit. Returns the number of deleted events. Call it within a
   * transaction, and `grew` after its commit.
   */
  add(events: readonly RiskEvent[]): number
  /** Updates the number of events after the commit of an `add`. */
  grew(by: number): void
  /** Returns the next batch; the same batch again until `sent`. */
  nextBatch(): OutboxBatch | null
  sent(batch: OutboxBatch): void
  /** Returns the events of a tenant after `afterId`, oldest first. */
  waiting(tenant: string, afterId: string): readonly RiskEvent[]
}

export function openOutboxTable({ database, state, setState, once }: CheckpointFile, eventsMax: number): OutboxTable {
  const post = database.prepare('INSERT INTO outbox (id, body, checksum) VALUES (?, ?, ?)')
  const claim = database.prepare(
    `UPDATE outbox SET batch = ? WHERE id IN (SELECT id FROM outbox WHERE batch IS NULL ORDER BY id LIMIT ${BATCH_EVENTS_MAX})`,
  )
  const claimed = database.prepare('SELECT * FROM outbox WHERE batch IS NOT NULL ORDER BY id')
  const dropBatch = database.prepare('DELETE FROM outbox WHERE batch = ?')
  const isWaiting = database.prepare('SELECT 1 FROM outbox LIMIT 1')
  const waiting = database.prepare(`SELECT * FROM outbox WHERE id > ? AND body ->> 'tenant' = ? ORDER BY id`)
  const countWaiting = database.prepare('SELECT count(*) AS events FROM outbox')
  // A claimed batch is not dropped: it must be the same each time it is sent.
  const dropOldest = database.prepare(
    'DELETE FROM outbox WHERE id IN (SELECT id FROM outbox WHERE batch IS NULL ORDER BY id LIMIT ?)',
  )
  const countEvents = (): number => (countWaiting.get() as { events: number }).events
  let size = countEvents()
  // Batches up to this number were claimed by a version whose tokens contain only the batch number.
  if (state('numbered_batches', -1) < 0) once(() => setState('numbered_batches', state('batches', 0)))

  return {
    add(events) {
      for (const event of events) {
        const body = JSON.stringify(event)
        post.run(event.id, body, checksumOf([event.id], body))
      }
      const excess = size + events.length - eventsMax
      return excess > 0 ? Number(dropOldest.run(excess).changes) : 0
    },
    grew(by) {
      size += by
    },
    nextBatch() {
      let rows = claimed.all() as unknown as OutboxRow[]
      if (rows.length === 0 && isWaiting.get() !== undefined) {
        const number = state('batches', 0) + 1
        once(() => {
          setState('batches', number)
          claim.run(number)
        })
        rows = claimed.all() as unknown as OutboxRow[]
      }
      const number = rows[0]?.batch ?? null
      if (number === null) return null
      return { number, events: rows.map(toEvent), isNumbered: number <= state('numbered_batches', 0) }
    },
    sent({ number }) {
      once(() => dropBatch.run(number))
      size = countEvents()
    },
    waiting: (tenant, afterId) => (waiting.all(afterId, tenant) as unknown as OutboxRow[]).map(toEvent),
  }
}

function toEvent({ id, body, checksum }: OutboxRow): RiskEvent {
  verifyRow(`event ${id}`, checksum, [id], body)
  return JSON.parse(body) as RiskEvent
}
