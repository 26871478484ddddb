/**
 * Claims on background jobs of several nodes, which expire by PostgreSQL's clock.
 *
 * They use a connection of their own, because commands that wait must not end a claim. The row of a name is never deleted, so that its
 * fence only grows.
 */

import type { Pool } from 'pg'
import type { Claim, Claims } from '../claims.ts'
import { withRegistryErrors } from './connection.ts'

export function createPostgresClaims(pool: Pool): Claims {
  return {
    async claim(name, holder, ttlMs) {
      const { rows } = await withRegistryErrors(() => pool.query<Claim>(CLAIM, [name, holder, ttlMs]))
      return rows[0] ?? null
    },
    async renew({ name, fence }, ttlMs) {
      const { rowCount } = await withRegistryErrors(() => pool.query(RENEW, [name, fence, ttlMs]))
      return rowCount === 1
    },
    async release({ name, fence }) {
      await withRegistryErrors(() => pool.query(RELEASE, [name, fence]))
    },
  }
}

const CLAIM = `INSERT INTO job_claim AS c (name, holder, fence, held_until)
  VALUES ($1, $2, 1, now() + $3 * interval '1 millisecond')
  ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, fence = c.fence + 1, held_until = excluded.held_until
  WHERE c.held_until <= now() OR c.holder = excluded.holder
  RETURNING name, fence`
const RENEW = `UPDATE job_claim SET held_until = now() + $3 * interval '1 millisecond' WHERE name = $1 AND fence = $2`
const RELEASE = `UPDATE job_claim SET held_until = '-infinity' WHERE name = $1 AND fence = $2`
