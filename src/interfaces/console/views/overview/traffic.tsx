/** Calls, errors, latency, resource units and money over time. */

import { DAY_MS, MINUTE_MS } from '../../../../foundation/domain/calendar.ts'
import { useRead } from '../../api/use-read.ts'
import type { Answer } from '../../api/operations.ts'
import { Chart, type Series } from '../../parts/chart.tsx'
import { Filters } from '../../parts/filters.tsx'
import { Empty, Loaded, Skeleton } from '../../parts/states.tsx'
import { toAmount, toNumber } from '../../parts/values.tsx'
import { BASE, query } from '../../router.ts'
import { scopes } from '../../shell/person.ts'
import { texts } from '../../texts.ts'
import { RangeFilter } from '../usage/range.tsx'
import { endOf, rangeOf, type Range } from '../usage/time-range.ts'
import { TOTAL } from '../usage/links.ts'
import { toSeries, useUsage } from '../usage/series.ts'
import { usePreset } from '../usage/use-preset.ts'

type Levels = Answer<'/v1/serviceLevels'>
type Window = Levels['windows'][number]

const words = texts.overview
/** As the API divides a time. */
const WINDOWS_MAX = 100
const STEPS_MS = [1, 5, 15, 60, 360, 1_440].map((minutes) => minutes * MINUTE_MS)
const LEVEL_DAYS_MAX = 31

interface TrafficProps {
  readonly hasUsage: boolean
  readonly hasLevels: boolean
}

export function Traffic({ hasUsage, hasLevels }: TrafficProps) {
  const preset = usePreset({})
  if (preset === null) return <Skeleton />
  const range = rangeOf(query.value, preset)
  return (
    <>
      {hasUsage && <Month />}
      <section aria-labelledby="traffic">
        <h2 id="traffic">{words.traffic}</h2>
        <Filters>
          <RangeFilter fallback={preset} />
        </Filters>
        {hasUsage && <Usage range={range} />}
        {hasLevels && <ServiceLevels range={range} />}
      </section>
    </>
  )
}

function Month() {
  const { from } = rangeOf(new URLSearchParams({ range: 'month' }))
  const total = useRead('/v1/summaries', { query: { groupBy: TOTAL, from } })
  return (
    <section aria-labelledby="month">
      <h2 id="month">
        <a href={`${BASE}usage?range=month`}>{words.month}</a>
      </h2>
      <Loaded reading={total}>
        {({ items }) => (
          <dl class="figures">
            <Figure name={words.calls} value={toNumber(items.reduce((sum, { calls }) => sum + calls, 0))} />
            <Figure name={words.units} value={toNumber(items.reduce((sum, { value }) => sum + value, 0))} />
            {items
              .filter(({ currency }) => currency !== '')
              .map(({ amount, currency }) => (
                <Figure key={currency} name={words.amount} value={toAmount(amount, currency)} />
              ))}
          </dl>
        )}
      </Loaded>
    </section>
  )
}

function Figure({ name, value }: { readonly name: string; readonly value: string }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{value}</dd>
    </div>
  )
}

function Usage({ range }: { readonly range: Range }) {
  const usage = useUsage({ range, filters: {}, by: 'api' })
  if (usage === null) return <Skeleton />
  if (usage.total.length === 0)
    return <Empty text={words.noUsage} commands={['tollgate usage summary --group-by api']} />
  return (
    <div class="charts">
      <Chart title={words.callsOf} {...toSeries(usage, 'calls')} />
      <Chart title={words.unitsOf} {...toSeries(usage, 'value')} />
      {usage.currencies.map((currency) => (
        <Chart key={currency} title={words.amountOf(currency)} {...toSeries(usage, 'amount', currency)} />
      ))}
    </div>
  )
}

/** The API measures a month at most. */
function ServiceLevels({ range }: { readonly range: Range }) {
  const endMs = endOf(range)
  const earliestMs = (Math.floor(endMs / DAY_MS) - (LEVEL_DAYS_MAX - 1)) * DAY_MS
  const from = new Date(Math.max(Date.parse(range.from), earliestMs)).toISOString()
  const reading = useRead(scopes.value.has('apis:read') ? '/v1/serviceLevels' : null, {
    query: { from, to: range.to },
  })
  return (
    <Loaded reading={reading}>
      {(levels) =>
        levels.windows.length === 0 ? null : (
          <div class="charts">
            <Chart title={words.errors} unit={words.percent} {...errorsOf(levels)} />
            <Chart title={words.latency} unit={words.ms} {...latencyOf(levels)} />
          </div>
        )
      }
    </Loaded>
  )
}

interface Lines {
  readonly times: readonly number[]
  readonly series: readonly Series[]
}

/** Windows without a call are left out of the answer: they are gaps. */
function spread({ from, to, windows }: Levels): readonly { readonly at: number; readonly window: Window | null }[] {
  const spanMs = Date.parse(to) - Date.parse(from)
  const stepMs = STEPS_MS.find((each) => spanMs / each <= WINDOWS_MAX) ?? DAY_MS
  const first = Math.floor(Date.parse(from) / stepMs)
  const count = Math.ceil(Date.parse(to) / stepMs) - first
  const found = new Map(windows.map((window) => [Math.floor(Date.parse(window.from) / stepMs), window]))
  return Array.from({ length: count }, (_, index) => ({
    at: (first + index) * stepMs,
    window: found.get(first + index) ?? null,
  }))
}

function errorsOf(levels: Levels): Lines {
  const windows = spread(levels)
  const unanswered = (percent: number | null | undefined): number | null =>
    percent == null ? null : Number((100 - percent).toFixed(3))
  return {
    times: windows.map(({ at }) => at),
    series: [
      { name: words.error5xx, values: windows.map(({ window }) => window?.errorPercent ?? null) },
      { name: words.unanswered, values: windows.map(({ window }) => unanswered(window?.availabilityPercent)) },
    ],
  }
}

function latencyOf(levels: Levels): Lines {
  const windows = spread(levels)
  return {
    times: windows.map(({ at }) => at),
    series: [
      { name: words.p50, values: windows.map(({ window }) => window?.latency.p50Ms ?? null) },
      { name: words.p95, values: windows.map(({ window }) => window?.latency.p95Ms ?? null) },
      { name: words.p99, values: windows.map(({ window }) => window?.latency.p99Ms ?? null) },
    ],
  }
}
