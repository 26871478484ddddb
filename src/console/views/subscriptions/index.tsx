/** The access of consumers to APIs and products: subscriptions, requests that wait for a decision, and the waiting list. */

import { path } from '../../router.ts'
import { Approvals } from './approvals.tsx'
import { SubscriptionList } from './subscription-list.tsx'
import { SubscriptionPage } from './subscription-page.tsx'
import { Waiting } from './waiting.tsx'
import '../consumers/consumers.css'

export function Subscriptions() {
  const [, id = '', tab = ''] = path.value.split('/').map(decodeURIComponent)
  switch (id) {
    case '':
      return <SubscriptionList />
    case 'approvals':
      return <Approvals />
    case 'waiting':
      return <Waiting tab={tab} />
    default:
      return <SubscriptionPage key={id} id={id} tab={tab} />
  }
}
