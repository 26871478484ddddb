/** The registry document of a subscription. */

import { refusedStep } from '../../command/commands.ts'
import { begin, step, type PersistedActor } from '../../command/persisted-machine.ts'
import type { Labelled } from '../../../storage/store/labels.ts'
import { documentKind, type Write } from '../../../storage/store/registry.ts'
import {
  subscription as machine,
  SUBSCRIPTION_ACTIONS,
  type SubscriptionEvent,
  type SubscriptionState,
} from './subscription-machine.ts'

export interface SubscriptionBody extends Labelled {
  readonly consumer: string
  readonly api: string
  readonly apiProductId: string
  readonly actor: PersistedActor
  readonly slaVariant: string
  readonly scopes: readonly string[]
  /** The approval flow of the subscription; missing if it was approved automatically. */
  readonly approvalFlow?: string
  /** Missing in subscriptions of an earlier version. */
  readonly redirectUris?: readonly string[]
  /** Whether sign-ins give refresh tokens; missing: they do not. */
  readonly refreshTokens?: boolean
  readonly contact?: string
  /** The subscription is cancelled at this time. */
  readonly expiresAtMs?: number
}

export const SUBSCRIPTION_KIND = documentKind<SubscriptionBody>('subscription', [
  'consumer',
  'api',
  'apiProductId',
  'state',
  'slaVariant',
  'scopes',
  'redirectUris',
  'refreshTokens',
  'contact',
  'expiresAtMs',
  'labels',
])

/** The states of a subscription that has not ended. */
export const LIVE_STATES: readonly SubscriptionState[] = ['Active', 'Suspended', 'Pending', 'WaitlistedForCapacity']

/** The state of a subscription that waits for its approval. */
export const pendingSubscription = (): PersistedActor => begin(machine, undefined)

/** Throws `Problem('state_conflict')` if the state of the subscription does not accept the event. */
export function stepSubscription(actor: PersistedActor, type: SubscriptionEvent['type']): PersistedActor {
  const result = step(machine, actor, { type })
  if ('refused' in result) throw refusedStep(result.refused, SUBSCRIPTION_ACTIONS)
  return result.next
}

export function subscriptionWrite(id: string, tenant: string, expected: number, body: SubscriptionBody): Write {
  const { consumer, api, apiProductId, actor } = body
  const keys = { consumer, api, state: String(actor.value), ...(apiProductId !== '' && { product: apiProductId }) }
  return { kind: SUBSCRIPTION_KIND, id, tenant, expected, body, keys }
}
