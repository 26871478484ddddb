/**
 * Numbers the generations of the grantor of leases, and knows which identities may hold leases in them.
 *
 * An identity stays a member for an hour after its node left or took another one: the calls that it admitted count in windows that are
 * still open, and nobody else reports them. A trigger notes the end, so that it holds for every way to leave the list of nodes. A node
 * that was removed while it was silent returns to the list by its next report, and its latest identity is a member again.
 */

import type { Pool } from 'pg'
import { withRegistryErrors } from './connection.ts'
import { withClient } from './connections.ts'

/** A generation, as PostgreSQL numbers it. */
export interface LeaseEpoch {
  readonly epoch: number
  /** Whether there was none before, so that nothing can have been granted. */
  readonly isFirst: boolean
  readonly members: readonly string[]
}

export interface LeaseEpochs {
  /** Makes `identity` the one under which the node holds leases. Must be done before its first message. Throws `StoreUnwritable`. */
  register(identity: string, incarnation: string): Promise<void>
  /** Numbers a new generation above `above`. Throws `StoreUnwritable`. */
  open(above: number): Promise<LeaseEpoch>
}

export function createPostgresLeaseEpochs(pool: Pool): LeaseEpochs {
  return {
    async register(identity, incarnation) {
      await withRegistryErrors(() =>
        withClient(pool, async (client) => {
          await client.query('BEGIN')
          await client.query(END_OTHERS, [identity, incarnation])
          await client.query(REGISTER, [identity, incarnation])
          await client.query('COMMIT')
        }),
      )
    },
    open: (above) =>
      withRegistryErrors(() =>
        withClient(pool, async (client) => {
          await client.query('BEGIN')
          // The row lock orders the openers, so that each of them sees the identities of those before.
          const { rows } = await client.query<{ epoch: number; is_first: boolean }>(OPEN, [above])
          const members = await client.query<{ identity: string }>(MEMBERS)
          await client.query('COMMIT')
          const { epoch, is_first: isFirst } = rows[0]!
          return { epoch, isFirst, members: members.rows.map(({ identity }) => identity) }
        }),
      ),
  }
}

const REGISTER = `INSERT INTO lease_identity (identity, incarnation) VALUES ($1, $2)
  ON CONFLICT (identity) DO UPDATE SET incarnation = $2, ended_at = NULL`
const END_OTHERS = `UPDATE lease_identity SET ended_at = now()
  WHERE incarnation = $2 AND identity <> $1 AND ended_at IS NULL`
const OPEN = `UPDATE lease_epoch SET epoch = greatest(epoch, $1) + 1, opened = opened + 1
  RETURNING epoch, opened = 1 AS is_first`
const MEMBERS = `SELECT identity FROM lease_identity own WHERE ended_at IS NULL OR ended_at > now() - interval '1 hour' OR (
  EXISTS (SELECT FROM node WHERE node.incarnation = own.incarnation) AND NOT EXISTS (
    SELECT FROM lease_identity later WHERE later.incarnation = own.incarnation
      AND (later.ended_at IS NULL OR later.ended_at > own.ended_at)))`
