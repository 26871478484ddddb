/**
 * Attempts of several nodes, by PostgreSQL's clock.
 *
 * One statement counts an attempt and decides on it under the lock of its row. Strangers choose the names that they try, so the table
 * has a fixed number of rows at most: names share a row by chance, which an attacker who does not know the key cannot bring about.
 * The table is unlogged. It adds nothing to backups and standbys, and is empty after a crash of the server.
 */

import type { Pool } from 'pg'
import type { AttemptLimit, AttemptStore } from '../attempts.ts'
import { StoreUnwritable } from '../unwritable.ts'
import { withRegistryErrors } from './connection.ts'

/** Five digits in hex: about a million rows of 100 bytes at most. */
const BUCKET_DIGITS = 5
/** Number of expired rows that each attempt deletes: more than one, so that they decrease. */
const DELETED_PER_ATTEMPT = 4

interface Statements {
  readonly take: string
  readonly wait: string
  readonly giveBack: string
}

export function createPostgresAttempts(pool: Pool): AttemptStore {
  /** Reads without a lock, so that attempts above the limit do not wait for each other. */
  async function wait(bucket: number, { max, windowMs, isSliding }: AttemptLimit): Promise<number> {
    const { rows } = await pool.query<{ ms: number }>(statementsOf(isSliding).wait, [bucket, windowMs, max])
    // An attempt that began later may have been counted before this one was read.
    return rows[0] === undefined ? 0 : Math.min(windowMs, Math.max(1, Math.ceil(rows[0].ms)))
  }

  return {
    take: (key, limit) =>
      withRegistryErrors(async () => {
        const bucket = bucketOf(key)
        const waitMs = await wait(bucket, limit)
        if (waitMs > 0) return waitMs
        const { take } = statementsOf(limit.isSliding)
        const { rowCount } = await pool.query(take, [bucket, limit.windowMs, limit.max])
        // Concurrent attempts were faster; at the end of their window, at least a millisecond is left.
        if (rowCount === 0) return Math.max(1, await wait(bucket, limit))
        await pool.query(DELETE_EXPIRED, [DELETED_PER_ATTEMPT])
        return 0
      }),
    async giveBack(key, { windowMs, isSliding }) {
      try {
        const values = isSliding ? [bucketOf(key), windowMs] : [bucketOf(key)]
        await withRegistryErrors(() => pool.query(statementsOf(isSliding).giveBack, values))
      } catch (cause) {
        if (!(cause instanceof StoreUnwritable)) throw cause
      }
    },
  }
}

function bucketOf(key: string): number {
  return Number.parseInt(key.slice(0, BUCKET_DIGITS), 16)
}

function statementsOf(isSliding: boolean): Statements {
  return isSliding ? SLIDING : WINDOW
}

const SPAN = `$2 * interval '1 millisecond'`
const RECENT = `ARRAY(SELECT t FROM unnest(a.times) t WHERE t > now() - ${SPAN} ORDER BY t)`

const SLIDING: Statements = {
  take: `INSERT INTO attempt AS a (is_sliding, bucket, times, count, held_until)
    VALUES (true, $1, ARRAY[now()], 0, now() + ${SPAN})
    ON CONFLICT (is_sliding, bucket) DO UPDATE SET times = ${RECENT} || now(), held_until = now() + ${SPAN}
    WHERE cardinality(${RECENT}) < $3`,
  wait: `SELECT extract(epoch FROM r.times[1] + ${SPAN} - now())::float8 * 1000 AS ms
    FROM (SELECT ${RECENT} AS times FROM attempt a WHERE is_sliding AND bucket = $1) r
    WHERE cardinality(r.times) >= $3`,
  giveBack: `UPDATE attempt AS a SET times = (SELECT t.recent[1:cardinality(t.recent) - 1] FROM (SELECT ${RECENT} AS recent) t)
    WHERE is_sliding AND bucket = $1`,
}

const WINDOW: Statements = {
  take: `INSERT INTO attempt AS a (is_sliding, bucket, times, count, held_until)
    VALUES (false, $1, '{}', 1, now() + ${SPAN})
    ON CONFLICT (is_sliding, bucket) DO UPDATE SET
      count = CASE WHEN a.held_until <= now() THEN 1 ELSE a.count + 1 END,
      held_until = CASE WHEN a.held_until <= now() THEN excluded.held_until ELSE a.held_until END
    WHERE a.held_until <= now() OR a.count < $3`,
  wait: `SELECT extract(epoch FROM held_until - now())::float8 * 1000 AS ms FROM attempt
    WHERE NOT is_sliding AND bucket = $1 AND held_until > now() AND count >= $3 AND $2::bigint > 0`,
  giveBack: 'UPDATE attempt SET count = count - 1 WHERE NOT is_sliding AND bucket = $1 AND count > 0',
}

const DELETE_EXPIRED = `DELETE FROM attempt WHERE (is_sliding, bucket) IN (
    SELECT is_sliding, bucket FROM attempt WHERE held_until <= now() ORDER BY held_until LIMIT $1 FOR UPDATE SKIP LOCKED
  )`
