/**
 * Risk events in PostgreSQL: the feed that every node follows, and the outbox of the history.
 *
 * Events are committed in the order of their positions (`risk-partitions.ts`), so that a range of positions never gains an event. The
 * range that the history receives is noted before it is sent, so that another node repeats the same batch.
 */

import type { Pool } from 'pg'
import type { RiskEvent } from '../../domain/risk.ts'
import { idAt } from '../../runtime/ids.ts'
import type { RiskEventFeed, RiskOutbox } from '../shared-risks.ts'
import { toText, withRegistryErrors } from './connection.ts'

const BATCH_EVENTS_MAX = 5_000
/** Events that wait for the history; of more, the oldest are removed. */
const EVENTS_MAX = 200_000
/** For nodes that were cut off. */
const KEPT_MINUTES = 60

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
    eventsAfter: (tenant, afterId) =>
      withRegistryErrors(async () => {
        const { rows } = await pool.query<{ body: string }>(EVENTS_AFTER, [toText(tenant), afterId])
        return rows.map(({ body }) => JSON.parse(body) as RiskEvent)
      }),
    eventsOf: (tenant, riskId) =>
      withRegistryErrors(async () => {
        const { rows } = await pool.query<{ body: string }>(EVENTS_OF, [toText(tenant), riskId])
        return rows.map(({ body }) => JSON.parse(body) as RiskEvent)
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
        const { rows } = await pool.query<{ body: string }>(BATCH, [from, to])
        return { from, to, events: rows.map(({ body }) => JSON.parse(body) as RiskEvent) }
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

const READ = `SELECT e.position AS end_position, e.last_ms, r.position, r.body FROM risk_event_end e
  LEFT JOIN LATERAL (SELECT position, body FROM risk_event WHERE position > $1 ORDER BY position LIMIT $2) r ON true
  ORDER BY r.position`
/** The history has the others; for a minute it may not show them at every replica. */
const EVENTS_AFTER = `SELECT body FROM risk_event WHERE tenant = $1 AND id > $2
    AND (position > (SELECT stored FROM risk_history) OR made_at > now() - interval '1 minute')
  ORDER BY id`
const EVENTS_OF = 'SELECT body FROM risk_event WHERE tenant = $1 AND risk_id = $2 ORDER BY id'
const NOTE_BATCH = `UPDATE risk_history SET storing =
    (SELECT max(position) FROM (SELECT position FROM risk_event WHERE position > stored ORDER BY position
      LIMIT ${BATCH_EVENTS_MAX}) AS next)
  WHERE storing IS NULL AND EXISTS (SELECT FROM risk_event WHERE position > stored)`
const READ_MARKS = 'SELECT stored, storing FROM risk_history'
const BATCH = 'SELECT body FROM risk_event WHERE position > $1 AND position <= $2 ORDER BY position'
const STORED = 'UPDATE risk_history SET stored = $2, storing = NULL WHERE stored = $1 AND storing = $2'
const DELETE_CLEARED = 'DELETE FROM risk_episode WHERE NOT is_open AND last_seen_ms < $1'
const DELETE_OLD = `DELETE FROM risk_event WHERE made_at < now() - interval '${KEPT_MINUTES} minutes'
  AND position <= (SELECT stored FROM risk_history)`
/** A batch that is being stored stays as it is. */
const DELETE_EXCESS = `DELETE FROM risk_event WHERE position <= (SELECT position FROM risk_event_end) - $1
  AND position > (SELECT coalesce(storing, stored) FROM risk_history)`
