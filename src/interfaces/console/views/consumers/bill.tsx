/** The bill of a consumer for a month; the statement reconciles it. */

import { useRead } from '../../api/use-read.ts'
import { Filters, SelectFilter } from '../../parts/filters.tsx'
import { Empty, Loaded } from '../../parts/states.tsx'
import { State, toAmount, toNumber } from '../../parts/values.tsx'
import { BASE, query } from '../../router.ts'
import { texts } from '../../texts.ts'

const words = texts.consumers.bill
const MONTHS = 12

export function Bill({ consumer }: { readonly consumer: string }) {
  const months = latestMonths()
  const month = months.find((each) => each === query.value.get('month')) ?? months[0] ?? ''
  const reading = useRead('/v1/statements', { query: { consumer, month } })
  return (
    <>
      <Filters>
        <SelectFilter name="month" label={words.month} options={months.map((each) => [each, each])} />
      </Filters>
      <Loaded reading={reading}>
        {({ state, totals, lines }) => (
          <>
            <p>
              <State of={words.states[state]} /> <span class="quiet">{words.meaning[state]}</span>
            </p>
            {lines.length === 0 ? (
              <Empty
                text={words.none}
                commands={[`tollgate usage statement --consumer ${consumer} --month ${month}`]}
              />
            ) : (
              <dl class="figures">
                {totals.map(({ currency, amount, calls, units }) => (
                  <div key={currency}>
                    <dt>{currency === '' ? words.free : words.total}</dt>
                    <dd>{toAmount(amount, currency)}</dd>
                    <span class="quiet">{words.of(toNumber(calls), toNumber(units))}</span>
                  </div>
                ))}
              </dl>
            )}
            <p>
              <a href={`${BASE}usage/statements?${new URLSearchParams({ consumer, month }).toString()}`}>
                {words.statement}
              </a>
            </p>
          </>
        )}
      </Loaded>
    </>
  )
}

/** The current month first, in UTC. */
function latestMonths(): readonly string[] {
  const now = new Date()
  return Array.from({ length: MONTHS }, (_, back) =>
    new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - back, 1)).toISOString().slice(0, 7),
  )
}
