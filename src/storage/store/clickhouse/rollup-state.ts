/** Compares the rollups of a month with the hourly totals, day by day. */

import { DAY_S } from '../../../foundation/domain/calendar.ts'
import { within, yielding, type ClickHouse } from './client.ts'

export interface MonthState {
  /** Such as `202611`, which is also the id of its partition. */
  readonly month: string
  readonly monthS: number
  /** End of its last closed day. */
  readonly toS: number
  /** Whether all days of the month are closed. */
  readonly isOver: boolean
  /** First seconds of the closed days whose rollups have the sums of the hourly totals. */
  readonly same: readonly number[]
  /** First seconds of the closed days with hourly totals whose rollups have other sums, or none. */
  readonly differing: readonly number[]
  /** As `same` and `differing`, of the rollup by price; empty if the month has none. */
  readonly priced: readonly number[]
  readonly unpriced: readonly number[]
  /** Whether the rollup by the month has the sums of the hourly totals. */
  readonly isMonthSame: boolean
  /** Whether the rollups have no row of the days that differ, so that these can be added. */
  readonly isNew: boolean
  /** Whether nothing is to be rolled up or removed, except by price. */
  readonly isRolled: boolean
  readonly isComplete: boolean
}

interface DayRow {
  readonly day_s: number
  readonly sums: string
}

/** Usage of the last seconds of a day is stored after its end. Later usage is late, which is as exact but costs another rollup. */
const CLOSING_S = 600
/** In the background, a statement may read a whole month. */
const TIMEOUT_MS = 15 * 60_000

/** Part of each statement that reads or makes rollups. */
export function inBackgroundOf(client: Pick<ClickHouse, 'isEmbedded'>): string {
  return `SETTINGS max_threads = 1, max_insert_threads = 1, max_bytes_before_external_group_by = 200000000,
    max_bytes_before_external_sort = 200000000${yielding(client, 19)}`
}

const SUMS = `concat(toString(sum(u.calls)), ' ', toString(sum(u.units)), ' ', toString(sum(u.amount))) AS sums`

/** Returns the end of the last day of the month that is closed; the start of the month if none is. */
export function closedUpTo(monthS: number, nowMs: number): number {
  const today = Math.floor((nowMs / 1_000 - CLOSING_S) / DAY_S) * DAY_S
  return Math.max(monthS, Math.min(today, endOfMonth(monthS)))
}

/** Returns the first seconds of the months that have hourly totals or rollups, the newest first. */
export async function listMonths(client: ClickHouse, signal?: AbortSignal): Promise<readonly number[]> {
  const rows = await select<{ month: string }>(
    client,
    `SELECT DISTINCT partition_id AS month FROM system.parts WHERE active AND database = currentDatabase()
       AND table IN ('line_items_hourly', 'usage_hourly_by_api', 'usage_daily', 'usage_daily_by_price', 'usage_monthly') ORDER BY month DESC`,
    {},
    signal,
  )
  return rows.map(({ month }) => Date.UTC(Number(month.slice(0, 4)), Number(month.slice(4)) - 1, 1) / 1_000)
}

export interface ComparedMonth {
  readonly monthS: number
  readonly toS: number
  /** Whether the month is rolled up by price. */
  readonly isPriced: boolean
}

