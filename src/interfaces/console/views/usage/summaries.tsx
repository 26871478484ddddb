/** Totals of consumption by any grouping over any time, as a chart, as a table and as CSV. */

import { useRead } from '../../api/use-read.ts'
import { Chart } from '../../parts/chart.tsx'
import { ExportButton } from '../../parts/export.tsx'
import { SelectFilter } from '../../parts/filters.tsx'
import { ListOf } from '../../parts/list.tsx'
import { Page } from '../../parts/page.tsx'
import { Pages } from '../../parts/pages.tsx'
import { Skeleton } from '../../parts/states.tsx'
import type { Column } from '../../parts/table.tsx'
import { Moment, toAmount, toNumber, toShortTime } from '../../parts/values.tsx'
import { query, setQuery } from '../../router.ts'
import { texts } from '../../texts.ts'
import { drillDown, filtersOf, linkTo, nameOf, TOTAL } from './links.ts'
import { CHARTED, toSeries, useUsage, type Metric, type Summary, type UsageQuery } from './series.ts'
import { rangeOf } from './time-range.ts'
import { UsageFilters } from './usage-filters.tsx'
import { usePreset } from './use-preset.ts'

const words = texts.usage
const GROUPS = ['api', 'customer', 'operation', 'subscription', 'agent'] as const
type Group = (typeof GROUPS)[number]
const METRICS = ['calls', 'value', 'amount'] as const
const DEFAULT_GROUPS = 'api,customer'
const NO_GROUP = 'none'

export function Summaries() {
  const preset = usePreset(filtersOf())
  return preset === null ? <Skeleton /> : <SummariesOf preset={preset} />
}

/** `preset`: of an address that has none. */
function SummariesOf({ preset }: { readonly preset: string }) {
  const params = query.value
  const range = rangeOf(params, preset)
  const groups = groupsOf(params.get('groupBy'))
  const interval = params.get('interval') ?? ''
  const asked = {
    ...filtersOf(),
    from: range.from,
    to: range.to,
    groupBy: groups.length === 0 ? TOTAL : groups.join(','),
    interval,
  }
  const reading = useRead('/v1/summaries', { query: { ...asked, ...Pages.query() } })
  return (
    <Page
      title={words.title}
      actions={<ExportButton path="/v1/summaries" query={asked} name={nameOf('usage', range)} />}
    >
      <UsageFilters path="usage" fallback={preset}>
        <SelectFilter name="interval" label={words.interval} options={Object.entries(words.intervals)} />
        <GroupFilter groups={groups} />
      </UsageFilters>
      <UsageChart
        asked={{ range, filters: filtersOf(), by: CHARTED.find((field) => groups.includes(field)) ?? null }}
      />
      <ListOf
        reading={reading}
        caption={words.title}
        keyOf={(row) => JSON.stringify(row)}
        columns={columnsOf(groups, interval)}
        empty={{ text: words.none, commands: toCommands(asked) }}
      />
    </Page>
  )
}

function groupsOf(text: string | null): readonly Group[] {
  const names = (text ?? DEFAULT_GROUPS).split(',')
  return GROUPS.filter((field) => names.includes(field))
}

function GroupFilter({ groups }: { readonly groups: readonly Group[] }) {
  const toggle = (field: Group): void => {
    const next = GROUPS.filter((each) => groups.includes(each) !== (each === field))
    setQuery({ groupBy: next.length === 0 ? NO_GROUP : next.join(','), cursor: '' })
  }
  return (
    <fieldset class="groups">
      <legend>{words.groupBy}</legend>
      {GROUPS.map((field) => (
        <label key={field} class="check">
          <input type="checkbox" checked={groups.includes(field)} onChange={() => toggle(field)} />
          {words.fields[field]}
        </label>
      ))}
    </fieldset>
  )
}

/** The metric is part of the address, too. */
function UsageChart({ asked }: { readonly asked: UsageQuery }) {
  const usage = useUsage(asked)
  if (usage === null) return <Skeleton />
  const { currencies, isCut } = usage
  const metric = METRICS.find((each) => each === query.value.get('metric')) ?? 'calls'
  const currency = query.value.get('currency') ?? currencies[0] ?? ''
  const title = words.chart(words.metrics[metric], asked.by === null ? '' : words.fields[asked.by])
  return (
    <div class="usage-chart">
      <div class="filters">
        <SelectFilter name="metric" label={words.metric} options={metricsOf(currencies)} />
        {metric === 'amount' && currencies.length > 1 && (
          <SelectFilter name="currency" label={words.currency} options={currencies.map((each) => [each, each])} />
        )}
      </div>
      <Chart title={title} {...toSeries(usage, metric, currency)} />
      {isCut && <p class="quiet">{words.ranked('500')}</p>}
    </div>
  )
}

function metricsOf(currencies: readonly string[]): readonly (readonly [Metric, string])[] {
  const { calls, value, amount } = words.metrics
  return [['calls', calls], ['value', value], ...(currencies.length === 0 ? [] : [['amount', amount] as const])]
}

function columnsOf(groups: readonly Group[], interval: string): readonly Column<Summary>[] {
  const time: Column<Summary> = {
    title: words.columns.time,
    cell: ({ from, to }) => (
      <a href={drillDown(interval, from, to)}>
        <Moment at={from}>{toShortTime(Date.parse(from))}</Moment>
      </a>
    ),
  }
  const grouped = groups.map((field): Column<Summary> => ({
    title: words.fields[field],
    cell: (row) => <GroupValue field={field} value={row[field] ?? ''} name={nameFor(field, row)} />,
  }))
  const total: Column<Summary> = { title: words.total, cell: () => words.total }
  return [
    ...(interval === '' ? [] : [time]),
    ...(interval === '' && groups.length === 0 ? [total] : grouped),
    { title: words.columns.calls, isNumber: true, cell: ({ calls }) => toNumber(calls) },
    { title: words.columns.value, isNumber: true, cell: ({ value }) => toNumber(value) },
    { title: words.columns.amount, isNumber: true, cell: ({ amount, currency }) => toAmount(amount, currency) },
  ]
}

function nameFor(field: Group, { customerName = '', ...row }: Summary): string {
  return field === 'customer' && customerName !== '' ? customerName : (row[field] ?? '')
}

interface GroupValueProps {
  readonly field: Group
  readonly value: string
  readonly name: string
}

/** A value is a filter: its link shows what it consists of. */
function GroupValue({ field, value, name }: GroupValueProps) {
  if (value === '') return <span class="quiet">{words.nobody}</span>
  if (field === 'agent') return <bdi>{value}</bdi>
  const interval = query.value.get('interval') ?? ''
  return (
    <a
      href={linkTo('usage', { [field]: value, interval: interval === '' ? 'month' : interval })}
      title={words.narrow(value)}
    >
      <bdi>{name}</bdi>
    </a>
  )
}

function toCommands({ from, groupBy }: { readonly from: string; readonly groupBy: string }): readonly string[] {
  return [
    `tollgate usage summary --from ${from} --group-by ${groupBy === TOTAL ? "''" : groupBy}`,
    `curl -H "authorization: Bearer $TOKEN" '${location.origin}/v1/summaries?from=${from}&groupBy=${groupBy}'`,
  ]
}
