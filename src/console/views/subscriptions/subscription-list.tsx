/** Subscriptions, with filters that the service applies. */

import { Filters, SelectFilter, TextFilter } from '../../parts/filters.tsx'
import { List } from '../../parts/list.tsx'
import { Page } from '../../parts/page.tsx'
import { Id, State, Time } from '../../parts/values.tsx'
import { BASE, query } from '../../router.ts'
import { may } from '../../shell/person.ts'
import { texts } from '../../texts.ts'
import { CreateSubscription } from './create-subscription.tsx'
import { targetOf } from './subscription-name.ts'

const words = texts.subscriptions
const FILTERS = ['ApiId', 'ApiProductId', 'consumer', 'state'] as const

export function SubscriptionList() {
  const asked = Object.fromEntries(FILTERS.map((name) => [name, query.value.get(name) ?? '']))
  return (
    <Page title={words.title} actions={may('subscriptions:write') && <CreateSubscription consumer={null} />}>
      <Filters>
        <TextFilter name="ApiId" label={words.columns.api} placeholder="orders-v1" />
        <TextFilter name="ApiProductId" label={words.product} placeholder="prd_…" />
        <TextFilter name="consumer" label={words.consumerId} placeholder="con_…" />
        <SelectFilter
          name="state"
          label={words.columns.state}
          options={[['', words.all], ...Object.entries(words.states)]}
        />
      </Filters>
      <SubscriptionTable query={asked} />
    </Page>
  )
}

interface TableProps {
  readonly query: Readonly<Record<string, string>>
  readonly none?: string
}

export function SubscriptionTable({ query: asked, none = words.none }: TableProps) {
  return (
    <List
      path="/v1/subscriptions"
      query={asked}
      caption={words.title}
      keyOf={({ id }) => id}
      empty={{ text: none, commands: [words.createCommand(asked['consumer'] ?? '')] }}
      columns={[
        {
          title: words.columns.api,
          cell: (each) => (
            <a href={`${BASE}subscriptions/${encodeURIComponent(each.id)}`}>
              <bdi>{targetOf(each)}</bdi>
            </a>
          ),
        },
        {
          title: words.columns.consumer,
          cell: ({ consumer, consumerName }) => <bdi>{consumerName === '' ? consumer : consumerName}</bdi>,
        },
        { title: words.columns.state, cell: ({ state }) => <State of={words.states[state]} /> },
        { title: words.columns.tier, cell: ({ slaVariant }) => <bdi>{slaVariant ?? words.defaultTier}</bdi> },
        { title: words.columns.created, cell: ({ createdAt }) => <Time at={createdAt} /> },
        { title: words.columns.id, cell: ({ id }) => <Id value={id} /> },
      ]}
    />
  )
}
