/** The page of a subscription: its terms, its credentials, what is left of its limits, and who decided on it. */

import type { Answer } from '../../api/operations.ts'
import { useRead } from '../../api/use-read.ts'
import { AuditTrail } from '../../parts/audit-trail.tsx'
import { Page, Tabs } from '../../parts/page.tsx'
import { Loaded, NotFound } from '../../parts/states.tsx'
import { State } from '../../parts/values.tsx'
import { BASE } from '../../router.ts'
import { may } from '../../shell/person.ts'
import { texts } from '../../texts.ts'
import { Credentials } from './credentials.tsx'
import { FlowList } from './flow-list.tsx'
import { Limits } from './limits.tsx'
import { SubscriptionActions } from './subscription-actions.tsx'
import { titleOf } from './subscription-name.ts'
import { SubscriptionOverview } from './subscription-overview.tsx'

type Subscription = Answer<'/v1/subscriptions/:id'>

const words = texts.subscriptions
const TABS = [
  { path: '', title: words.tabs.overview, scope: 'subscriptions:read' },
  { path: 'credentials', title: words.tabs.credentials, scope: 'credentials:read' },
  { path: 'limits', title: words.tabs.limits, scope: 'subscriptions:read' },
  { path: 'approvals', title: words.tabs.approvals, scope: 'subscriptions:read' },
  { path: 'activity', title: words.tabs.activity, scope: 'audit:read' },
] as const

interface SubscriptionPageProps {
  readonly id: string
  readonly tab: string
}

export function SubscriptionPage({ id, tab }: SubscriptionPageProps) {
  const reading = useRead('/v1/subscriptions/:id', { params: { id } })
  return (
    <Loaded reading={reading} title={words.title}>
      {(subscription) => (
        <Page
          title={titleOf(subscription)}
          state={<State of={words.states[subscription.state]} />}
          actions={<SubscriptionActions subscription={subscription} onChanged={reading.reload} />}
        >
          <Tabs
            label={words.title}
            tabs={TABS.filter(({ scope }) => may(scope))}
            current={tab}
            base={`${BASE}subscriptions/${encodeURIComponent(id)}/`}
          />
          <Tab tab={tab} subscription={subscription} onChanged={reading.reload} />
        </Page>
      )}
    </Loaded>
  )
}

interface TabProps {
  readonly subscription: Subscription
  readonly onChanged: () => void
}

function Tab({ tab, subscription, onChanged }: TabProps & { readonly tab: string }) {
  switch (tab) {
    case '':
      return <SubscriptionOverview subscription={subscription} onChanged={onChanged} />
    case 'credentials':
      return <Credentials subscription={subscription.id} name={titleOf(subscription)} isPaged />
    case 'limits':
      return <Limits subscription={subscription.id} isPaged />
    case 'approvals':
      return <FlowList subscription={subscription.id} />
    case 'activity':
      return <AuditTrail id={subscription.id} />
    default:
      return <NotFound />
  }
}
