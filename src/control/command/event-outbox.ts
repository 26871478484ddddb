/** The outbox: an event is written in the same commit as the change that causes it, so neither exists without the other. */

import type { CreateId } from '../../foundation/runtime/ids.ts'
import { documentKind, type Write } from '../../storage/store/registry.ts'

export const EVENT_TYPES = [
  'DesignDrift',
  'UpstreamHealthIssue',
  'CredentialExpiringSoon',
  'CredentialRevoked',
  'VersionDeprecated',
  'VersionSunset',
  'SubscriptionWaitlistedForCapacity',
  'TierChangeRequested',
  'SlaChanged',
] as const
export type EventType = (typeof EVENT_TYPES)[number]

export interface EventBody {
  readonly type: EventType
  readonly data: Readonly<Record<string, unknown>>
}

/** Returns the data of an event that a consumer may see; null if the event does not concern the consumer. */
export type DataForConsumer = (tenant: string, consumer: string, event: EventBody) => Promise<EventBody['data'] | null>

export const OUTBOX_EVENT_KIND = documentKind<EventBody>('event', 'hidden')

export function eventWrite(createId: CreateId, tenant: string, type: EventType, data: EventBody['data']): Write {
  const body: EventBody = { type, data }
  return { kind: OUTBOX_EVENT_KIND, id: createId('evt'), tenant, expected: 0, body, keys: { type } }
}

/** The event of a subscription that joins the waiting list. */
export function waitlisted(
  createId: CreateId,
  tenant: string,
  subscription: string,
  { api, consumer, slaVariant }: { readonly api: string; readonly consumer: string; readonly slaVariant: string },
): Write {
  return eventWrite(createId, tenant, 'SubscriptionWaitlistedForCapacity', { subscription, api, consumer, slaVariant })
}
