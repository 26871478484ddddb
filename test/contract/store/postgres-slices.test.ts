// @module-tag postgres

import { isDeepStrictEqual } from 'node:util'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { SLICE_TIMINGS } from '../../../src/boundary/leases/lease-timings.ts'
import { systemClock } from '../../../src/foundation/runtime/clock.ts'
import { toClientConfig } from '../../../src/storage/store/postgres/connection.ts'
import { LOAD, STORE } from '../../../src/storage/store/postgres/lease-statements.ts'
import { createPostgresLeases } from '../../../src/storage/store/postgres/leases.ts'
import { migrateSchema } from '../../../src/storage/store/postgres/migrate-schema.ts'
import { createPostgresServer, type PostgresServer } from '../../fixtures/postgres-server.ts'
import { createSliceHistory, SENDERS, type SliceStep } from './random-slice-history.ts'

const HISTORIES = Number(process.env['HISTORIES'] ?? 12)
const STEPS = 300
const TABLES = ['slice_generation', 'slice_node', 'slice_counter'] as const
const CLOCK = '(extract(epoch FROM clock_timestamp()) * 1000)::float8'
const HISTORY_OF = /\(SELECT system_identifier::text [^]*? AS history/

let server: PostgresServer
let pool: pg.Pool

beforeAll(async () => {
  server = await createPostgresServer()
  pool = new pg.Pool({ ...toClientConfig({ url: await server.createDatabase(), nodeName: 'test' }), max: 1 })
  const client = await pool.connect()
  await migrateSchema(client)
  client.release()
  await pool.query('CREATE TABLE test_moment (now_ms float8, run_id text); INSERT INTO test_moment VALUES (0, $$$$)')
  for (const table of TABLES) await pool.query(`CREATE TABLE saved_${table} (LIKE ${table})`)
})

afterAll(async () => {
  await pool.end()
  await server.remove()
})

const load = LOAD.replace(CLOCK, '(SELECT now_ms FROM test_moment)').replace(
  HISTORY_OF,
  '(SELECT run_id FROM test_moment) AS history',
)

const copyAll = (from: string, to: string): string =>
  TABLES.map((table) => `DELETE FROM ${to}${table}; INSERT INTO ${to}${table} SELECT * FROM ${from}${table}`).join(';')

/** Executes a history in the database; stops at the first reply that differs from that of the grantor, and returns its step. */
async function firstDifference(history: readonly SliceStep[], statements: { load: string; store: string }) {
  await pool.query(`DELETE FROM slice_node; DELETE FROM slice_counter; ${RESET}; ${copyAll('', 'saved_')}`)
  const common = { pool, clock: systemClock, monotonicMs: () => 0, timings: SLICE_TIMINGS, statements }
  const leases = new Map(SENDERS.map((name) => [name as string, createPostgresLeases({ ...common, nodeName: name })]))
  for (const [index, { nowMicros, runId, listed, before, sender, message, reply }] of history.entries()) {
    if (before === 'saved') await pool.query(copyAll('', 'saved_'))
    if (before === 'rewound') await pool.query(copyAll('saved_', ''))
    await pool.query('UPDATE test_moment SET now_ms = $1, run_id = $2', [nowMicros / 1_000, runId])
    await pool.query('DELETE FROM node')
    await pool.query(LIST, [listed])
    const sent = message.type === 'open' ? { ...message, runId: `${message.runId}-${tableId}` } : message
    const received = await leases.get(sender)!.send(sent)
    const plain =
      received.type === 'generation' ? { ...received, runId: received.runId.replace(/-\d+$/, '') } : received
    if (!isDeepStrictEqual(plain, reply)) return { index, received: plain, reply }
  }
  return null
}

const RESET = `UPDATE slice_generation SET epoch = 0, run_id = '', start_ms = 0, is_first = true, ready_ms = 0,
  confirmations = 0, waiting = '[]'`
const LIST = `INSERT INTO node SELECT name, name, '', 1, gen_random_uuid(), 0, now(), now() FROM unnest($1::text[]) AS name`
let tableId = ''

beforeAll(async () => {
  const { rows } = await pool.query<{ id: string }>(`SELECT 'slice_generation'::regclass::oid::text AS id`)
  tableId = rows[0]!.id
})

/** Faults of the statements, each as a text and its replacement. */
const FAULTS = [
  ['claims = excluded.claims', 'claims = slice_counter.claims'],
  ['version = excluded.version', 'version = slice_counter.version'],
  ['value = excluded.value', 'value = slice_counter.value'],
  ['sequence = excluded.sequence', 'sequence = slice_node.sequence'],
  ['ready_ms = $5', 'ready_ms = $5::bigint + 1'],
  ['waiting = $7::text::jsonb', 'waiting = $7::text::jsonb - 0'],
  ['run_id = $2', `run_id = left($2, 4)`],
  ['SELECT coalesce(json_agg(name)', `SELECT coalesce(json_agg(name) FILTER (WHERE name > 'b')`],
  ['epoch = excluded.epoch', 'epoch = slice_node.epoch'],
] as const

describe('The grantor of slices in PostgreSQL', () => {
  it(
    `replies as the pure one, in ${HISTORIES} random histories`,
    { timeout: 60_000 + HISTORIES * 10_000 },
    async () => {
      const kinds = new Map<string, number>()
      for (let seed = 1; seed <= HISTORIES; seed++) {
        const history = createSliceHistory(seed, STEPS, SLICE_TIMINGS)
        expect(await firstDifference(history, { load, store: STORE }), `seed ${seed}`).toBeNull()
        for (const { reply } of history) kinds.set(reply.type, (kinds.get(reply.type) ?? 0) + 1)
      }
      expect([...kinds.keys()].sort()).toEqual(['clock', 'generation', 'granted', 'stale'])
      expect(kinds.get('granted')).toBeGreaterThan((HISTORIES * STEPS) / 4)
    },
  )

  it.each(FAULTS)('is found to differ with "%s" replaced by "%s"', async (text, replacement) => {
    const faulty = { load: load.replace(text, replacement), store: STORE.replace(text, replacement) }
    expect(faulty).not.toEqual({ load, store: STORE })
    let isFound = false
    for (let seed = 1; seed <= HISTORIES && !isFound; seed++) {
      isFound = (await firstDifference(createSliceHistory(seed, STEPS, SLICE_TIMINGS), faulty)) !== null
    }
    expect(isFound).toBe(true)
  })
})
