/** Refuses a server whose cluster cannot hold usage, or whose tables do not fit the setting `CLICKHOUSE_CLUSTER`. */

import { StartRefused } from '../../../foundation/runtime/start-refused.ts'
import { within, withoutCredentials, type ClickHouse } from './client.ts'
import { tableNames } from './definitions.ts'

/** Connections over which a start looks for a load balancer that spreads statements. */
const PROBES = 6
const MACROS = ['shard', 'replica'] as const

/** Does nothing for the embedded engine. Throws `StartRefused`. */
export async function refuseUnusable(client: ClickHouse, url: string | null): Promise<void> {
  if (url === null) return
  if (client.cluster !== null) await refuseCluster(client, client.cluster, withoutCredentials(url))
  await refuseTables(client, withoutCredentials(url))
}

async function refuseCluster(client: ClickHouse, cluster: string, server: string): Promise<void> {
  const refuse = (sentence: string): never => {
    throw new StartRefused(`CLICKHOUSE_CLUSTER: ${sentence}`)
  }
  const [found] = await select<{ replicas: string; shards: string }>(
    client,
    `SELECT toString(count()) AS replicas, toString(uniqExact(shard_num)) AS shards FROM system.clusters WHERE cluster = '${cluster}'`,
  )
  if (found === undefined || found.replicas === '0')
    refuse(`the server ${server} knows no cluster ${cluster} (remote_servers of its configuration)`)
  if (found!.shards !== '1')
    refuse(
      `the cluster ${cluster} has ${found!.shards} shards; this version stores usage in one shard with any number of replicas`,
    )
  const macros = (await select<{ macro: string }>(client, 'SELECT macro FROM system.macros')).map(({ macro }) => macro)
  const missing = MACROS.filter((macro) => !macros.includes(macro))
  if (missing.length > 0)
    refuse(`the server ${server} has no macro ${missing.join(' and ')} (macros of its configuration)`)
  await select(client, `SELECT name FROM system.zookeeper WHERE path = '/' LIMIT 1`).catch((cause: unknown) => {
    throw new StartRefused(
      `CLICKHOUSE_CLUSTER: the server ${server} has no connection to ClickHouse Keeper, which replicated tables need`,
      { cause },
    )
  })
  const probes = Array.from({ length: PROBES }, () =>
    select<{ id: string }>(client, 'SELECT toString(serverUUID()) AS id'),
  )
  const servers = new Set((await Promise.all(probes)).map(([row]) => row?.id))
  if (servers.size > 1)
    refuse(
      `CLICKHOUSE_URL ${server} is ${servers.size} servers; name one replica, or let the balancer use one at a time`,
    )
}

/** Plain tables lose what replicas must keep, and inserts without a quorum lose what replicated tables could keep. */
async function refuseTables(client: ClickHouse, server: string): Promise<void> {
  const rows = await select<{ name: string; engine: string }>(
    client,
    'SELECT name, engine FROM system.tables WHERE database = currentDatabase()',
  )
  const names = new Set(tableNames())
  const own = rows.filter(({ name, engine }) => names.has(name) && engine.endsWith('MergeTree'))
  const isReplicated = ({ engine }: (typeof own)[number]): boolean => engine.startsWith('Replicated')
  const wrong = own.find((table) => isReplicated(table) !== (client.cluster !== null))
  if (wrong === undefined) return
  throw new StartRefused(
    client.cluster === null
      ? `CLICKHOUSE_URL ${server}: the table ${wrong.name} is replicated; set CLICKHOUSE_CLUSTER, as all nodes of this database do`
      : `CLICKHOUSE_CLUSTER: the table ${wrong.name} of ${server} is not replicated; name a database that has no tables of tollgate`,
  )
}

async function select<Row>(client: ClickHouse, query: string): Promise<readonly Row[]> {
  const result = await client.query({ query, format: 'JSONEachRow', abort_signal: within(undefined) })
  return result.json<Row>()
}
