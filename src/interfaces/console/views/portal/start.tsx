/** The first page of the portal: access and what is left of it, the month, refused calls, and risks. */

import { chosenConsumer } from '../../api/client.ts'
import { useRead } from '../../api/use-read.ts'
import { Outcome, outcomeTitle } from '../../parts/codes.tsx'
import { Page } from '../../parts/page.tsx'
import { Empty, Loaded } from '../../parts/states.tsx'
import { Table } from '../../parts/table.tsx'
import { Severity, State, Time, toAmount, toNumber } from '../../parts/values.tsx'
import { BASE } from '../../router.ts'
import { consumers } from '../../shell/brand.ts'
import { may } from '../../shell/person.ts'
import { texts } from '../../texts.ts'
import { Attention } from '../overview/attention.tsx'
import { TOTAL } from '../usage/links.ts'
import { Left } from './left.tsx'
import { useTargetNames } from './product-names.ts'
import { SubscriptionLink } from './subscription-link.tsx'

const words = texts.portal.start
const SHOWN = 10
/** The portal itself uses it. */
const PLATFORM = 'platform-v1'

export function Start() {
  return (
    <Page title={words.title}>
      {may('attention:read') && <Attention />}
      {may('subscriptions:read') && <Access />}
      {may('usage:read') && <Month />}
      {may('requests:read') && <Refused />}
      {may('risks:read') && <Risks />}
    </Page>
  )
}

function Access() {
  const reading = useRead('/v1/subscriptions', { query: { limit: String(SHOWN) } })
  const nameOf = useTargetNames()
  const { columns } = words
  return (
    <section>
      <h2>{words.access}</h2>
      <Loaded reading={reading}>
        {({ items }) =>
          items.every(({ ApiId }) => ApiId === PLATFORM) ? (
            <>
              <Empty text={words.none} commands={['tollgate apis list', 'tollgate subscriptions create --api NAME']} />
              <p>
                <a href={`${BASE}apis`}>{words.choose}</a>
              </p>
            </>
          ) : (
            <Table
              caption={words.access}
              keyOf={({ id }) => id}
              rows={items}
              columns={[
                { title: columns.api, cell: (row) => <SubscriptionLink id={row.id} name={nameOf(row)} /> },
                { title: columns.state, cell: ({ state }) => <State of={texts.subscriptions.states[state]} /> },
                {
                  title: columns.tier,
                  cell: ({ slaVariant }) => <bdi>{slaVariant ?? texts.subscriptions.defaultTier}</bdi>,
                },
                {
                  title: columns.left,
                  cell: ({ id, state }) => (state === 'Active' ? <Left subscription={id} /> : null),
                },
                { title: columns.since, cell: ({ createdAt }) => <Time at={createdAt} /> },
              ]}
            />
          )
        }
      </Loaded>
    </section>
  )
}

/** The open month in UTC, as statements have it. */
function Month() {
  const month = new Date().toISOString().slice(0, 7)
  const reading = useRead('/v1/summaries', { query: { groupBy: TOTAL, from: `${month}-01T00:00:00.000Z` } })
  const consumer = chosenConsumer.value === '' ? (consumers.value[0]?.id ?? '') : chosenConsumer.value
  const statement = new URLSearchParams({ consumer, month }).toString()
  return (
    <section>
      <h2>{words.month}</h2>
      <Loaded reading={reading}>
        {({ items }) => (
          <dl class="figures">
            <Figure name={words.calls} value={toNumber(sum(items.map(({ calls }) => calls)))} />
            <Figure name={words.units} value={toNumber(sum(items.map(({ value }) => value)))} />
            {items
              .filter(({ currency }) => currency !== '')
              .map(({ amount, currency }) => (
                <Figure key={currency} name={words.amount} value={toAmount(amount, currency)} />
              ))}
          </dl>
        )}
      </Loaded>
      <p>
        <a href={`${BASE}usage/statements?${statement}`}>{words.statement}</a>
      </p>
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

function Refused() {
  const reading = useRead('/v1/requests', { query: { outcome: 'refused', limit: String(SHOWN) } })
  const { refusedColumns: columns } = words
  return (
    <section>
      <h2>{words.refused}</h2>
      <Loaded reading={reading}>
        {({ items }) => {
          if (items.length === 0) return <p class="quiet">{words.noneRefused}</p>
          return (
            <Table
              caption={words.refused}
              keyOf={({ requestId }) => requestId}
              rows={items}
              columns={[
                {
                  title: columns.reason,
                  cell: ({ outcome, requestId }) => (
                    <a
                      href={`${BASE}requests/${encodeURIComponent(requestId)}`}
                      aria-label={words.explain(`${outcomeTitle(outcome)} ${outcome}`.trim(), requestId)}
                    >
                      <Outcome of={outcome} />
                    </a>
                  ),
                },
                { title: columns.api, cell: ({ api }) => <bdi>{api}</bdi> },
                { title: columns.operation, cell: ({ operation }) => <bdi>{operation}</bdi> },
                { title: columns.time, cell: ({ time }) => <Time at={time} /> },
              ]}
            />
          )
        }}
      </Loaded>
      <p>
        <a href={`${BASE}requests?outcome=refused`}>{words.allRefused}</a>
      </p>
    </section>
  )
}

function Risks() {
  const reading = useRead('/v1/risks', { query: { limit: String(SHOWN) } })
  return (
    <section>
      <h2>{words.risks}</h2>
      <Loaded reading={reading}>
        {({ items }) => {
          const open = items.filter(({ state }) => state === 'open')
          if (open.length === 0) return <p class="quiet">{words.noRisks}</p>
          return (
            <ul>
              {open.map(({ riskId, severity, type }) => (
                <li key={riskId}>
                  <Severity of={severity} /> <a href={`${BASE}risks/${encodeURIComponent(riskId)}`}>{type}</a>
                </li>
              ))}
            </ul>
          )
        }}
      </Loaded>
      <p>
        <a href={`${BASE}risks`}>{words.allRisks}</a>
      </p>
    </section>
  )
}

function sum(values: readonly number[]): number {
  return values.reduce((total, each) => total + each, 0)
}
