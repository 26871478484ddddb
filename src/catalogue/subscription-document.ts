/** What the registry keeps of a subscription. */

import type { PersistedActor } from '../actors/step.ts'
import type { Write } from '../store/registry.ts'

export interface SubscriptionBody {
  readonly consumer: string
  readonly api: string
  readonly apiProductId: string
  readonly actor: PersistedActor
  readonly slaVariant: string
  readonly scopes: readonly string[]
}

export function subscriptionWrite(id: string, tenant: string, expected: number, body: SubscriptionBody): Write {
  const keys = { consumer: body.consumer, api: body.api, state: String(body.actor.value) }
  return { kind: 'subscription', id, tenant, expected, body, keys }
}
