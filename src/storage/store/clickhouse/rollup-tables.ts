/**
 * Makes the rollups of a month: in tables beside them, which then replace its partitions.
 *
 * Days of which the rollups have no row are added directly. No read uses them before they are compared, and if the work is cut off they
 * have rows, so that the month is replaced.
 */

import { DAY_S } from '../../../foundation/domain/calendar.ts'
import { withAsides } from './aside-tables.ts'
import type { ClickHouse } from './client.ts'
import { onAllReplicas } from './replicas.ts'
import { inBackground, inBackgroundOf, type MonthState } from './rollup-state.ts'

const ROLLUPS = ['usage_daily', 'usage_daily_by_price', 'usage_hourly_by_api', 'usage_monthly'] as const

const SUMS = 'sum(u.calls), sum(u.units), sum(u.amount)'
const DAILY_KEY = 'day, tenant, api, consumer, operation, subscription, agent, currency'
const BY_API_KEY = 'hour, tenant, api, operation, currency'
const BY_PRICE_KEY = 'day, tenant, consumer, api, currency, price'
const MONTHLY_KEY = 'month, tenant, api, consumer, operation, subscription, agent, currency'

export function isRollup(table: string): boolean {
  return ROLLUPS.some((rollup) => rollup === table)
}

export async function makeRollups(client: ClickHouse, state: MonthState, signal?: AbortSignal): Promise<void> {
  const run: Run = (query) => client.command({ query, abort_signal: inBackground(signal) })
  if (state.isNew) await addDays(run, state, { background: inBackgroundOf(client), nameOf: (table) => table })
  else await withAsides(client, ROLLUPS, (next) => replaceMonth(client, state, next, signal), signal)
}

type Run = (query: string) => Promise<unknown>
type Rollup = (typeof ROLLUPS)[number]

/** The days that are complete are copied; the others are made from the hourly totals, and by price from the line items. */
async function replaceMonth(
  client: ClickHouse,
  state: MonthState,
  next: (table: Rollup) => string,
  signal?: AbortSignal,
): Promise<void> {
  const run: Run = (query) => client.command({ query, abort_signal: inBackground(signal) })
  const background = inBackgroundOf(client)
  const { month, same, priced, isOver } = state
  if (same.length > 0) {
    await run(`INSERT INTO ${next('usage_daily')} SELECT * FROM usage_daily
      WHERE toYYYYMM(day) = ${month} AND toUnixTimestamp(toDateTime(day, 'UTC')) IN (${same.join()}) ${background}`)
    await run(`INSERT INTO ${next('usage_hourly_by_api')} SELECT * FROM usage_hourly_by_api
      WHERE toYYYYMM(hour) = ${month} AND toUnixTimestamp(toStartOfDay(hour)) IN (${same.join()}) ${background}`)
  }
  if (priced.length > 0) {
    await run(`INSERT INTO ${next('usage_daily_by_price')} SELECT * FROM usage_daily_by_price
      WHERE toYYYYMM(day) = ${month} AND toUnixTimestamp(toDateTime(day, 'UTC')) IN (${priced.join()}) ${background}`)
  }
  await addDays(run, state, { background, nameOf: next })
  if (isOver) {
    await run(`INSERT INTO ${next('usage_monthly')} SELECT toStartOfMonth(u.day) AS ${MONTHLY_KEY}, ${SUMS}
      FROM ${next('usage_daily')} AS u GROUP BY ${MONTHLY_KEY} ${background}`)
  }
  for (const table of ROLLUPS) await replacePartition(client, { table, id: month, from: next(table) }, signal)
}

/** Replaces a partition by the rows of a table. */
export async function replacePartition(
  client: ClickHouse,
  { table, id, from }: { readonly table: string; readonly id: string; readonly from: string },
  signal?: AbortSignal,
): Promise<void> {
  const hasRows = await isFilled(client, from, signal)
  const change = hasRows ? `REPLACE PARTITION ID '${id}' FROM ${from}` : `DROP PARTITION ID '${id}'`
  const query = `ALTER TABLE ${table} ${change}${onAllReplicas(client)}`
  await client.command({ query, abort_signal: inBackground(signal) })
}

interface Target {
  readonly background: string
  readonly nameOf: (table: Rollup) => string
}

async function addDays(run: Run, { differing, unpriced }: MonthState, { background, nameOf }: Target): Promise<void> {
  for (const dayS of unpriced) {
    await run(`INSERT INTO ${nameOf('usage_daily_by_price')} SELECT toDate(u.window_start) AS ${BY_PRICE_KEY}, ${SUMS}
      FROM line_items AS u WHERE ${isOfDay('window_start', dayS)} GROUP BY ${BY_PRICE_KEY} ${background}`)
  }
  for (const dayS of differing) {
    await run(`INSERT INTO ${nameOf('usage_daily')} SELECT toDate(u.hour) AS ${DAILY_KEY}, ${SUMS}
      FROM line_items_hourly AS u WHERE ${isOfDay('hour', dayS)} GROUP BY ${DAILY_KEY} ${background}`)
    await run(`INSERT INTO ${nameOf('usage_hourly_by_api')} SELECT ${BY_API_KEY}, ${SUMS}
      FROM line_items_hourly AS u WHERE ${isOfDay('hour', dayS)} GROUP BY ${BY_API_KEY} ${background}`)
  }
}

function isOfDay(column: string, dayS: number): string {
  return `u.${column} >= toDateTime(${dayS}, 'UTC') AND u.${column} < toDateTime(${dayS + DAY_S}, 'UTC')`
}

async function isFilled(client: ClickHouse, table: string, signal?: AbortSignal): Promise<boolean> {
  const query = `SELECT count() > 0 AS is_filled FROM ${table}`
  const result = await client.query({ query, format: 'JSONEachRow', abort_signal: inBackground(signal) })
  return (await result.json<{ is_filled: number }>())[0]?.is_filled === 1
}
