/**
 * Reads of a cluster that must see what other nodes stored, or that a majority of its replicas stored.
 *
 * An insert is acknowledged when a majority of the replicas have its rows, and this replica may not be one of them.
 */

import { within, type ClickHouse } from './client.ts'

/** Fetches all rows that any replica has stored until now. Does nothing without a cluster. */
export async function synchronise(client: ClickHouse, tables: readonly string[], signal?: AbortSignal): Promise<void> {
  if (client.cluster === null) return
  for (const table of tables)
    await client.command({ query: `SYSTEM SYNC REPLICA ${table} LIGHTWEIGHT`, abort_signal: within(signal) })
}

/** Part of a statement that replaces or attaches a partition: it ends when all replicas have its rows. */
export function onAllReplicas({ cluster }: Pick<ClickHouse, 'cluster'>): string {
  return cluster === null ? '' : ' SETTINGS alter_sync = 2, replication_wait_for_inactive_replica_timeout = 20'
}

export interface RowsOfFlush {
  readonly instance: string
  readonly number: number
}

const TABLES_OF_FLUSH = ['line_items', 'service_levels', 'request_log'] as const

/**
 * Throws if rows of a flush, or the hourly totals of its instance, are on fewer replicas than a quorum: an insert without an answer
 * may have stored them on one replica only, whose loss would lose them. Does nothing without a cluster.
 */
export async function requireQuorum(client: ClickHouse, { instance, number }: RowsOfFlush): Promise<void> {
  if (client.cluster === null) return
  const isOwn = 'writer = {instance:String}'
  const counted = [
    ...TABLES_OF_FLUSH.map((table) => [table, 'count()', `${isOwn} AND flush_number = {number:UInt64}`] as const),
    ['line_items_hourly', 'sum(calls)', isOwn] as const,
  ]
  const replicas = await select<{ replicas: string }>(
    client,
    'SELECT count() AS replicas FROM system.clusters WHERE cluster = {cluster:String}',
    { cluster: client.cluster },
  )
  const majority = Math.floor(Number(replicas[0]?.replicas ?? 0) / 2) + 1
  for (const [table, total, condition] of counted) {
    const having = await select<{ host: string; total: string }>(
      client,
      `SELECT concat(hostName(), ':', toString(tcpPort())) AS host, toString(${total}) AS total
       FROM clusterAllReplicas('${client.cluster}', currentDatabase(), ${table}) WHERE ${condition}
       GROUP BY host SETTINGS skip_unavailable_shards = 1`,
      { instance, number },
    )
    const most = Math.max(0, ...having.map(({ total: found }) => Number(found)))
    const complete = having.filter(({ total: found }) => Number(found) === most).length
    if (most > 0 && complete < majority) throw new QuorumMissing(table, complete, majority)
  }
}

/** Thrown while too few replicas have rows that are stored. */
class QuorumMissing extends Error {
  override readonly name = 'QuorumMissing'

  constructor(table: string, replicas: number, majority: number) {
    super(`rows of ${table} are on ${replicas} of the ${majority} replicas that must have them; waiting for the others`)
  }
}

async function select<Row>(
  client: ClickHouse,
  query: string,
  params: Record<string, unknown>,
): Promise<readonly Row[]> {
  const options = { query, query_params: params, format: 'JSONEachRow', abort_signal: within(undefined) } as const
  return (await client.query(options)).json<Row>()
}