export async function compareMonth(
  client: ClickHouse,
  { monthS, toS, isPriced }: ComparedMonth,
  signal?: AbortSignal,
): Promise<MonthState> {
  const endS = endOfMonth(monthS)
  const isOver = toS === endS
  const params = { from: monthS, to: endS }
  const daysOf = (table: string, column: string): Promise<ReadonlyMap<number, string>> => {
    const day = `toUnixTimestamp(toStartOfDay(toDateTime(u.${column}, 'UTC')))`
    const query = `SELECT ${day} AS day_s, ${SUMS} FROM ${table} AS u
      WHERE u.${column} >= toDateTime({from:UInt32}, 'UTC') AND u.${column} < toDateTime({to:UInt32}, 'UTC')
      GROUP BY day_s ${inBackgroundOf(client)}`
    return select<DayRow>(client, query, params, signal).then(
      (rows) => new Map(rows.map(({ day_s, sums }) => [Number(day_s), sums])),
    )
  }
  const hourly = await daysOf('line_items_hourly', 'hour')
  const orDamaged = (cause: unknown): ReadonlyMap<number, string> => {
    signal?.throwIfAborted()
    if (cause instanceof Error) return DAMAGED
    throw cause
  }
  const byApi = await daysOf('usage_hourly_by_api', 'hour').catch(orDamaged)
  const daily = await daysOf('usage_daily', 'day').catch(orDamaged)
  const byPrice = await daysOf('usage_daily_by_price', 'day').catch(orDamaged)
  const closed = [...hourly.keys()].filter((dayS) => dayS < toS)
  const hasPrice = (dayS: number): boolean => isPriced && byPrice.get(dayS) === hourly.get(dayS)
  const isSame = (dayS: number): boolean => {
    const sums = hourly.get(dayS)
    return daily.get(dayS) === sums && byApi.get(dayS) === sums
  }
  const same = closed.filter(isSame)
  const differing = closed.filter((dayS) => !isSame(dayS))
  const isExtra = (dayS: number): boolean => dayS >= toS || !hourly.has(dayS)
  const hasExtra = [...daily.keys(), ...byApi.keys()].some(isExtra)
  const unpriced = isPriced ? closed.filter((dayS) => !hasPrice(dayS)) : []
  const hasExtraPrice = [...byPrice.keys()].some((dayS) => !isPriced || isExtra(dayS))
  const isNew =
    !hasExtra &&
    !hasExtraPrice &&
    !differing.some((dayS) => daily.has(dayS) || byApi.has(dayS)) &&
    !unpriced.some((dayS) => byPrice.has(dayS))
  const isMonthSame = await isMonthEqual(client, { monthS, isOver }, signal)
  const isRolled = differing.length === 0 && !hasExtra && isMonthSame
  return {
    month: toMonth(monthS),
    monthS,
    toS,
    isOver,
    same,
    differing,
    priced: closed.filter(hasPrice),
    unpriced,
    isNew: isNew && isMonthSame && !isOver,
    isMonthSame,
    isRolled,
    isComplete: isRolled && unpriced.length === 0 && !hasExtraPrice,
  }
}

/** A month that is not over has no rows. */
async function isMonthEqual(
  client: ClickHouse,
  { monthS, isOver }: Pick<MonthState, 'monthS' | 'isOver'>,
  signal?: AbortSignal,
): Promise<boolean> {
  const sumOf = async (table: string, column: string): Promise<string | undefined> => {
    const query = `SELECT ${SUMS} FROM ${table} AS u WHERE toYYYYMM(u.${column}) = {month:UInt32} ${inBackgroundOf(client)}`
    return (await select<{ sums: string }>(client, query, { month: Number(toMonth(monthS)) }, signal))[0]?.sums
  }
  try {
    const monthly = await sumOf('usage_monthly', 'month')
    return monthly === (isOver ? await sumOf('line_items_hourly', 'hour') : NO_ROWS)
  } catch {
    signal?.throwIfAborted()
    return false
  }
}

const NO_ROWS = '0 0 0'
/** A rollup with a damaged part cannot be read: it is replaced, because of a day that does not exist. */
const DAMAGED: ReadonlyMap<number, string> = new Map([[Infinity, '']])

function endOfMonth(monthS: number): number {
  const time = new Date(monthS * 1_000)
  return Date.UTC(time.getUTCFullYear(), time.getUTCMonth() + 1, 1) / 1_000
}

function toMonth(monthS: number): string {
  return new Date(monthS * 1_000).toISOString().slice(0, 7).replace('-', '')
}

export function inBackground(signal: AbortSignal | undefined): AbortSignal {
  return within(signal, TIMEOUT_MS)
}

async function select<Row>(
  client: ClickHouse,
  query: string,
  params: Readonly<Record<string, unknown>>,
  signal?: AbortSignal,
): Promise<readonly Row[]> {
  const options = { query, query_params: params, format: 'JSONEachRow', abort_signal: inBackground(signal) } as const
  return (await client.query(options)).json<Row>()
}
