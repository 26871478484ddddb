/** The subscriptions of a consumer to an API or a product, with their states. */

import { State } from '../../parts/values.tsx'
import { texts } from '../../texts.ts'
import type { Subscription } from './access.ts'
import { useTargetNames } from './product-names.ts'
import { SubscriptionLink } from './subscription-link.tsx'

export function AccessList({ of }: { readonly of: readonly Subscription[] }) {
  const nameOf = useTargetNames()
  if (of.length === 0) return <p class="quiet">{texts.portal.apis.noneYours}</p>
  return (
    <ul>
      {of.map((each) => (
        <li key={each.id}>
          <SubscriptionLink id={each.id} name={nameOf(each)} /> <State of={texts.subscriptions.states[each.state]} />
        </li>
      ))}
    </ul>
  )
}
