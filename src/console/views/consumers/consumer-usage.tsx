/** The use of APIs by a consumer in the last 30 days: calls per day, and totals per API. */

import type { Item } from '../../api/operations.ts'
import { useRead } from '../../api/use-read.ts'
import { Chart } from '../../parts/chart.tsx'
import { List } from '../../parts/list.tsx'
import { Loaded } from '../../parts/states.tsx'
import { toAmount, toNumber } from '../../parts/values.tsx'
import { texts } from '../../texts.ts'
import { TOTAL } from '../usage/links.ts'

const words = texts.consumers.usage
const DAY_MS = 86_400_000
const DAYS = 30

export function ConsumerUsage({ consumer: customer }: { readonly consumer: string }) {
  // Whole days, so that the address of the answer stays the same for a day.
  const fromMs = (Math.floor(Date.now() / DAY_MS) - DAYS + 1) * DAY_MS
  const from = new Date(fromMs).toISOString()
  const daily = useRead('/v1/summaries', {
    query: { customer, from, groupBy: TOTAL, interval: 'day', limit: '500' },
  })
  return (
    <>
      <Loaded reading={daily}>
        {({ items }) => items.length > 0 && <Chart title={words.daily} {...toSeries(items, fromMs)} />}
      </Loaded>
      <h2>{words.byApi}</h2>
      <List
        path="/v1/summaries"
        query={{ customer, from, groupBy: 'api,operation' }}
        caption={words.byApi}
        keyOf={({ api, operation, currency }) => [api, operation, currency].join('\n')}
        empty={{ text: words.none, commands: [`tollgate usage summary --customer ${customer} --group-by api`] }}
        columns={[
          { title: words.columns.api, cell: ({ api = '' }) => <bdi>{api}</bdi> },
          { title: words.columns.operation, cell: ({ operation = '' }) => <bdi>{operation}</bdi> },
          { title: words.columns.calls, isNumber: true, cell: ({ calls }) => toNumber(calls) },
          { title: words.columns.units, isNumber: true, cell: ({ value }) => toNumber(value) },
          { title: words.columns.amount, isNumber: true, cell: ({ amount, currency }) => toAmount(amount, currency) },
        ]}
      />
    </>
  )
}

function toSeries(items: readonly Item<'/v1/summaries'>[], fromMs: number) {
  const calls = new Map<number, number>()
  for (const { from, calls: number } of items) {
    const at = Date.parse(from)
    calls.set(at, (calls.get(at) ?? 0) + number)
  }
  const times = Array.from({ length: DAYS }, (_, day) => fromMs + day * DAY_MS)
  return { times, values: times.map((time) => calls.get(time) ?? 0) }
}
