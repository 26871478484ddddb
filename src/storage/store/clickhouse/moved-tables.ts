/** The tables that move from an embedded store to a server, with the digests by which both are compared, per partition. */

import { within, type ClickHouse } from './client.ts'

export interface MovedTable {
  readonly name: string
  /** Id of the partition of a row. */
  readonly partition: string
  /** Expressions whose texts are equal when the rows are; none depends on their order or on merges. */
  readonly digest: readonly string[]
  /**
   * How the server knows the rows that were moved. `writer`: by their writer. `id`: by their ids. `whole`: the partition has only
   * them.
   */
  readonly by: 'writer' | 'id' | 'whole'
}

export interface Partition {
  readonly table: MovedTable
  readonly id: string
}

/** Wraps around, as sums of the engine do. */
const sumOfHashes = (columns: string, times = '1'): string => `sum(cityHash64(${columns}) * ${times})`

/**
 * In the order in which they move: a statement before the line items of its month, so that no node of the server closes the month
 * again.
 */
export const MOVED_TABLES: readonly MovedTable[] = [
  {
    name: 'statement_lines',
    partition: 'toYYYYMM(month)',
    digest: ['count()', 'sum(calls)', 'sum(units)', 'sum(amount)', sumOfHashes('tenant, consumer, api, currency')],
    by: 'whole',
  },
  {
    name: 'statement_corrections',
    partition: 'toYYYYMM(month)',
    digest: ['count()', 'sum(calls)', 'sum(units)', 'sum(amount)', sumOfHashes('tenant, consumer, api, currency')],
    by: 'whole',
  },
  {
    name: 'line_items',
    partition: 'toYYYYMM(window_start)',
    digest: [
      ...['count()', 'sum(calls)', 'sum(units)', 'sum(amount)'],
      sumOfHashes(
        'tenant, api, operation, consumer, consumer_name, subscription, agent, revision, toUnixTimestamp(window_start)',
      ),
    ],
    by: 'writer',
  },
  {
    // Rows of equal keys are added up by merges.
    name: 'line_items_hourly',
    partition: 'toYYYYMM(hour)',
    digest: [
      ...['sum(calls)', 'sum(units)', 'sum(amount)'],
      sumOfHashes('tenant, api, operation, consumer, subscription, agent, currency, toUnixTimestamp(hour)', 'calls'),
    ],
    by: 'writer',
  },
  {
    name: 'service_levels',
    partition: 'toYYYYMM(minute)',
    digest: [
      ...['count()', 'sum(calls)', 'sum(unanswered)', 'sum(errors)', 'sum(successes)', 'sum(latency_us)'],
      sumOfHashes('tenant, api, operation, revision, toUnixTimestamp(minute)', 'calls'),
    ],
    by: 'writer',
  },
  {
    name: 'request_log',
    partition: 'toYYYYMMDD(at)',
    digest: [
      'count()',
      'sum(units)',
      'sum(response_bytes)',
      sumOfHashes('tenant, api, revision, request_id, outcome, explanation'),
    ],
    by: 'writer',
  },
  {
    name: 'risk_events',
    partition: 'toYYYYMM(at)',
    digest: ['count()', sumOfHashes('id, tenant, risk_id, body')],
    by: 'id',
  },
]

/** The engine removes older service levels, and would do so while they are compared. */
const LEVELS_KEPT_MONTHS = 13
const MARGIN_MS = 2 * 86_400_000

/** Lists what an embedded store holds, in the order in which it moves. */
export async function listPartitions(source: ClickHouse, nowMs: number): Promise<readonly Partition[]> {
  const rows = await select<{ table: string; id: string }>(
    source,
    `SELECT DISTINCT table, partition_id AS id FROM system.parts
     WHERE active AND rows > 0 AND database = currentDatabase() ORDER BY id`,
  )
  const isKept = ({ table, id }: (typeof rows)[number]): boolean =>
    table !== 'service_levels' ||
    Date.UTC(Number(id.slice(0, 4)), Number(id.slice(4)) - 1 + LEVELS_KEPT_MONTHS) > nowMs + MARGIN_MS
  return MOVED_TABLES.flatMap((table) =>
    rows.filter((row) => row.table === table.name && isKept(row)).map(({ id }) => ({ table, id })),
  )
}

/** Returns the digest of the rows of a partition, as text. `condition`: of the rows that count. */
export async function digestOf(
  client: ClickHouse,
  { table, id }: Partition,
  { name = table.name, condition = 'true' }: { readonly name?: string; readonly condition?: string } = {},
): Promise<string> {
  const parts = table.digest.map((expression) => `toString(${expression})`).join(", ' ', ")
  const [row] = await select<{ digest: string }>(
    client,
    `SELECT concat(${parts}, '') AS digest FROM ${name} WHERE ${table.partition} = ${Number(id)} AND ${condition}
     SETTINGS max_threads = 2, max_execution_time = 600`,
  )
  return row?.digest ?? ''
}

/** Returns the digest of no rows. */
export function emptyDigest({ digest }: MovedTable): string {
  return digest.map(() => '0').join(' ')
}

const TIMEOUT_MS = 15 * 60_000

export async function select<Row>(client: ClickHouse, query: string): Promise<readonly Row[]> {
  const result = await client.query({ query, format: 'JSONEachRow', abort_signal: within(undefined, TIMEOUT_MS) })
  return result.json<Row>()
}
