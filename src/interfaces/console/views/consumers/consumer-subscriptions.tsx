/** The subscriptions of a consumer. */

import { may } from '../../shell/person.ts'
import { CreateSubscription } from '../subscriptions/create-subscription.tsx'
import { SubscriptionTable } from '../subscriptions/subscription-list.tsx'

export function ConsumerSubscriptions({ consumer }: { readonly consumer: string }) {
  return (
    <>
      {may('subscriptions:write') && (
        <p class="toolbar">
          <CreateSubscription consumer={consumer} />
        </p>
      )}
      <SubscriptionTable of="consumer" query={{ consumer }} />
    </>
  )
}
