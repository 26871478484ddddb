/** The service level of an API: promised against measured, and how it was over time. */

import { HOUR_MS, MINUTE_MS } from '../../../../foundation/domain/calendar.ts'
import type { Answer } from '../../api/operations.ts'
import { useRead } from '../../api/use-read.ts'
import { Filters, SelectFilter } from '../../parts/filters.tsx'
import { Chart } from '../../parts/chart.tsx'
import { Empty, Loaded } from '../../parts/states.tsx'
import { Table } from '../../parts/table.tsx'
import { toNumber } from '../../parts/values.tsx'
import { query } from '../../router.ts'
import { texts } from '../../texts.ts'
import type { ApiTabProps } from './api-tab.ts'
import { toMs, toPercent } from './level-values.ts'

type Level = Answer<'/v1/apis/:name/serviceLevel'>
type Promised = Level['promises'][number]

const words = texts.serviceLevel
const RANGES: readonly (readonly [string, string])[] = [
  ['1', words.ranges.hour],
  ['24', words.ranges.day],
  ['168', words.ranges.week],
  ['720', words.ranges.month],
]

export function ServiceLevel({ api: { id: name } }: ApiTabProps) {
  const hours = RANGES.find(([each]) => each === query.value.get('hours'))?.[0] ?? '1'
  // Whole minutes, so that the address of the call stays the same while the view is rendered again.
  const to = Math.ceil(Date.now() / MINUTE_MS) * MINUTE_MS
  const range = { from: new Date(to - Number(hours) * HOUR_MS).toISOString(), to: new Date(to).toISOString() }
  const reading = useRead('/v1/apis/:name/serviceLevel', { params: { name }, query: range })
  return (
    <>
      <Filters>
        <SelectFilter name="hours" label={words.range} options={RANGES} />
      </Filters>
      <Loaded reading={reading}>{(level) => <Shown level={level} api={name} />}</Loaded>
    </>
  )
}

function Shown({ level, api }: { readonly level: Level; readonly api: string }) {
  const { measured, promises, windows, from, to } = level
  return (
    <>
      <h2>{words.promises}</h2>
      {promises.length === 0 ? (
        <Empty text={words.noPromises} commands={[`tollgate openslaspecs list --api ${api}`]} />
      ) : (
        <Table
          caption={words.promises}
          rows={promises}
          keyOf={keyOf}
          columns={[
            { title: words.columns.promise, cell: nameOf },
            { title: words.columns.tier, cell: ({ variant }) => <bdi>{variant ?? words.defaultTier}</bdi> },
            {
              title: words.columns.promised,
              isNumber: true,
              cell: (row) => words.bound(row.measure, toValue(row, row.promised)),
            },
            { title: words.columns.measured, isNumber: true, cell: (row) => toValue(row, row.measured) },
            { title: words.columns.kept, cell: ({ isKept }) => toKept(isKept) },
            { title: words.columns.calls, isNumber: true, cell: ({ calls }) => toNumber(calls) },
          ]}
        />
      )}
      <h2>{words.measured}</h2>
      {measured.calls === 0 ? <p>{words.noCalls}</p> : <Measured measured={measured} />}
      {windows.length > 0 && <Charts windows={windows} span={[Date.parse(from), Date.parse(to)]} />}
    </>
  )
}

function keyOf({ name, variant, measure, percentile, rps }: Promised): string {
  return [name, variant, measure, percentile, rps].join(' ')
}

function nameOf({ name, measure, percentile, rps, operationIds }: Promised) {
  return (
    <>
      {words.measures[measure]}
      {measure === 'latency' && percentile !== null && words.percentile(String(percentile))}
      {rps !== null && words.upTo(toNumber(rps))}{' '}
      <span class="quiet">
        <bdi>{operationIds === null ? name : `${name}: ${operationIds.join(', ')}`}</bdi>
      </span>
    </>
  )
}

function toValue({ measure }: Promised, value: number | null): string {
  return measure === 'latency' || measure === 'meanLatency' ? toMs(value) : toPercent(value)
}

function toKept(isKept: boolean | null) {
  if (isKept === null) return words.nothingToEvaluate
  return isKept ? words.kept : <strong class="severity critical">{words.broken}</strong>
}

function Measured({ measured }: { readonly measured: Level['measured'] }) {
  const { calls, availabilityPercent, errorPercent, latency } = measured
  const figures: readonly (readonly [string, string])[] = [
    [words.columns.calls, toNumber(calls)],
    [words.measures.availability, toPercent(availabilityPercent)],
    [words.measures['5xxResponsePercent'], toPercent(errorPercent)],
    ['p50', toMs(latency.p50Ms)],
    ['p95', toMs(latency.p95Ms)],
    ['p99', toMs(latency.p99Ms)],
  ]
  return (
    <dl class="figures">
      {figures.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  )
}

interface ChartsProps {
  readonly windows: Level['windows']
  readonly span: readonly [number, number]
}

function Charts({ windows, span }: ChartsProps) {
  // The ends of the span have no values, so that the chart shows all of it.
  const times = [span[0], ...windows.map(({ from }) => Date.parse(from)), span[1]]
  const values = (of: (level: Level['windows'][number]) => number | null) => [null, ...windows.map(of), null]
  return (
    <>
      <Chart
        title={words.latencyChart}
        unit={words.units.ms}
        times={times}
        series={[
          { name: 'p50', values: values(({ latency }) => latency.p50Ms) },
          { name: 'p95', values: values(({ latency }) => latency.p95Ms) },
          { name: 'p99', values: values(({ latency }) => latency.p99Ms) },
        ]}
      />
      <Chart
        title={words.errorChart}
        unit={words.units.percent}
        times={times}
        series={[
          { name: words.measures['5xxResponsePercent'], values: values(({ errorPercent }) => errorPercent) },
          { name: words.unanswered, values: values((each) => 100 - (each.availabilityPercent ?? 100)) },
        ]}
      />
    </>
  )
}
