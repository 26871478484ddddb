/**
 * The series of a chart of usage: the five largest groups and all others together, over intervals.
 *
 * The number of reads is fixed: one for the ranking, one for the total, and one for each of the five.
 */

import { useMemo } from 'preact/hooks'
import type { Item } from '../../api/operations.ts'
import { useRead } from '../../api/use-read.ts'
import type { Series } from '../../parts/chart.tsx'
import { toAmount, toNumber } from '../../parts/values.tsx'
import { texts } from '../../texts.ts'
import { differenceOf, sumOf } from './exact.ts'
import { endOf, type Range } from './range.tsx'

export type Summary = Item<'/v1/summaries'>
export type Metric = 'calls' | 'value' | 'amount'
/** Groups that are filters as well, so that each can be read alone. */
export const CHARTED = ['api', 'customer', 'operation', 'subscription'] as const
export type Charted = (typeof CHARTED)[number]

export interface SeriesQuery {
  readonly range: Range
  readonly filters: Readonly<Record<string, string>>
  /** Null: the total alone. */
  readonly by: Charted | null
  readonly metric: Metric
  readonly currency: string
}

export interface SeriesReading {
  readonly times: readonly number[]
  readonly series: readonly Series[]
  readonly unit: string
  /** Not all groups could be ranked. */
  readonly isCut: boolean
}

type Interval = 'hour' | 'day' | 'month'

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
const ROWS_MAX = '500'
const TOP = 5
const { usage, chart } = texts

/** Returns null until everything has been read. */
export function useSeries({ range, filters, by, metric, currency }: SeriesQuery): SeriesReading | null {
  const interval = intervalOf(range)
  const asked = { ...filters, from: range.from, to: range.to, limit: ROWS_MAX }
  const ranking = useRead(by === null ? null : '/v1/summaries', { query: { ...asked, groupBy: by ?? '' } })
  const total = useRead('/v1/summaries', { query: { ...asked, groupBy: '', interval } })
  const names = by === null ? [] : rank(ranking.data?.items ?? [], by, metric, currency)
  const useOne = (position: number) => {
    const name = names[position]
    const path = by === null || name === undefined || name === '' ? null : '/v1/summaries'
    const own = by === null || name === undefined ? {} : { [by]: name }
    return useRead(path, { query: { ...asked, ...own, groupBy: '', interval } })
  }
  const top = [useOne(0), useOne(1), useOne(2), useOne(3), useOne(4)]
  const read = top.map(({ data }) => data)
  return useMemo(() => {
    const shown = names.filter((name) => name !== '')
    if (total.data === null || (by !== null && ranking.data === null)) return null
    if (shown.some((_, index) => read[index] === null)) return null
    const times = bucketsOf(range, interval)
    const column = (rows: readonly Summary[]): readonly string[] =>
      toColumn(rows, { times, interval, metric, currency })
    const sum = column(total.data.items)
    const columns = shown.map((_, index) => column(read[index]?.items ?? []))
    const rest = sum.map((each, index) => differenceOf(each, sumOf(columns.map((one) => one[index] ?? '0'))))
    const unit = metric === 'amount' ? currency : usage.units[metric]
    const toOne = (name: string, texts: readonly string[]): Series => ({
      name,
      values: texts.map(Number),
      shown: texts.map((text) => toText(text, metric, unit)),
    })
    const all = shown.map((name, index) => toOne(name, columns[index] ?? []))
    const isRest = rest.some((text) => text !== '0')
    const others = { ...toOne(shown.length === 0 ? usage.total : chart.others, rest), isOthers: shown.length > 0 }
    return {
      times,
      series: isRest || shown.length === 0 ? [...all, others] : all,
      unit,
      isCut: by !== null && ranking.data?.next !== null,
    }
  }, [JSON.stringify([range, by, metric, currency, names]), total.data, ranking.data, ...read])
}

/** Returns the largest groups, the largest first. */
function rank(rows: readonly Summary[], by: Charted, metric: Metric, currency: string): readonly string[] {
  const sums = new Map<string, number>()
  for (const row of rows) {
    const name = row[by] ?? ''
    if (metric !== 'amount' || row.currency === currency) sums.set(name, (sums.get(name) ?? 0) + Number(row[metric]))
  }
  return [...sums]
    .sort(([, one], [, other]) => other - one)
    .map(([name]) => name)
    .slice(0, TOP)
}

export function intervalOf(range: Range): Interval {
  const spanMs = endOf(range) - Date.parse(range.from)
  if (spanMs <= 3 * DAY_MS) return 'hour'
  return spanMs <= 120 * DAY_MS ? 'day' : 'month'
}

function bucketsOf(range: Range, interval: Interval): readonly number[] {
  const times: number[] = []
  for (let at = startOf(Date.parse(range.from), interval); at < endOf(range); at = nextOf(at, interval)) times.push(at)
  return times
}

export function startOf(ms: number, interval: Interval): number {
  if (interval === 'month') return Date.UTC(new Date(ms).getUTCFullYear(), new Date(ms).getUTCMonth(), 1)
  const size = interval === 'hour' ? HOUR_MS : DAY_MS
  return Math.floor(ms / size) * size
}

export function nextOf(ms: number, interval: Interval): number {
  if (interval === 'month') return Date.UTC(new Date(ms).getUTCFullYear(), new Date(ms).getUTCMonth() + 1, 1)
  return ms + (interval === 'hour' ? HOUR_MS : DAY_MS)
}

interface ColumnOptions extends Pick<SeriesQuery, 'metric' | 'currency'> {
  readonly times: readonly number[]
  readonly interval: Interval
}

/** Returns the exact sum of each interval. */
function toColumn(rows: readonly Summary[], { times, interval, metric, currency }: ColumnOptions): readonly string[] {
  const found = new Map<number, string[]>()
  for (const row of rows) {
    if (metric === 'amount' && row.currency !== currency) continue
    const at = startOf(Date.parse(row.from), interval)
    found.set(at, [...(found.get(at) ?? []), metric === 'amount' ? row.amount : toPlain(row[metric])])
  }
  return times.map((time) => sumOf(found.get(time) ?? []))
}

/** A number without an exponent, with the six digits that resource units have. */
function toPlain(value: number): string {
  return value.toFixed(6)
}

function toText(text: string, metric: Metric, unit: string): string {
  return metric === 'amount' ? toAmount(text, unit) : `${toNumber(Number(text))} ${unit}`
}
