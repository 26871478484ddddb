/**
 * The device codes of several nodes, by PostgreSQL's clock.
 *
 * Additions exclude each other, so that the bound holds over all nodes. The table is unlogged: strangers who begin sign-ins add nothing to
 * backups and standbys, and a crash of the server ends the sign-ins in progress.
 */

import type { Pool } from 'pg'
import {
  CODES_MAX,
  INTERVAL_MS,
  LIFETIME_MS,
  NOTED_EVERY_MS,
  REMEMBERED_MS,
  SLOW_DOWN_MS,
  type DeviceCodeStore,
  type NewDeviceCode,
} from '../device-codes.ts'
import { withRegistryErrors } from './connection.ts'
import { withClient } from './connections.ts'
import { DEVICE_CODE_LOCK } from './lock-numbers.ts'

interface CodeRow {
  readonly secret_hash: string
  readonly request: string
  readonly decision: string | null
  readonly is_expired: boolean
}

export function createPostgresDeviceCodes(pool: Pool, codesMax = CODES_MAX): DeviceCodeStore {
  async function isChanged(sql: string, values: readonly string[]): Promise<boolean> {
    const { rowCount } = await withRegistryErrors(() => pool.query(sql, [...values]))
    return rowCount === 1
  }

  return {
    add: (code) => withRegistryErrors(() => add(pool, code, codesMax)),
    async find(id) {
      const { rows } = await withRegistryErrors(() => pool.query<CodeRow>(FIND, [id]))
      if (rows[0] === undefined) return null
      const { secret_hash: secretHash, request, decision, is_expired: isExpired } = rows[0]
      return { id, secretHash, request, decision, isExpired }
    },
    async enter(userCodeHash) {
      const { rows } = await withRegistryErrors(() =>
        pool.query<{ id: string; request: string }>(ENTER, [userCodeHash]),
      )
      return rows[0] ?? null
    },
    decide: (id, decision) => isChanged(DECIDE, [id, decision]),
    async poll(id) {
      const { rows } = await withRegistryErrors(() => pool.query<{ is_early: boolean }>(POLL, [id]))
      return rows[0]?.is_early === false
    },
    take: (id) => isChanged(TAKE, [id]),
  }
}

function add(pool: Pool, code: NewDeviceCode, codesMax: number): Promise<boolean> {
  const { id, userCodeHash, secretHash, networkHash, request } = code
  return withClient(pool, async (client) => {
    // The lock is taken in a statement of its own, so that the next ones see what its former holder has added.
    await client.query(`BEGIN; SELECT pg_advisory_xact_lock(${DEVICE_CODE_LOCK}); ${DELETE_PAST}`)
    await client.query(MAKE_ROOM, [codesMax])
    const { rowCount } = await client.query(ADD, [id, userCodeHash, secretHash, networkHash, request])
    await client.query('COMMIT')
    return rowCount === 1
  })
}

const ms = (value: number): string => `interval '${value} milliseconds'`

const DELETE_PAST = 'DELETE FROM device_code WHERE remembered_until <= now()'
const MAKE_ROOM = `DELETE FROM device_code WHERE (SELECT count(*) FROM device_code) >= $1 AND id = (
    SELECT id FROM device_code WHERE network_hash = (
      SELECT network_hash FROM device_code GROUP BY network_hash ORDER BY count(*) DESC LIMIT 1
    ) ORDER BY asked_at, id LIMIT 1
  )`
const ADD = `INSERT INTO device_code (id, user_code_hash, secret_hash, network_hash, request, expires_at,
    remembered_until, polled_at, asked_at, interval_ms)
  VALUES ($1, $2, $3, $4, $5, now() + ${ms(LIFETIME_MS)}, now() + ${ms(LIFETIME_MS + REMEMBERED_MS)},
    now() - ${ms(INTERVAL_MS)}, clock_timestamp(), ${INTERVAL_MS})
  ON CONFLICT (user_code_hash) DO NOTHING`
const FIND = `SELECT secret_hash, request, decision, expires_at <= now() AS is_expired FROM device_code
  WHERE id = $1 AND remembered_until > now()`
const OPEN = 'decision IS NULL AND expires_at > now()'
const ENTER = `UPDATE device_code SET asked_at = clock_timestamp() WHERE user_code_hash = $1 AND ${OPEN} RETURNING id, request`
const DECIDE = `UPDATE device_code SET decision = $2, asked_at = clock_timestamp() WHERE id = $1 AND ${OPEN}`
/** The row as it was before the statement says whether the request is too early. */
const POLL = `WITH before AS (
    SELECT id, polled_at > now() - interval_ms * interval '1 millisecond' AS is_early FROM device_code
    WHERE id = $1 AND polled_at <= now() - ${ms(NOTED_EVERY_MS)} FOR UPDATE
  )
  UPDATE device_code d SET polled_at = now(), asked_at = clock_timestamp(),
    interval_ms = d.interval_ms + CASE WHEN b.is_early THEN ${SLOW_DOWN_MS} ELSE 0 END
  FROM before b WHERE d.id = b.id RETURNING b.is_early`
const TAKE = 'DELETE FROM device_code WHERE id = $1'
