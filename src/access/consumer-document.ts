/** The registry document of a consumer. */

import type { Labelled } from '../store/labels.ts'
import { documentKind } from '../store/registry.ts'

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
