/** What the registry keeps of a subscription. */

import type { PersistedActor } from '../../command/persisted-machine.ts'
import { documentKind, type Write } from '../../store/registry.ts'

export interface SubscriptionBody {
  readonly consumer: string
  readonly api: string
  readonly apiProductId: string
  readonly actor: PersistedActor
  readonly slaVariant: string
  readonly scopes: readonly string[]
  /** The flow that decides on it; missing where none was needed. */
  readonly approvalFlow?: string
  /** Where people may be sent back to; of subscriptions that an earlier version has made, missing. */
  readonly redirectUris?: readonly string[]
}

export const SUBSCRIPTION_KIND = documentKind<SubscriptionBody>('subscription')

export function subscriptionWrite(id: string, tenant: string, expected: number, body: SubscriptionBody): Write {
  const { consumer, api, apiProductId, actor } = body
  const keys = { consumer, api, state: String(actor.value), ...(apiProductId !== '' && { product: apiProductId }) }
  return { kind: SUBSCRIPTION_KIND, id, tenant, expected, body, keys }
}
