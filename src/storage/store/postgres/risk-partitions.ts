/**
 * Partitions of risk episodes in PostgreSQL.
 *
 * The lock of a partition's row is the fence: only the transaction that holds it changes the episodes, and it commits their changes
 * together with the removal of the signals. The holder of a partition is only preferred, because it has the
 * episodes in memory; another node claims a partition that was not advanced for two seconds.
 *
 * The row that counts events is locked from the assignment of positions to the commit, so that events are committed in the order of
 * their positions.
 */

import { randomUUID } from 'node:crypto'
import type { Pool, PoolClient } from 'pg'
import { idAt } from '../../../foundation/runtime/ids.ts'
import type { RiskEvent } from '../../../foundation/domain/risk.ts'
import type { SavedEpisode } from '../risk-checkpoint.ts'
import type { ClaimedPartition, PartitionChanges, PartitionStore, RiskSignal } from '../shared-risks.ts'
import { toText, withRegistryErrors } from './connection.ts'
import { withClient } from './connections.ts'
import { toSignal } from './risk-signals.ts'

export const EVENT_CHANNEL = 'tollgate_risk_event'
/** Signals per transaction. */
const SIGNALS_MAX = 1_000

interface PartitionRow {
  readonly number: number
  readonly version: string
  readonly now_ms: number
}

type Advance = (claimed: ClaimedPartition) => Promise<PartitionChanges>

export interface PartitionStoreOptions {
  readonly pool: Pool
  /** A signal has a format that only later versions read; it is dropped. */
  readonly onUnreadable: () => void
}

export function createPartitionStore({ pool, onUnreadable }: PartitionStoreOptions): PartitionStore {
  return {
    advance: (holder, advance) =>
      withRegistryErrors(() =>
        withClient(pool, async (client) => {
          await client.query('BEGIN')
          const { rows } = await client.query<PartitionRow>(CLAIM, [holder])
          if (rows[0] === undefined) {
            await client.query('ROLLBACK')
            return null
          }
          return advanceOne(client, { row: rows[0], holder, advance, onUnreadable })
        }),
      ),
    async leave(holder) {
      await withRegistryErrors(() => pool.query(LEAVE, [holder]))
    },
  }
}

interface Claimed {
  readonly row: PartitionRow
  readonly holder: string
  readonly advance: Advance
  readonly onUnreadable: () => void
}

async function advanceOne(
  client: PoolClient,
  { row: { number, version, now_ms: nowMs }, holder, advance, onUnreadable }: Claimed,
): Promise<{ number: number; version: string }> {
  const taken = await client.query<{ id: number; body: string }>(TAKE, [number, SIGNALS_MAX])
  const signals = taken.rows
    .sort((a, b) => a.id - b.id)
    .flatMap(({ body }): readonly RiskSignal[] => {
      const signal = toSignal(body)
      if (signal === null) onUnreadable()
      return signal === null ? [] : [signal]
    })
  const changes = await advance({
    number,
    version,
    nowMs,
    signals,
    async openEpisodes() {
      const { rows } = await client.query<{ body: string }>(OPEN_EPISODES, [number])
      return rows.map(({ body }) => JSON.parse(body) as SavedEpisode)
    },
  })
  const next = randomUUID()
  await saveEpisodes(client, number, changes.episodes)
  await addEvents(client, changes)
  await client.query(ADVANCED, [number, next, holder])
  await client.query(changes.events.length === 0 ? 'COMMIT' : `NOTIFY ${EVENT_CHANNEL}; COMMIT`)
  return { number, version: next }
}

async function saveEpisodes(client: PoolClient, partition: number, episodes: readonly SavedEpisode[]): Promise<void> {
  if (episodes.length === 0) return
  await client.query(SAVE_EPISODES, [
    partition,
    episodes.map(({ riskId }) => riskId),
    episodes.map(({ tenant }) => toText(tenant)),
    episodes.map(({ state }) => state === 'open'),
    episodes.map(({ event }) => Math.round(event.lastSeenMs)),
    episodes.map((episode) => JSON.stringify(episode)),
  ])
}

async function addEvents(client: PoolClient, { events, fromMs }: PartitionChanges): Promise<void> {
  if (events.length === 0) return
  const counted = await client.query<{ position: number; last_ms: number }>(COUNT_EVENTS, [events.length, fromMs])
  const { position: last, last_ms: atMs } = counted.rows[0]!
  const first = last - events.length + 1
  const named = events.map((event, index): RiskEvent => ({ ...event, id: idAt('evt', atMs, first + index) }))
  await client.query(ADD_EVENTS, [
    named.map((_, index) => first + index),
    named.map(({ id }) => id),
    named.map(({ tenant }) => toText(tenant)),
    named.map(({ riskId }) => riskId),
    named.map((event) => JSON.stringify(event)),
  ])
}

const NOW_MS = 'floor(extract(epoch FROM clock_timestamp()) * 1000)'
const CLAIM = `SELECT number, version, ${NOW_MS}::float8 AS now_ms FROM risk_partition p
  WHERE (holder = $1 OR advanced_at < now() - interval '2 seconds')
    AND (advanced_at < now() - interval '1 second' OR EXISTS (SELECT FROM risk_signal s WHERE s.partition = p.number))
  ORDER BY advanced_at LIMIT 1 FOR UPDATE OF p SKIP LOCKED`
const LEAVE = `UPDATE risk_partition SET holder = '', advanced_at = '-infinity' WHERE holder = $1`
const TAKE = `DELETE FROM risk_signal WHERE id IN
    (SELECT id FROM risk_signal WHERE partition = $1 ORDER BY id LIMIT $2)
  RETURNING id, body`
const OPEN_EPISODES = 'SELECT body FROM risk_episode WHERE partition = $1 AND is_open ORDER BY risk_id'
const SAVE_EPISODES = `INSERT INTO risk_episode AS e (risk_id, partition, tenant, is_open, last_seen_ms, body)
  SELECT s.risk_id, $1, s.tenant, s.is_open, s.last_seen_ms, s.body
  FROM unnest($2::text[], $3::text[], $4::boolean[], $5::bigint[], $6::text[]) AS s (risk_id, tenant, is_open, last_seen_ms, body)
  ON CONFLICT (risk_id) DO UPDATE SET is_open = excluded.is_open, last_seen_ms = excluded.last_seen_ms, body = excluded.body`
const COUNT_EVENTS = `UPDATE risk_event_end SET position = position + $1, last_ms = greatest(last_ms, $2, ${NOW_MS}::bigint)
  RETURNING position, last_ms`
const ADD_EVENTS = `INSERT INTO risk_event (position, id, tenant, risk_id, made_at, body)
  SELECT e.position, e.id, e.tenant, e.risk_id, now(), e.body
  FROM unnest($1::bigint[], $2::text[], $3::text[], $4::text[], $5::text[]) AS e (position, id, tenant, risk_id, body)`
const ADVANCED =
  'UPDATE risk_partition SET version = $2, holder = $3, advanced_at = clock_timestamp() WHERE number = $1'
