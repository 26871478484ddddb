/** Calls, errors, latency, resource units and money over time. */

import { useRead } from '../../api/use-read.ts'
import type { Answer } from '../../api/operations.ts'
import { Chart, type Series } from '../../parts/chart.tsx'
import { Filters } from '../../parts/filters.tsx'
import { Empty, Loaded, Skeleton } from '../../parts/states.tsx'
import { toAmount, toNumber } from '../../parts/values.tsx'
import { BASE, query } from '../../router.ts'
import { scopes } from '../../shell/person.ts'
import { texts } from '../../texts.ts'
import { endOf, RangeFilter, rangeOf, type Range } from '../usage/range.tsx'
import { useSeries, type Metric } from '../usage/series.ts'

type Levels = Answer<'/v1/serviceLevels'>

const words = texts.overview
const DAY_MS = 86_400_000
const LEVEL_DAYS_MAX = 31

interface TrafficProps {
  readonly hasUsage: boolean
  readonly hasLevels: boolean
}

export function Traffic({ hasUsage, hasLevels }: TrafficProps) {
  const range = rangeOf(query.value)
  return (
    <>
      {hasUsage && <Month />}
      <section aria-labelledby="traffic">
        <h2 id="traffic">{words.traffic}</h2>
        <Filters>
          <RangeFilter />
        </Filters>
        {hasUsage && <Usage range={range} />}
        {hasLevels && <ServiceLevels range={range} />}
      </section>
    </>
  )
}

function Month() {
  const { from } = rangeOf(new URLSearchParams({ range: 'month' }))
  const total = useRead('/v1/summaries', { query: { groupBy: '', from } })
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
  const total = useRead('/v1/summaries', { query: { groupBy: '', from: range.from, to: range.to } })
  return (
    <Loaded reading={total}>
      {({ items }) =>
        items.length === 0 ? (
          <Empty text={words.noUsage} commands={['tollgate usage summary --group-by api']} />
        ) : (
          <div class="charts">
            <UsageChart range={range} metric="calls" title={words.callsOf} />
            <UsageChart range={range} metric="value" title={words.unitsOf} />
            {items
              .filter(({ currency }) => currency !== '')
              .map(({ currency }) => (
                <UsageChart
                  key={currency}
                  range={range}
                  metric="amount"
                  currency={currency}
                  title={words.amountOf(currency)}
                />
              ))}
          </div>
        )
      }
    </Loaded>
  )
}

interface UsageChartProps {
  readonly range: Range
  readonly metric: Metric
  readonly currency?: string
  readonly title: string
}

function UsageChart({ range, metric, currency = '', title }: UsageChartProps) {
  const found = useSeries({ range, filters: {}, by: 'api', metric, currency })
  return found === null ? <Skeleton /> : <Chart title={title} {...found} />
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

function errorsOf({ windows }: Levels): Lines {
  return {
    times: windows.map(({ from }) => Date.parse(from)),
    series: [
      { name: words.error5xx, values: windows.map(({ errorPercent }) => errorPercent) },
      {
        name: words.unanswered,
        values: windows.map(({ availabilityPercent }) =>
          availabilityPercent === null ? null : Number((100 - availabilityPercent).toFixed(3)),
        ),
      },
    ],
  }
}

function latencyOf({ windows }: Levels): Lines {
  return {
    times: windows.map(({ from }) => Date.parse(from)),
    series: [
      { name: words.p50, values: windows.map(({ latency }) => latency.p50Ms) },
      { name: words.p95, values: windows.map(({ latency }) => latency.p95Ms) },
      { name: words.p99, values: windows.map(({ latency }) => latency.p99Ms) },
    ],
  }
}
