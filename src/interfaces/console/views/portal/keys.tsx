/** The access of a consumer: its subscriptions, and for each its credentials, its terms, its limits and the decisions on it. */

import type { Answer } from '../../api/operations.ts'
import { useRead } from '../../api/use-read.ts'
import { Filters, SelectFilter, TextFilter } from '../../parts/filters.tsx'
import { List } from '../../parts/list.tsx'
import { Page, Tabs } from '../../parts/page.tsx'
import { Loaded, NotFound } from '../../parts/states.tsx'
import { State, Time } from '../../parts/values.tsx'
import { BASE, query, segment } from '../../router.ts'
import { may } from '../../shell/person.ts'
import { texts } from '../../texts.ts'
import { FirstOperation } from '../apis/first-call.tsx'
import '../consumers/consumers.css'
import { useRefresh } from '../overview/attention.tsx'
import { Credentials } from '../subscriptions/credentials.tsx'
import { FlowList } from '../subscriptions/flow-list.tsx'
import { Limits } from '../subscriptions/limits.tsx'
import { SubscriptionActions } from '../subscriptions/subscription-actions.tsx'
import { titleOf } from '../subscriptions/subscription-name.ts'
import { SubscriptionOverview } from '../subscriptions/subscription-overview.tsx'
import { useTargetNames } from './product-names.ts'
import { SubscriptionLink } from './subscription-link.tsx'

type Subscription = Answer<'/v1/subscriptions/:id'>

const words = texts.portal.keys
const { columns } = texts.portal.start
const { states, defaultTier, all } = texts.subscriptions
/** The portal itself needs this subscription, and it is not made again. */
const PLATFORM = 'platform-v1'
const REFRESH_MS = 5_000
const TABS = [
  { path: '', title: words.tabs.credentials },
  { path: 'limits', title: words.tabs.limits },
  { path: 'terms', title: words.tabs.terms },
  { path: 'approvals', title: words.tabs.approvals },
]

export function Keys() {
  const id = segment(1)
  return id === '' ? <Subscriptions /> : <SubscriptionPage key={id} id={id} tab={segment(2)} />
}

function Subscriptions() {
  const nameOf = useTargetNames()
  const asked = { ApiId: query.value.get('ApiId') ?? '', state: query.value.get('state') ?? '' }
  return (
    <Page title={words.title}>
      <Filters>
        <TextFilter name="ApiId" label={columns.api} placeholder="orders-v1" />
        <SelectFilter name="state" label={columns.state} options={[['', all], ...Object.entries(states)]} />
      </Filters>
      <List
        path="/v1/subscriptions"
        query={asked}
        caption={words.title}
        keyOf={({ id }) => id}
        empty={{
          text: asked.ApiId === '' && asked.state === '' ? words.none : words.noMatch,
          commands: ['tollgate subscriptions list'],
        }}
        columns={[
          { title: columns.api, cell: (row) => <SubscriptionLink id={row.id} name={nameOf(row)} /> },
          { title: columns.state, cell: ({ state }) => <State of={states[state]} /> },
          { title: columns.tier, cell: ({ slaVariant }) => <bdi>{slaVariant ?? defaultTier}</bdi> },
          { title: columns.since, cell: ({ createdAt }) => <Time at={createdAt} /> },
        ]}
      />
    </Page>
  )
}

interface SubscriptionPageProps {
  readonly id: string
  readonly tab: string
}

function SubscriptionPage({ id, tab }: SubscriptionPageProps) {
  const reading = useRead('/v1/subscriptions/:id', { params: { id } })
  const nameOf = useTargetNames()
  return (
    <Loaded reading={reading}>
      {(subscription) => (
        <Page
          title={nameOf(subscription)}
          state={<State of={states[subscription.state]} />}
          actions={
            subscription.ApiId !== PLATFORM && (
              <SubscriptionActions subscription={subscription} onChanged={reading.reload} />
            )
          }
        >
          <Tabs
            label={words.title}
            tabs={TABS}
            current={tab === 'credentials' ? '' : tab}
            base={`${BASE}keys/${encodeURIComponent(id)}/`}
          />
          <Tab tab={tab} subscription={subscription} onChanged={reading.reload} />
        </Page>
      )}
    </Loaded>
  )
}

interface AccessProps {
  readonly subscription: Subscription
  readonly onChanged: () => void
}

function Tab({ tab, subscription, onChanged }: AccessProps & { readonly tab: string }) {
  switch (tab) {
    case '':
    // As links of views call it that the console has for both.
    case 'credentials':
      return <Access subscription={subscription} onChanged={onChanged} />
    case 'limits':
      return <Limits subscription={subscription.id} isPaged />
    case 'terms':
      return <SubscriptionOverview subscription={subscription} onChanged={onChanged} />
    case 'approvals':
      return <FlowList subscription={subscription.id} />
    default:
      return <NotFound />
  }
}

function Access({ subscription, onChanged }: AccessProps) {
  const { id, ApiId, state } = subscription
  const isWaiting = state === 'Pending' || state === 'WaitlistedForCapacity'
  return (
    <>
      {state !== 'Active' && (
        <p class="notice" role="status">
          {words.states[state]}
        </p>
      )}
      {isWaiting && <Decision onChanged={onChanged} />}
      {!isWaiting && may('credentials:read') && <Credentials subscription={id} name={titleOf(subscription)} isPaged />}
      {state === 'Active' && ApiId !== null && ApiId !== PLATFORM && <FirstOperation api={ApiId} />}
      <p class="toolbar">
        <a href={`${BASE}usage?subscription=${encodeURIComponent(id)}`}>{words.usage}</a>
        <a href={`${BASE}requests?api=${encodeURIComponent(ApiId ?? '')}`}>{words.requests}</a>
      </p>
    </>
  )
}

/** The decision shows without a reload of the page. */
function Decision({ onChanged }: Pick<AccessProps, 'onChanged'>) {
  useRefresh(onChanged, REFRESH_MS)
  return null
}
