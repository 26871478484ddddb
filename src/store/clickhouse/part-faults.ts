/**
 * Finds parts of the embedded store whose small files contradict their table or their rows.
 *
 * The engine verifies blocks of columns when it reads them, but takes two files of a part on trust: `columns.txt` (a type with another
 * scale divides amounts by ten) and the range of time in `minmax_*.idx` (a part outside of a query's range is skipped).
 */

import { within, type ClickHouse } from './client.ts'

export interface PartFault {
  readonly table: string
  readonly part: string
  readonly file: string
}

/** Tables that are read by ranges of time, with the column that their parts are pruned by. */
const TIMES = { line_items: 'window_start', line_items_hourly: 'hour', service_levels: 'minute' } as const
/** Of each table, the newest parts are read up to this many rows, at about 50 ns a row. */
const ROWS_MAX = 50_000_000

/** Parts that a change of the table has yet to rewrite have its earlier columns. */
const WRONG_COLUMNS = `
  SELECT DISTINCT table, name AS part, 'columns.txt' AS file FROM system.parts_columns
  WHERE active AND database = currentDatabase() AND (table, column, type) NOT IN
    (SELECT table, name, type FROM system.columns WHERE database = currentDatabase())
    AND table NOT IN (SELECT table FROM system.mutations WHERE database = currentDatabase() AND NOT is_done)`

/** A range may be wider than its rows: some were deleted or have expired. */
function wrongRange([table, column]: readonly [table: string, column: string]): string {
  return `
  WITH parts AS (
    SELECT name, toUInt32(min_time) AS first, toUInt32(max_time) AS last FROM (
      SELECT name, min_time, max_time, sum(rows) OVER (ORDER BY modification_time DESC, name) AS read
      FROM system.parts WHERE active AND database = currentDatabase() AND table = '${table}')
    WHERE read <= ${ROWS_MAX})
  SELECT '${table}' AS table, name AS part, 'minmax_${column}.idx' AS file
  FROM parts INNER JOIN (
    SELECT _part AS name, toUInt32(min(${column})) AS first_row, toUInt32(max(${column})) AS last_row
    FROM ${table} WHERE _part IN (SELECT name FROM parts) GROUP BY _part) AS ranges USING (name)
  WHERE first > first_row OR last < last_row`
}

export async function findPartFaults(client: ClickHouse): Promise<readonly PartFault[]> {
  const faults: PartFault[] = []
  for (const query of [WRONG_COLUMNS, ...Object.entries(TIMES).map(wrongRange)]) {
    const result = await client.query({
      // The projection would answer from the very file that is in question.
      query: `${query} SETTINGS optimize_use_implicit_projections = 0`,
      format: 'JSONEachRow',
      abort_signal: within(undefined),
    })
    faults.push(...(await result.json<PartFault>()))
  }
  return faults
}

/** Moves the parts to `detached/` of their table, where the engine does not read them. */
export async function detachParts(client: ClickHouse, faults: readonly PartFault[]): Promise<void> {
  const parts = new Map(faults.map(({ table, part }) => [`${table}/${part}`, { table, part }]))
  for (const { table, part } of parts.values()) {
    await client.command({ query: `ALTER TABLE ${table} DETACH PART '${part}'`, abort_signal: within(undefined) })
  }
}
