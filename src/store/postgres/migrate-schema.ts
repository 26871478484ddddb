/** Creates and migrates the schema in PostgreSQL, under a lock, so that ten nodes can start at once. */

import type { ClientBase } from 'pg'
import { StartRefused } from '../../runtime/start-refused.ts'
import { SCHEMA } from './connection.ts'
import { COMMIT_LOCK } from './lock-numbers.ts'
import { STEPS } from './schema-steps.ts'

/** Throws `StartRefused` unless the schema is that of this version. Changes nothing. */
export async function requireSchema(client: ClientBase): Promise<void> {
  const { rows: found } = await client.query<{ name: string | null }>(
    `SELECT to_regclass('${SCHEMA}.schema_version')::text AS name`,
  )
  if (found[0]?.name === null) throw new StartRefused(`DATABASE_URL has no schema ${SCHEMA}: no node has started on it`)
  const { rows } = await client.query<{ version: number }>(`SELECT version FROM ${SCHEMA}.schema_version`)
  if (rows[0]?.version !== STEPS.length) {
    throw new StartRefused(
      `the schema ${SCHEMA} of DATABASE_URL belongs to another version of tollgate; use that version`,
    )
  }
}

/** Throws `StartRefused` if a later version has changed the schema. */
export async function migrateSchema(client: ClientBase): Promise<void> {
  await client.query(`BEGIN; SELECT pg_advisory_xact_lock(${COMMIT_LOCK})`)
  try {
    await client.query(`CREATE SCHEMA IF NOT EXISTS ${SCHEMA}; CREATE TABLE IF NOT EXISTS schema_version (version int)`)
    const { rows } = await client.query<{ version: number }>('SELECT version FROM schema_version')
    const version = rows[0]?.version ?? 0
    if (version > STEPS.length) {
      throw new StartRefused(
        `the schema ${SCHEMA} of DATABASE_URL was written by a later version of tollgate; start that version`,
      )
    }
    for (const step of STEPS.slice(version)) await client.query(step)
    if (rows.length === 0) await client.query('INSERT INTO schema_version VALUES ($1)', [STEPS.length])
    else if (version < STEPS.length) await client.query('UPDATE schema_version SET version = $1', [STEPS.length])
    await client.query('COMMIT')
  } catch (cause) {
    await client.query('ROLLBACK').catch(() => {})
    throw cause
  }
}
