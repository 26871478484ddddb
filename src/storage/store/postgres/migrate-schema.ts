/**
 * Creates and migrates the schema in PostgreSQL, under a lock, so that ten nodes can start at once.
 *
 * Nodes of an earlier version keep running: a step only adds. One that they cannot work with waits until none of them is listed, and
 * raises the shared format, which refuses them from then on. So a schema with further steps can be used unless its format is too new.
 */

import type { ClientBase } from 'pg'
import { StartRefused } from '../../../foundation/runtime/start-refused.ts'
import { FORMAT } from '../nodes.ts'
import { SCHEMA } from './connection.ts'
import { COMMIT_LOCK } from './lock-numbers.ts'
import { BREAKING_STEPS, STEPS } from './schema-steps.ts'
import { lockFormat, readFormat } from './shared-format.ts'

export interface SchemaVersion {
  readonly steps: readonly string[]
  /** The format that a node must read to work with a step, by number of the step; none: every node can. */
  readonly breaking: ReadonlyMap<number, number>
  /** Newest format that this version reads. */
  readonly format: number
}

const OWN: SchemaVersion = { steps: STEPS, breaking: BREAKING_STEPS, format: FORMAT }
/** The format that nodes read before formats had numbers. */
const FIRST_FORMAT = 1

/** Throws `StartRefused` unless this version can use the schema as it is. Changes nothing. */
export async function requireSchema(client: ClientBase, own = OWN): Promise<void> {
  const { rows: found } = await client.query<{ name: string | null }>(
    `SELECT to_regclass('${SCHEMA}.schema_version')::text AS name`,
  )
  if (found[0]?.name === null) throw new StartRefused(`DATABASE_URL has no schema ${SCHEMA}: no node has started on it`)
  const version = await readVersion(client)
  if (version < own.steps.length) {
    throw new StartRefused(
      `the schema ${SCHEMA} of DATABASE_URL belongs to an earlier version of tollgate; use that version`,
    )
  }
  refuseLater(await readFormat(client), own)
}

/** Throws `StartRefused` if a later version has changed the schema or the format so that this one cannot read them. */
export async function migrateSchema(client: ClientBase, own = OWN): Promise<void> {
  await client.query(`BEGIN; SELECT pg_advisory_xact_lock(${COMMIT_LOCK})`)
  try {
    await client.query(`CREATE SCHEMA IF NOT EXISTS ${SCHEMA}; CREATE TABLE IF NOT EXISTS schema_version (version int)`)
    const version = await readVersion(client)
    if (version < own.steps.length) await applySteps(client, own, version)
    else refuseLater(await readFormat(client), own)
    await client.query('COMMIT')
  } catch (cause) {
    await client.query('ROLLBACK').catch(() => {})
    throw cause
  }
}

async function readVersion(client: ClientBase): Promise<number> {
  const { rows } = await client.query<{ version: number }>('SELECT version FROM schema_version')
  return rows[0]?.version ?? 0
}

function refuseLater(format: number | null, own: SchemaVersion): void {
  if ((format ?? FIRST_FORMAT) <= own.format) return
  throw new StartRefused(
    `DATABASE_URL was written by a later version of tollgate (format ${format}; this version reads up to ${own.format}); start that version`,
  )
}

async function applySteps(client: ClientBase, own: SchemaVersion, version: number): Promise<void> {
  const format = await lockFormat(client)
  refuseLater(format, own)
  const needed = Math.max(FIRST_FORMAT, ...stepsAfter(own, version))
  if (version > 0 && needed > (format ?? FIRST_FORMAT)) await refuseBesideOlder(client, needed)
  for (const step of own.steps.slice(version)) await client.query(step)
  if (version === 0) await client.query('INSERT INTO schema_version VALUES ($1)', [own.steps.length])
  else await client.query('UPDATE schema_version SET version = $1', [own.steps.length])
  await client.query('UPDATE shared_format SET format = greatest(format, $1)', [needed])
}

function stepsAfter({ breaking }: SchemaVersion, version: number): readonly number[] {
  return Array.from(breaking).flatMap(([step, format]) => (step > version ? [format] : []))
}

/** Silent nodes count: they may still run, and would return. */
async function refuseBesideOlder(client: ClientBase, format: number): Promise<void> {
  const { rows } = await client.query<{ name: string; version: string }>(
    'SELECT name, version FROM node WHERE format < $1 ORDER BY name',
    [format],
  )
  if (rows.length === 0) return
  const older = rows.map(({ name, version }) => `${name} (${version})`).join(', ')
  throw new StartRefused(
    `this version changes DATABASE_URL in a way that older nodes in the list cannot read: stop ${older}, remove those that do not return, and start this node again`,
  )
}
