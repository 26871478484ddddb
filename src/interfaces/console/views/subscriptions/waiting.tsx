/** The waiting list for capacity: subscriptions, and approved changes of tier. The service admits them in order. */

import { List } from '../../parts/list.tsx'
import { Page, Tabs } from '../../parts/page.tsx'
import { Id, Time } from '../../parts/values.tsx'
import { BASE } from '../../router.ts'
import { may } from '../../shell/person.ts'
import { texts } from '../../texts.ts'
import { SubscriptionTable } from './subscription-list.tsx'

const words = texts.waiting

export function Waiting({ tab }: { readonly tab: string }) {
  const tabs = [
    { path: '', title: words.tabs.subscriptions },
    ...(may('approvals:read') ? [{ path: 'tiers', title: words.tabs.tiers }] : []),
  ]
  return (
    <Page title={words.title}>
      <p class="quiet">{words.lead}</p>
      <Tabs label={words.title} tabs={tabs} current={tab} base={`${BASE}subscriptions/waiting/`} />
      {tab === 'tiers' ? (
        <TierChanges />
      ) : (
        <SubscriptionTable query={{ state: 'WaitlistedForCapacity' }} none={words.none} />
      )}
    </Page>
  )
}

/** An approved change of tier that has no effect yet waits for capacity. */
function TierChanges() {
  return (
    <List
      path="/v1/approvals"
      query={{ state: 'Approved' }}
      caption={words.tabs.tiers}
      keyOf={({ id }) => id}
      empty={{ text: words.noTiers, commands: ['tollgate approvals list --state Approved'] }}
      columns={[
        {
          title: words.subscription,
          cell: ({ subscription }) => <a href={`${BASE}subscriptions/${subscription ?? ''}`}>{subscription}</a>,
        },
        { title: texts.approvals.columns.tier, cell: ({ slaVariant }) => <bdi>{slaVariant ?? ''}</bdi> },
        { title: texts.approvals.columns.requester, cell: ({ requester }) => <Id value={requester} /> },
        { title: texts.approvals.columns.created, cell: ({ createdAt }) => <Time at={createdAt} /> },
      ]}
    />
  )
}
