/**
 * Completes line items and hourly totals of the embedded store from each other, after the loss of rows was accepted.
 *
 * The hourly totals are the bill. They have all that lost line items had, except their time within the hour, the name of the consumer
 * and the revision. Where the two contradict each other, the line items of that hour are made again, unless the totals lack calls.
 */

import { withAsides } from './aside-tables.ts'
import { within, type ClickHouse } from './client.ts'
import { rowsOf } from './flush-notes.ts'

export interface Incomplete {
  /** Such as `202611`: those in which the sums of the two differ. */
  readonly months: readonly string[]
  /** Those of them whose hourly totals lack calls. */
  readonly lacking: readonly string[]
}

/** Calls of the line items that were made from hourly totals, and of the hourly totals that were made from line items. */
export interface Completed {
  readonly itemCalls: number
  readonly hourlyCalls: number
}

const NAMES = 'tenant, api, operation, consumer, subscription, agent, currency'
const KEY = `hour, ${NAMES}`
const IS_MORE = 'item_calls > hour_calls OR item_units > hour_units OR item_amount > hour_amount'
const IS_LESS = 'item_calls < hour_calls OR item_units < hour_units OR item_amount < hour_amount'
const TIMEOUT_MS = 15 * 60_000
/** Rows that were inserted before, and lost since, have the same hash. */
const SETTINGS = 'SETTINGS insert_deduplicate = 0, async_insert = 0'

export async function completeSums(client: ClickHouse, { months, lacking }: Incomplete): Promise<Completed> {
  const hourlyCalls = lacking.length === 0 ? 0 : await completeTotals(client, lacking)
  const itemCalls = months.length === 0 ? 0 : await completeItems(client, months)
  return { itemCalls, hourlyCalls }
}

async function completeTotals(client: ClickHouse, months: readonly string[]): Promise<number> {
  const before = await countCalls(client, 'line_items_hourly')
  await execute(
    client,
    `INSERT INTO line_items_hourly (${KEY}, calls, units, amount) ${SETTINGS}
     SELECT ${KEY}, item_calls - hour_calls, item_units - hour_units, item_amount - hour_amount
     FROM (${differences(months)}) WHERE NOT (${IS_LESS})`,
  )
  return (await countCalls(client, 'line_items_hourly')) - before
}

function completeItems(client: ClickHouse, months: readonly string[]): Promise<number> {
  return withAsides(client, ['line_items', 'line_items_hourly'], async (nameOf) => {
    const [made, contradicted] = [nameOf('line_items'), nameOf('line_items_hourly')]
    // The engine drops rows whose sums are all zero.
    await execute(
      client,
      `INSERT INTO ${contradicted} (${KEY}, calls) ${SETTINGS}
       SELECT ${KEY}, 1 FROM (${differences(months)}) WHERE ${IS_MORE}`,
    )
    await execute(
      client,
      `INSERT INTO ${made} (window_start, ${NAMES}, price, calls, units, amount) ${SETTINGS}
       SELECT ${KEY}, toDecimal64(if(units = 0, 0, toFloat64(amount) / toFloat64(units)), 6), calls, units, amount FROM (
         SELECT ${KEY}, (${IS_MORE}) AS is_more,
           toUInt64(hour_calls - if(is_more, 0, item_calls)) AS calls,
           hour_units - if(is_more, toDecimal128(0, 6), item_units) AS units,
           hour_amount - if(is_more, toDecimal128(0, 12), item_amount) AS amount
         FROM (${differences(months)}))
       WHERE calls > 0 OR units != 0 OR amount != 0`,
    )
    await execute(
      client,
      `ALTER TABLE line_items DELETE WHERE (toStartOfHour(window_start), ${NAMES}) IN (SELECT ${KEY} FROM ${contradicted}) SETTINGS mutations_sync = 1`,
    )
    // The view of the hourly totals does not see rows that are attached.
    for (const month of months)
      await execute(client, `ALTER TABLE line_items ATTACH PARTITION ID '${month}' FROM ${made}`)
    return countCalls(client, made)
  })
}

/** Sums of both tables by key, where they differ. */
function differences(months: readonly string[]): string {
  const isOf = (time: string): string => `WHERE toYYYYMM(${time}) IN (${months.join(', ')})`
  const sums = ['calls', 'units', 'amount'].map(
    (name) => `sumIf(${name}, is_item) AS item_${name}, sumIf(${name}, NOT is_item) AS hour_${name}`,
  )
  return `
    SELECT ${KEY}, ${sums.join(', ')} FROM (
      SELECT toStartOfHour(window_start) AS hour, ${NAMES}, calls, units, amount, true AS is_item FROM line_items ${isOf('window_start')}
      UNION ALL
      SELECT ${KEY}, calls, units, amount, false AS is_item FROM line_items_hourly ${isOf('hour')})
    GROUP BY ${KEY} HAVING ${IS_MORE} OR ${IS_LESS}`
}

async function execute(client: ClickHouse, query: string): Promise<void> {
  await client.newParts.verified(async () => {
    await client.command({ query, abort_signal: within(undefined, TIMEOUT_MS) })
  })
}

async function countCalls(client: ClickHouse, table: string): Promise<number> {
  const [row] = await rowsOf<{ calls: string | number }>(client, `SELECT sum(calls) AS calls FROM ${table}`)
  return Number(row?.calls ?? 0)
}
