/** Everything that needs attention now, and the usage of the month. Each item leads to the place where it can be acted on. */

import type { Item } from '../../api/operations.ts'
import { useRead } from '../../api/use-read.ts'
import { Chart } from '../../parts/chart.tsx'
import { Empty, Loaded } from '../../parts/states.tsx'
import { toAmount, toNumber } from '../../parts/values.tsx'
import { BASE } from '../../router.ts'
import { may } from '../../shell/person.ts'
import { Page } from '../../parts/page.tsx'
import { texts } from '../../texts.ts'

const words = texts.overview
const SEVERITIES = ['Critical', 'Warning', 'Info'] as const
const RISKS_MAX = 500
const APPROVALS_MAX = 100
const DAY_MS = 86_400_000
const DAYS = 30

export function Overview() {
  return (
    <Page title={words.title}>
      {may('risks:read') && <Attention />}
      {may('approvals:read') && <Waiting />}
      {may('usage:read') && <Month />}
    </Page>
  )
}

function Attention() {
  const risks = useRead('/v1/risks', { query: { limit: String(RISKS_MAX) } })
  return (
    <section aria-labelledby="attention">
      <h2 id="attention">{words.attention}</h2>
      <Loaded reading={risks}>
        {({ items }) =>
          items.length === 0 ? (
            <p class="quiet">{words.calm}</p>
          ) : (
            <ul class="attention">
              {SEVERITIES.map((severity) => ({ severity, number: countOf(items, severity) }))
                .filter(({ number }) => number > 0)
                .map(({ severity, number }) => (
                  <li key={severity} class={severity.toLowerCase()}>
                    <a href={`${BASE}risks`}>{words.openRisks(number, severity.toLowerCase())}</a>
                  </li>
                ))}
            </ul>
          )
        }
      </Loaded>
    </section>
  )
}

/** Nothing if no request waits. */
function Waiting() {
  const waiting = useRead('/v1/approvals', { query: { limit: String(APPROVALS_MAX) } })
  const number = waiting.data?.items.length ?? 0
  if (number === 0) return null
  const shown = waiting.data?.next === null ? String(number) : `${number}+`
  return (
    <p>
      <a href={`${BASE}subscriptions/approvals`}>{words.approvals(shown)}</a>
    </p>
  )
}

function countOf(risks: readonly Item<'/v1/risks'>[], wanted: string): number {
  return risks.filter(({ severity }) => severity === wanted).length
}

function Month() {
  const today = Math.floor(Date.now() / DAY_MS) * DAY_MS
  const from = new Date(today - (DAYS - 1) * DAY_MS)
  const month = new Date(Date.UTC(from.getUTCFullYear(), new Date(today).getUTCMonth(), 1)).toISOString()
  const daily = useRead('/v1/summaries', {
    query: { groupBy: '', interval: 'day', from: from.toISOString(), limit: '500' },
  })
  const total = useRead('/v1/summaries', { query: { groupBy: '', from: month } })
  return (
    <section aria-labelledby="month">
      <h2 id="month">{words.month}</h2>
      <Loaded reading={total}>
        {({ items }) => (
          <dl class="figures">
            <div>
              <dt>{words.calls}</dt>
              <dd>{toNumber(items.reduce((sum, { calls }) => sum + calls, 0))}</dd>
            </div>
            <div>
              <dt>{words.units}</dt>
              <dd>{toNumber(items.reduce((sum, { value }) => sum + value, 0))}</dd>
            </div>
            {items
              .filter(({ currency }) => currency !== '')
              .map(({ amount, currency }) => (
                <div key={currency}>
                  <dt>{words.amount}</dt>
                  <dd>{toAmount(amount, currency)}</dd>
                </div>
              ))}
          </dl>
        )}
      </Loaded>
      <Loaded reading={daily}>
        {({ items }) =>
          items.length === 0 ? (
            <Empty text={words.noUsage} commands={['tollgate usage summary --group-by api']} />
          ) : (
            <Chart title={words.daily} {...toSeries(items, from.getTime())} />
          )
        }
      </Loaded>
    </section>
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
