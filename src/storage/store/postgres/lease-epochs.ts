/**
 * Numbers the generations of the grantor of leases, and knows which identities may hold leases in them.
 *
 * An identity stays a member for an hour after its node left or took another one: the calls that it admitted count in windows that are
 * still open, and no other node reports them. A trigger notes the end, so that it holds for every way to leave the list of nodes. A node
 * that was removed while it was silent returns to the list by its next report, and its latest identity is a member again. A node that
 * leaves hands over what it has admitted, and the others report it.
 */

import type { Pool } from 'pg'
import type { HandOver } from '../../../boundary/leases/hand-over.ts'
import { ITEMS_MAX } from '../../../boundary/leases/lease-messages.ts'
import { withRegistryErrors } from './connection.ts'
import { withClient } from './connections.ts'

/** A generation, as PostgreSQL numbers it. */
export interface LeaseEpoch {
  readonly epoch: number
  /** Whether there was none before, so that nothing can have been granted. */
  readonly isFirst: boolean
  readonly members: readonly string[]
  /** Milliseconds since the end of each member that has ended. */
  readonly ended: Readonly<Record<string, number>>
}

export interface LeaseEpochs {
  /** Makes `identity` the one under which the node holds leases. Must be done before its first message. Throws `StoreUnwritable`. */
  register(identity: string, incarnation: string): Promise<void>
  /** Numbers a new generation above `above`. Throws `StoreUnwritable`. */
  open(above: number): Promise<LeaseEpoch>
  /** Stores what an identity has admitted, whose node admits nothing more. Throws `StoreUnwritable`. */
  handOver(left: HandOver): Promise<void>
  /** Returns what members have handed over. Throws `StoreUnwritable`. */
  handedOver(): Promise<readonly HandOver[]>
  /** Returns the names of the nodes that have these identities, without repetition. Throws `StoreUnwritable`. */
  namesOf(identities: readonly string[]): Promise<readonly string[]>
}

export function createPostgresLeaseEpochs(pool: Pool): LeaseEpochs {
  return {
    async register(identity, incarnation) {
      await withRegistryErrors(() =>
        withClient(pool, async (client) => {
          await client.query('BEGIN')
          await client.query(END_OTHERS, [identity, incarnation])
          await client.query(PRUNE)
          await client.query(TAKE_BACK, [identity])
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
          const members = await client.query<MemberRow>(MEMBERS)
          await client.query('COMMIT')
          const { epoch, is_first: isFirst } = rows[0]!
          return { epoch, isFirst, ...toMembers(members.rows) }
        }),
      ),
    async handOver({ identity, session, windows }) {
      const parts = Array.from({ length: Math.max(1, Math.ceil(windows.length / ITEMS_MAX)) }, (_, part) =>
        JSON.stringify(windows.slice(part * ITEMS_MAX, (part + 1) * ITEMS_MAX)),
      )
      await withRegistryErrors(() =>
        withClient(pool, async (client) => {
          await client.query('BEGIN')
          await client.query(REMOVE, [identity])
          await client.query(HAND_OVER, [identity, session, parts])
          await client.query('COMMIT')
        }),
      )
    },
    async handedOver() {
      const { rows } = await withRegistryErrors(() => pool.query<HandOverRow>(HANDED_OVER))
      return [...Map.groupBy(rows, ({ identity }) => identity)].map(([identity, parts]) => ({
        identity,
        session: parts[0]!.session,
        windows: parts.flatMap(({ windows }) => JSON.parse(windows) as HandOver['windows']),
      }))
    },
    async namesOf(identities) {
      const { rows } = await withRegistryErrors(() => pool.query<{ name: string }>(NAMES, [identities]))
      return rows.map(({ name }) => name)
    },
  }
}

interface MemberRow {
  readonly identity: string
  readonly ended_ms: number | null
}

function toMembers(rows: readonly MemberRow[]): Pick<LeaseEpoch, 'members' | 'ended'> {
  const ended = rows.flatMap((row) => (row.ended_ms === null ? [] : [[row.identity, row.ended_ms] as const]))
  return { members: rows.map(({ identity }) => identity), ended: Object.fromEntries(ended) }
}

interface HandOverRow {
  readonly identity: string
  readonly session: number
  readonly windows: string
}

const NAME_OF_NODE = '(SELECT name FROM node WHERE incarnation = $2)'
const REGISTER = `INSERT INTO lease_identity (identity, incarnation, name) VALUES ($1, $2, ${NAME_OF_NODE})
  ON CONFLICT (identity) DO UPDATE SET incarnation = $2, ended_at = NULL, name = ${NAME_OF_NODE}`
/** Redis evicts a node that was silent for two hours. */
const PRUNE = `DELETE FROM lease_identity WHERE ended_at < now() - interval '1 week'
  AND NOT EXISTS (SELECT FROM node WHERE node.incarnation = lease_identity.incarnation)`
/** The node reports what it has admitted itself. */
const TAKE_BACK = 'DELETE FROM lease_hand_over WHERE identity = $1'
const END_OTHERS = `UPDATE lease_identity SET ended_at = now()
  WHERE incarnation = $2 AND identity <> $1 AND ended_at IS NULL`
const OPEN = `UPDATE lease_epoch SET epoch = greatest(epoch, $1) + 1, opened = opened + 1
  RETURNING epoch, opened = 1 AS is_first`
/** The latest identity of a node that returned to the list has not ended. */
const MEMBERS = `SELECT identity, CASE WHEN ended_at IS NOT NULL AND NOT is_current THEN
    greatest(0, floor(extract(epoch FROM now() - ended_at) * 1000))::float8 END AS ended_ms
  FROM (SELECT identity, ended_at, EXISTS (SELECT FROM node WHERE node.incarnation = own.incarnation) AND NOT EXISTS (
      SELECT FROM lease_identity later WHERE later.incarnation = own.incarnation
        AND (later.ended_at IS NULL OR later.ended_at > own.ended_at)) AS is_current
    FROM lease_identity own) AS known
  WHERE is_current OR ended_at IS NULL OR ended_at > now() - interval '1 hour'`
const REMOVE = `DELETE FROM lease_hand_over WHERE identity = $1 OR at < now() - interval '2 hours'`
const HAND_OVER = `INSERT INTO lease_hand_over (identity, session, part, windows)
  SELECT $1, $2, part, windows FROM unnest($3::text[]) WITH ORDINALITY AS each (windows, part)`
const HANDED_OVER = `SELECT identity, session, windows FROM lease_hand_over
  WHERE at > now() - interval '1 hour' ORDER BY identity, part`
const NAMES = `SELECT DISTINCT name FROM lease_identity WHERE identity = ANY ($1::text[]) AND name IS NOT NULL ORDER BY name`
