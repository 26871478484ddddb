/**
 * Finds parts of the embedded store whose files contradict their checksums, their table or their rows.
 *
 * The engine verifies blocks of columns and primary keys only when it reads them, and then every query of the table fails. It takes
 * three files of a part on trust: `columns.txt` (a type with another scale divides amounts by ten), the range of time in `minmax_*.idx`
 * (a part outside of a query's range is skipped), and `ttl.txt` of service levels (a part that has expired as a whole is dropped
 * without a look at its rows).
 */

import { within, type ClickHouse } from './client.ts'
import { isDerived, tableNames } from './definitions.ts'

export interface PartFault {
  readonly table: string
  readonly part: string
  /** Null: the engine does not name it. */
  readonly file: string | null
}

/** Tables with the column that their parts are pruned by, and the months after which the engine removes a row; null: never. */
const TIMES = [
  { table: 'line_items', column: 'window_start', keptMonths: null },
  { table: 'line_items_hourly', column: 'hour', keptMonths: null },
  { table: 'service_levels', column: 'minute', keptMonths: 13 },
] as const
/** Checks the newest parts of each table, up to this many rows: at about 50 ns per row, startup takes at most 0.2 s longer. */
const ROWS_MAX = 1_500_000

/** Parts that a pending mutation of the table has not rewritten yet have the earlier columns. */
const WRONG_COLUMNS = `
  SELECT DISTINCT table, name AS part, 'columns.txt' AS file FROM system.parts_columns
  WHERE active AND database = currentDatabase() AND (table, column, type) NOT IN
    (SELECT table, name, type FROM system.columns WHERE database = currentDatabase())
    AND table NOT IN (SELECT table FROM system.mutations WHERE database = currentDatabase() AND NOT is_done)`

/** The range may be wider than the rows of the part, because some were deleted or have expired. */
const IS_RANGE_WRONG = '(first > first_row OR last < last_row)'

function wrongTimes({ table, column, keptMonths }: (typeof TIMES)[number]): string {
  const expires = `expires > 0 AND expires < toUInt32(addMonths(toDateTime(last_row, 'UTC'), ${keptMonths}))`
  return `
  WITH parts AS (
    SELECT name, toUInt32(min_time) AS first, toUInt32(max_time) AS last, toUInt32(delete_ttl_info_max) AS expires FROM (
      SELECT name, min_time, max_time, delete_ttl_info_max, sum(rows) OVER (ORDER BY modification_time DESC, name) AS read
      FROM system.parts WHERE active AND database = currentDatabase() AND table = '${table}')
    WHERE read <= ${ROWS_MAX})
  SELECT '${table}' AS table, name AS part, if(${IS_RANGE_WRONG}, 'minmax_${column}.idx', 'ttl.txt') AS file
  FROM parts INNER JOIN (
    SELECT _part AS name, toUInt32(min(${column})) AS first_row, toUInt32(max(${column})) AS last_row
    FROM ${table} WHERE _part IN (SELECT name FROM parts) GROUP BY _part) AS ranges USING (name)
  WHERE ${IS_RANGE_WRONG}
    OR (${keptMonths === null ? 'false' : expires})`
}

/** Each start reads `flushes`. The others are logs: who reads a damaged part gets 503, and the start is not refused. */
const UNVERIFIED: ReadonlySet<string> = new Set(['flushes', 'request_log', 'risk_events'])
/** Verifies the newest parts of each table, up to this size: 16 MB take 0.1 s. */
const VERIFIED_BYTES_MAX = 32_000_000

const NEWEST_PARTS = `
  SELECT table, name AS part FROM (
    SELECT table, name, sum(bytes_on_disk) OVER (PARTITION BY table ORDER BY modification_time DESC, name) AS bytes
    FROM system.parts WHERE active AND database = currentDatabase())
  WHERE bytes <= ${VERIFIED_BYTES_MAX}`

const FILE = /for file (\S+) in/

interface Check {
  readonly part_path: string
  readonly is_passed: number
  readonly message: string
}

/** Returns the first fault of each part. The engine keeps parts that merges replace for eight minutes. */
async function findChecksumFaults(client: ClickHouse): Promise<readonly PartFault[]> {
  const tables = tableNames().filter((table) => !UNVERIFIED.has(table) && !isDerived(table))
  const newest = await select<{ table: string; part: string }>(client, NEWEST_PARTS)
  const faults: PartFault[] = []
  for (const { table, part } of newest.filter((each) => tables.includes(each.table))) {
    for (const check of await select<Check>(client, `CHECK TABLE ${table} PART '${part}'`))
      if (check.is_passed === 0) faults.push({ table, part, file: FILE.exec(check.message)?.[1] ?? null })
  }
  return faults
}

export async function findPartFaults(client: ClickHouse): Promise<readonly PartFault[]> {
  const damaged = await findChecksumFaults(client)
  // The other queries would fail on these.
  if (damaged.length > 0) return damaged
  const faults: PartFault[] = []
  for (const query of [WRONG_COLUMNS, ...TIMES.map(wrongTimes)]) {
    // The projection would read the file that is being checked.
    faults.push(...(await select<PartFault>(client, `${query} SETTINGS optimize_use_implicit_projections = 0`)))
  }
  return faults
}

/** Moves the parts to `detached/` of their table, which the engine does not read. */
export async function detachParts(client: ClickHouse, faults: readonly PartFault[]): Promise<void> {
  const parts = new Map(faults.map(({ table, part }) => [`${table}/${part}`, { table, part }]))
  for (const { table, part } of parts.values()) {
    await client.command({ query: `ALTER TABLE ${table} DETACH PART '${part}'`, abort_signal: within(undefined) })
  }
}

async function select<Row>(client: ClickHouse, query: string): Promise<readonly Row[]> {
  const result = await client.query({ query, format: 'JSONEachRow', abort_signal: within(undefined) })
  return result.json<Row>()
}
