/**
 * Migrates the schema of a cluster: the same files, with replicated engines, on all replicas.
 *
 * A new cluster gets the tables that all files add up to, so that no view is altered there. A schema is changed while all replicas
 * answer; a start that changes nothing needs only its own.
 */

import { randomBytes } from 'node:crypto'
import { within, type ClickHouse } from './client.ts'
import { toClusterStatement } from './cluster-statements.ts'
import { definitionStatements, tableNames } from './definitions.ts'
import { insertOnce } from './insert-once.ts'
import { ifMissing, migrate, pendingFiles, readApplied, type Applied, type SchemaFile } from './migrations.ts'
import { synchronise } from './replicas.ts'

/** Shorter than the time limit of a request, so that the server says which replica did not answer. */
const ON_ALL_REPLICAS = { distributed_ddl_task_timeout: '25', distributed_ddl_output_mode: 'throw' } as const

/** Migrates the store, whether it is a cluster or not. */
export function migrateStore(client: ClickHouse): Promise<void> {
  return client.cluster === null ? migrate(client) : migrateCluster(client, client.cluster)
}

async function migrateCluster(client: ClickHouse, cluster: string): Promise<void> {
  const run = async (statement: string): Promise<void> => {
    const query = toClusterStatement(ifMissing(statement), cluster)
    await client.command({ query, clickhouse_settings: ON_ALL_REPLICAS, abort_signal: within(undefined) })
  }
  const applied = await readAppliedHere(client)
  const pending = pendingFiles(applied)
  if (applied.size === 0) for (const statement of definitionStatements()) await run(statement)
  for (const { file, hash, statements } of pending) {
    if (applied.size > 0) for (const statement of statements) await run(statement)
    await record(client, { file, hash })
  }
  await synchronise(client, tableNames())
}

async function readAppliedHere(client: ClickHouse): Promise<Applied> {
  const result = await client.query({
    query: `SELECT name FROM system.tables WHERE database = currentDatabase() AND name = 'schema_changes'`,
    format: 'JSONEachRow',
    abort_signal: within(undefined),
  })
  if ((await result.json()).length === 0) return new Map()
  await synchronise(client, ['schema_changes'])
  return readApplied(client)
}

function record(client: ClickHouse, { file, hash }: Pick<SchemaFile, 'file' | 'hash'>): Promise<void> {
  return insertOnce(client, {
    table: 'schema_changes',
    token: `schema-${randomBytes(8).toString('hex')}`,
    rows: [{ file, hash }],
  })
}
