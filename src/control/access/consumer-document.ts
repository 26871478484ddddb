/** The registry document of a consumer. */

import { Problem } from '../../foundation/domain/problem.ts'
import type { Labelled } from '../../storage/store/labels.ts'
import { NAME_KEY, toNameKey } from '../../storage/store/name-key.ts'
import { documentKind, type Write } from '../../storage/store/registry.ts'

export interface ConsumerInput extends Labelled {
  readonly name: string
  readonly kind: 'application' | 'agent'
  readonly contact?: string
  /** The widest exposure of the APIs that the consumer sees; missing: `Public`. */
  readonly exposure?: 'Internal' | 'Partner' | 'Public'
}

export interface ConsumerBody extends ConsumerInput {
  /** Missing if the consumer may call. */
  readonly isDisabled?: true
}

export const CONSUMER_KIND = documentKind<ConsumerBody>('consumer', [
  'name',
  'kind',
  'contact',
  'exposure',
  'isDisabled',
  'labels',
])

/** Name of the lock that a consumer and the creation of its subscriptions share. */
export const consumerLock = (id: string): string => `consumer ${id}`

export type ConsumerState = 'Active' | 'Disabled'

export function consumerState({ isDisabled }: ConsumerBody): ConsumerState {
  return isDisabled === true ? 'Disabled' : 'Active'
}

/** Throws `Problem('state_conflict')` if the consumer is disabled. */
export function checkConsumerEnabled(body: ConsumerBody): void {
  if (body.isDisabled !== true) return
  const extensions = { state: consumerState(body), allowed: ['enable'] } as const
  throw new Problem('state_conflict', 'The consumer is disabled. Enable it before you create a subscription.', {
    extensions,
  })
}

/** Returns the write of a consumer, which can be listed by kind, by state and by the beginning of its name. */
export function consumerWrite(id: string, tenant: string, expected: number, body: ConsumerBody): Write {
  const state = consumerState(body)
  const keys = { kind: body.kind, state, [NAME_KEY]: toNameKey(tenant, body.name) }
  return { kind: CONSUMER_KIND, id, tenant, expected, body, keys }
}
