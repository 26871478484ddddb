/** The use of APIs by a consumer: a chart of its calls, and totals per API of the last 30 days. */

import { DAY_MS } from '../../../../foundation/domain/calendar.ts'
import { List } from '../../parts/list.tsx'
import { Skeleton } from '../../parts/states.tsx'
import { toAmount, toNumber } from '../../parts/values.tsx'
import { texts } from '../../texts.ts'
import { CallChart } from '../usage/call-chart.tsx'
import { usePreset } from '../usage/use-preset.ts'

const words = texts.consumers.usage
const DAYS = 30

export function ConsumerUsage({ consumer: customer }: { readonly consumer: string }) {
  // Whole days, so that the address of the answer stays the same for a day.
  const fromMs = (Math.floor(Date.now() / DAY_MS) - DAYS + 1) * DAY_MS
  const from = new Date(fromMs).toISOString()
  const preset = usePreset({ customer })
  return (
    <>
      {preset === null ? <Skeleton /> : <CallChart filters={{ customer }} preset={preset} none={words.none} />}
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
