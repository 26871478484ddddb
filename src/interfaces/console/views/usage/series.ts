/**
 * The series of charts of usage: the five largest groups and all others together, over intervals.
 *
 * One read has all groups if they fit into a page. Otherwise the number of reads is fixed: one for the ranking, one for the total,
 * and one for each of the five. Several charts of the same usage share the reads.
 */

import { useMemo } from 'preact/hooks'
import type { Item } from '../../api/operations.ts'
import { useRead } from '../../api/use-read.ts'
import type { Series } from '../../parts/chart.tsx'
import { toAmount, toNumber } from '../../parts/values.tsx'
import { texts } from '../../texts.ts'
import { differenceOf, sumOf } from './exact.ts'
import { bucketsOf, intervalOf, startOf, type Interval } from './intervals.ts'
import { TOTAL } from './links.ts'
import type { Range } from './time-range.ts'

export type Summary = Item<'/v1/summaries'>
export type Metric = 'calls' | 'value' | 'amount'
/** Groups that are filters as well, so that each can be read alone. */
export const CHARTED = ['api', 'customer', 'operation', 'subscription'] as const
export type Charted = (typeof CHARTED)[number]

export interface UsageQuery {
  readonly range: Range
  readonly filters: Readonly<Record<string, string>>
  /** Null: the total alone. */
  readonly by: Charted | null
}

interface Group {
  readonly name: string
  readonly rows: readonly Summary[]
}

/** The usage of a time by groups and intervals. */
export interface Usage {
  readonly interval: Interval
  readonly times: readonly number[]
  readonly total: readonly Summary[]
  readonly groups: readonly Group[]
  /** Not all groups could be ranked. */
  readonly isCut: boolean
  readonly currencies: readonly string[]
}

const PAGE_MAX = '500'
const TOP = 5
const { usage, chart } = texts

/** Returns null until everything has been read. */
export function useUsage({ range, filters, by }: UsageQuery): Usage | null {
  const interval = intervalOf(range)
  const asked = { ...filters, from: range.from, to: range.to, limit: PAGE_MAX }
  const whole = useRead('/v1/summaries', { query: { ...asked, groupBy: by ?? TOTAL, interval } })
  const isMore = by !== null && whole.data !== null && whole.data.next !== null
  const more = isMore ? '/v1/summaries' : null
  const ranking = useRead(more, { query: { ...asked, groupBy: by ?? TOTAL } })
  const total = useRead(more, { query: { ...asked, groupBy: TOTAL, interval } })
  const names = isMore && by !== null ? largest(toGroups(ranking.data?.items ?? [], by)) : []
  const useOne = (position: number) => {
    const name = names[position]
    const own = by === null || name === undefined ? {} : { [by]: name }
    return useRead(name === undefined ? null : more, { query: { ...asked, ...own, groupBy: TOTAL, interval } })
  }
  const parts = [useOne(0), useOne(1), useOne(2), useOne(3), useOne(4)].map(({ data }) => data)
  return useMemo(() => {
    if (whole.data === null) return null
    const shared = { interval, times: bucketsOf(range, interval) }
    if (!isMore) {
      const rows = whole.data.items
      const groups = by === null ? [] : toGroups(rows, by)
      return { ...shared, total: rows, groups, isCut: false, currencies: currenciesOf(rows) }
    }
    if (ranking.data === null || total.data === null || names.some((_, index) => parts[index] === null)) return null
    const groups = names.map((name, index) => ({ name, rows: parts[index]?.items ?? [] }))
    const rows = total.data.items
    return { ...shared, total: rows, groups, isCut: ranking.data.next !== null, currencies: currenciesOf(rows) }
  }, [JSON.stringify([range, by, names]), whole.data, ranking.data, total.data, ...parts])
}

function toGroups(rows: readonly Summary[], by: Charted): readonly Group[] {
  const groups = [...Map.groupBy(rows, (row) => row[by] ?? '')]
  return groups.filter(([name]) => name !== '').map(([name, own]) => ({ name, rows: own }))
}

/** Returns the names of the groups with most calls. */
function largest(groups: readonly Group[]): readonly string[] {
  return rank(groups, 'calls', '').map(({ name }) => name)
}

function rank(groups: readonly Group[], metric: Metric, currency: string): readonly Group[] {
  const size = ({ rows }: Group): number =>
    rows
      .filter((row) => metric !== 'amount' || row.currency === currency)
      .reduce((sum, row) => sum + Number(row[metric]), 0)
  const sized = groups.map((group) => ({ group, size: size(group) })).filter(({ size: own }) => own > 0)
  return sized
    .sort((one, other) => other.size - one.size)
    .slice(0, TOP)
    .map(({ group }) => group)
}

function currenciesOf(rows: readonly Summary[]): readonly string[] {
  return [...new Set(rows.map(({ currency }) => currency))].filter((currency) => currency !== '').sort()
}

export interface UsageSeries {
  readonly times: readonly number[]
  readonly series: readonly Series[]
  readonly unit: string
}

/** Makes the series of one chart. */
export function toSeries(of: Usage, metric: Metric, currency = ''): UsageSeries {
  const { times, total, groups } = of
  const unit = metric === 'amount' ? currency : usage.units[metric]
  const column = (rows: readonly Summary[]): readonly string[] => toColumn(of, rows, metric, currency)
  const toOne = (name: string, shown: readonly string[]): Series => ({
    name,
    values: shown.map(Number),
    shown: shown.map((text) => toText(text, metric, unit)),
  })
  const top = rank(groups, metric, currency).map(({ name, rows }) => ({ name, sums: column(rows) }))
  const rest = column(total).map((sum, index) => differenceOf(sum, sumOf(top.map(({ sums }) => sums[index] ?? '0'))))
  const all = top.map(({ name, sums }) => toOne(name, sums))
  if (all.length === 0) return { times, series: [toOne(usage.total, rest)], unit }
  const isRest = rest.some((text) => text !== '0')
  return { times, series: isRest ? [...all, { ...toOne(chart.others, rest), isOthers: true }] : all, unit }
}

/** Returns the exact sum of each interval. */
function toColumn(of: Usage, rows: readonly Summary[], metric: Metric, currency: string): readonly string[] {
  const found = new Map<number, string[]>()
  for (const row of rows) {
    if (metric === 'amount' && row.currency !== currency) continue
    const at = startOf(Date.parse(row.from), of.interval)
    const own = found.get(at) ?? []
    own.push(metric === 'amount' ? row.amount : row[metric].toFixed(UNIT_PLACES))
    found.set(at, own)
  }
  return of.times.map((time) => sumOf(found.get(time) ?? []))
}

/** Digits of resource units after the point. */
const UNIT_PLACES = 6

function toText(text: string, metric: Metric, unit: string): string {
  return metric === 'amount' ? toAmount(text, unit) : `${toNumber(Number(text))} ${unit}`
}
