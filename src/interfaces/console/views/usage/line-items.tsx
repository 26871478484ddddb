/** Line items: the consumption of 10 seconds each, which everything else is the sum of. Each leads to its calls. */

import { ExportButton } from '../../parts/export.tsx'
import { List } from '../../parts/list.tsx'
import { Page } from '../../parts/page.tsx'
import type { Column } from '../../parts/table.tsx'
import { Moment, toAmount, toNumber } from '../../parts/values.tsx'
import type { Item } from '../../api/operations.ts'
import { query } from '../../router.ts'
import { may } from '../../shell/person.ts'
import { texts } from '../../texts.ts'
import { callsOf, filtersOf, nameOf } from './links.ts'
import { rangeOf } from './time-range.ts'
import { UsageFilters } from './usage-filters.tsx'

type LineItem = Item<'/v1'>

const words = texts.usage
const precise = new Intl.DateTimeFormat('en', { dateStyle: 'medium', timeStyle: 'medium' })

export function LineItems() {
  const range = rangeOf(query.value)
  const asked = { ...filtersOf(), from: range.from, to: range.to }
  return (
    <Page
      title={words.tabs.items}
      actions={<ExportButton path="/v1" query={asked} name={nameOf('line items', range)} />}
    >
      <UsageFilters path="usage/items" />
      <List
        path="/v1"
        query={asked}
        caption={words.tabs.items}
        keyOf={(item) => JSON.stringify(item)}
        columns={columns()}
        empty={{ text: `${words.none} ${words.noneHint}`, commands: [`tollgate usage items --from ${range.from}`] }}
      />
    </Page>
  )
}

function columns(): readonly Column<LineItem>[] {
  const shown: readonly Column<LineItem>[] = [
    { title: words.columns.time, cell: (item) => <Window item={item} /> },
    { title: words.fields.api, cell: ({ api }) => <bdi>{api}</bdi> },
    { title: words.fields.operation, cell: ({ operation }) => <bdi>{operation}</bdi> },
    { title: words.columns.name, cell: (item) => <Caller of={item} /> },
    { title: words.columns.channel, cell: ({ channel }) => channel },
    { title: words.columns.calls, isNumber: true, cell: ({ calls }) => toNumber(calls) },
    { title: words.columns.value, isNumber: true, cell: ({ value }) => toNumber(value) },
    { title: words.columns.amount, isNumber: true, cell: ({ amount, currency }) => toAmount(amount, currency) },
  ]
  return shown
}

/** The consumer, and the agent through which it called. */
function Caller({ of: { customer, customerName, agent } }: { readonly of: LineItem }) {
  return (
    <>
      <bdi>{customerName || customer}</bdi>{' '}
      {agent !== '' && <bdi class="quiet">{agent === customer ? words.asAgent : words.through(agent)}</bdi>}
    </>
  )
}

function Window({ item }: { readonly item: LineItem }) {
  const time = <Moment at={item.time}>{precise.format(Date.parse(item.time))}</Moment>
  if (!may('requests:read')) return time
  return (
    <a href={callsOf(item)} title={words.seeCalls}>
      {time}
    </a>
  )
}
