/** Subscriptions, with filters that the service applies. */

import type { Item } from '../../api/operations.ts'
import { Filters, SelectFilter, TextFilter } from '../../parts/filters.tsx'
import { List } from '../../parts/list.tsx'
import { Page } from '../../parts/page.tsx'
import type { Column } from '../../parts/table.tsx'
import { Id, State, Time } from '../../parts/values.tsx'
import { BASE, query } from '../../router.ts'
import { may } from '../../shell/person.ts'
import { texts } from '../../texts.ts'
import { CreateSubscription } from './create-subscription.tsx'
import { targetOf } from './subscription-name.ts'

type Listed = Item<'/v1/subscriptions'>

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
  readonly command?: string
  /** Leaves out the column that would be the same in each row. */
  readonly of?: 'consumer' | 'product'
}

export function SubscriptionTable({ query: asked, none = words.none, command, of }: TableProps) {
  const columns: readonly (Column<Listed> & { readonly of?: TableProps['of'] })[] = [
    { of: 'product', title: words.columns.api, cell: (each) => <bdi>{targetOf(each)}</bdi> },
    {
      of: 'consumer',
      title: words.columns.consumer,
      cell: ({ consumer, consumerName }) => <bdi>{consumerName === '' ? consumer : consumerName}</bdi>,
    },
    { title: words.columns.state, cell: ({ state }) => <State of={words.states[state]} /> },
    { title: words.columns.tier, cell: ({ slaVariant }) => <bdi>{slaVariant ?? words.defaultTier}</bdi> },
    { title: words.columns.created, cell: ({ createdAt }) => <Time at={createdAt} /> },
    { title: words.columns.id, cell: ({ id }) => <Id value={id} /> },
  ]
  const [first, ...others] = columns.filter((each) => of === undefined || each.of !== of)
  return (
    <List
      path="/v1/subscriptions"
      query={asked}
      caption={words.title}
      keyOf={({ id }) => id}
      empty={{ text: none, commands: [command ?? words.createCommand(asked['consumer'] ?? '')] }}
      columns={first === undefined ? others : [linked(first), ...others]}
    />
  )
}

/** The first column leads to the page of the subscription. */
function linked({ title, cell }: Column<Listed>): Column<Listed> {
  return {
    title,
    cell: (each) => <a href={`${BASE}subscriptions/${encodeURIComponent(each.id)}`}>{cell(each)}</a>,
  }
}
