/**
 * Risk events in PostgreSQL: the feed that every node follows, and the outbox of the history.
 *
 * Events are committed in the order of their positions (`risk-partitions.ts`), so that a range of positions never gains an event. The
 * range that the history receives is noted before it is sent, so that another node repeats the same batch.
 */

import type { Pool } from 'pg'
import type { RiskEvent } from '../../../foundation/domain/risk.ts'
import { idAt } from '../../../foundation/runtime/ids.ts'
import type { RiskEventFeed, RiskOutbox } from '../shared-risks.ts'
import { toText, withRegistryErrors } from './connection.ts'

const BATCH_EVENTS_MAX = 5_000
/** Events that wait for the history; of more, the oldest are removed. */
const EVENTS_MAX = 200_000
/** For nodes that were cut off, and readers that resume slowly; since the history has an event. */
const KEPT_MINUTES = 60

interface EventRow {
  readonly body: string
}

interface PageRow {
  readonly end_position: number
  readonly last_ms: number
  readonly position: number | null
  readonly body: string | null
}

export function createRiskEventFeed(pool: Pool): RiskEventFeed {
  return {
    read: (after, limit) =>
      withRegistryErrors(async () => {
        const { rows } = await pool.query<PageRow>(READ, [after, limit])
        const { end_position: end, last_ms: lastMs } = rows[0]!
        return {
          events: rows.flatMap(({ position, body }) =>
            position === null || body === null ? [] : [{ position, event: JSON.parse(body) as RiskEvent }],
          ),
          end,
          lastId: end === 0 ? '' : idAt('evt', lastMs, end),
        }
      }),
    inHistory: () =>
      withRegistryErrors(async () => {
        const { rows } = await pool.query<{ position: number }>(IN_HISTORY)
        return rows[0]!.position
      }),
    eventsAfter: ({ tenant, position, id, limit }) =>
      withRegistryErrors(async () => {
        const { rows } = await pool.query<EventRow>(EVENTS_AFTER, [toText(tenant), position, id, limit])
        return rows.map(toEvent)
      }),
    eventsOf: (tenant, riskId, limit) =>
      withRegistryErrors(async () => {
        const { rows } = await pool.query<EventRow>(EVENTS_OF, [toText(tenant), toText(riskId), limit])
        return rows.map(toEvent).reverse()
      }),
  }
}

export function createRiskOutbox(pool: Pool): RiskOutbox {
  return {
    nextBatch: () =>
      withRegistryErrors(async () => {
        await pool.query(NOTE_BATCH)
        const { rows: marks } = await pool.query<{ stored: number; storing: number | null }>(READ_MARKS)
        const { stored: from = 0, storing: to = null } = marks[0] ?? {}
        if (to === null) return null
        const { rows } = await pool.query<EventRow>(BATCH, [from, to])
        return { from, to, events: rows.map(toEvent) }
      }),
    async stored({ from, to }) {
      await withRegistryErrors(() => pool.query(STORED, [from, to]))
    },
    prune: (clearedBeforeMs) =>
      withRegistryErrors(async () => {
        await pool.query(DELETE_CLEARED, [clearedBeforeMs])
        await pool.query(DELETE_OLD)
        const { rowCount } = await pool.query(DELETE_EXCESS, [EVENTS_MAX])
        return rowCount ?? 0
      }),
  }
}

function toEvent({ body }: EventRow): RiskEvent {
  return JSON.parse(body) as RiskEvent
}

const READ = `SELECT e.position AS end_position, e.last_ms, r.position, r.body FROM risk_event_end e
  LEFT JOIN LATERAL (SELECT position, body FROM risk_event WHERE position > $1 ORDER BY position LIMIT $2) r ON true
  ORDER BY r.position`
/** For a minute, a replica may lack events. */
const IN_HISTORY = `SELECT coalesce(max(position), 0) AS position FROM risk_history_mark
  WHERE stored_at < now() - interval '1 minute'`
const EVENTS_AFTER = `SELECT body FROM risk_event WHERE tenant = $1 AND position > $2 AND id > $3 ORDER BY id LIMIT $4`
const EVENTS_OF = 'SELECT body FROM risk_event WHERE tenant = $1 AND risk_id = $2 ORDER BY id DESC LIMIT $3'
const NOTE_BATCH = `UPDATE risk_history SET storing =
    (SELECT max(position) FROM (SELECT position FROM risk_event WHERE position > stored ORDER BY position
      LIMIT ${BATCH_EVENTS_MAX}) AS next)
  WHERE storing IS NULL AND EXISTS (SELECT FROM risk_event WHERE position > stored)`
const READ_MARKS = 'SELECT stored, storing FROM risk_history'
const BATCH = 'SELECT body FROM risk_event WHERE position > $1 AND position <= $2 ORDER BY position'
const STORED = `WITH stored AS (
    UPDATE risk_history SET stored = $2, storing = NULL WHERE stored = $1 AND storing = $2 RETURNING stored
  )
  INSERT INTO risk_history_mark (position, stored_at) SELECT stored, now() FROM stored`
const DELETE_CLEARED = 'DELETE FROM risk_episode WHERE NOT is_open AND last_seen_ms < $1'
/** Keeps one mark, for readers of the history. */
const DELETE_OLD = `WITH old AS (
    SELECT max(position) AS position FROM risk_history_mark WHERE stored_at < now() - interval '${KEPT_MINUTES} minutes'
  ), marks AS (
    DELETE FROM risk_history_mark WHERE position < (SELECT position FROM old)
  )
  DELETE FROM risk_event WHERE position <= (SELECT position FROM old)`
/** A batch that is being stored stays as it is. */
const DELETE_EXCESS = `DELETE FROM risk_event WHERE position <= (SELECT position FROM risk_event_end) - $1
  AND position > (SELECT coalesce(storing, stored) FROM risk_history)`
