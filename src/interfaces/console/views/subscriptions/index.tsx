/** The access of consumers to APIs and products: subscriptions, requests that wait for a decision, and the waiting list. */

import { segment } from '../../router.ts'
import { Approvals } from './approvals.tsx'
import { SubscriptionList } from './subscription-list.tsx'
import { SubscriptionPage } from './subscription-page.tsx'
import { Waiting } from './waiting.tsx'
import '../consumers/consumers.css'

export function Subscriptions() {
  const id = segment(1)
  switch (id) {
    case '':
      return <SubscriptionList />
    case 'approvals':
      return <Approvals />
    case 'waiting':
      return <Waiting tab={segment(2)} />
    default:
      return <SubscriptionPage key={id} id={id} tab={segment(2)} />
  }
}
