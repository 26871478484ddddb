/** Totals of consumption, by any grouping, as a table and as CSV. */

import { toUrl } from '../../api/client.ts'
import { useRead } from '../../api/use-read.ts'
import { Empty, Loaded } from '../../parts/states.tsx'
import { Pages } from '../../parts/pages.tsx'
import { Table, type Column } from '../../parts/table.tsx'
import { toAmount, toNumber } from '../../parts/values.tsx'
import type { Item } from '../../api/operations.ts'
import { query, setQuery } from '../../router.ts'
import { Page } from '../../parts/page.tsx'
import { texts } from '../../texts.ts'

type Summary = Item<'/v1/summaries'>
type Group = keyof typeof texts.usage.groups

const { columns, title, none, groups } = texts.usage
const DAY_MS = 86_400_000
const DAYS = ['1', '7', '30', '90', '365']

export function Usage() {
  const groupBy = (query.value.get('groupBy') ?? 'api,customer') as Group
  const days = DAYS.find((each) => each === query.value.get('days')) ?? '30'
  // Whole days, so that the address of the answer stays the same for a day.
  const from = new Date(Math.floor(Date.now() / DAY_MS) * DAY_MS - Number(days) * DAY_MS).toISOString()
  const asked = { groupBy, from, ...Pages.query() }
  const reading = useRead('/v1/summaries', { query: asked })
  return (
    <Page title={title}>
      <form class="filters" onSubmit={(event) => event.preventDefault()}>
        <label>
          {texts.usage.groupBy}
          <select
            value={groupBy}
            onChange={({ currentTarget }) => setQuery({ groupBy: currentTarget.value, cursor: '' })}
          >
            {Object.entries(groups).map(([value, name]) => (
              <option key={value} value={value}>
                {name}
              </option>
            ))}
          </select>
        </label>
        <label>
          {texts.usage.days}
          <select value={days} onChange={({ currentTarget }) => setQuery({ days: currentTarget.value, cursor: '' })}>
            {DAYS.map((each) => (
              <option key={each}>{each}</option>
            ))}
          </select>
        </label>
      </form>
      <Loaded reading={reading}>
        {({ items, next }) =>
          items.length === 0 ? (
            <Empty text={none} commands={['tollgate usage summary --group-by api', `curl '${toScript(asked)}'`]} />
          ) : (
            <>
              <Table caption={title} keyOf={keyOf} rows={items} columns={columnsOf(groupBy)} />
              <Pages.Next cursor={next} />
            </>
          )
        }
      </Loaded>
    </Page>
  )
}

function columnsOf(groupBy: string): readonly Column<Summary>[] {
  const grouped = groupBy.split(',').map((field) => ({
    title: columns[field as 'api' | 'customer' | 'operation'] ?? field,
    cell: (row: Summary) => <bdi>{row[field as 'api' | 'customer' | 'operation'] ?? ''}</bdi>,
  }))
  return [
    ...grouped,
    { title: columns.calls, isNumber: true, cell: ({ calls }) => toNumber(calls) },
    { title: columns.value, isNumber: true, cell: ({ value }) => toNumber(value) },
    { title: columns.amount, isNumber: true, cell: ({ amount, currency }) => toAmount(amount, currency) },
  ]
}

function keyOf({ api = '', customer = '', operation = '', currency, from }: Summary): string {
  return [api, customer, operation, currency, from].join('\n')
}

function toScript(asked: Readonly<Record<string, string>>): string {
  return `${location.origin}${toUrl('/v1/summaries', { query: asked }).slice('/console/api'.length)}`
}
