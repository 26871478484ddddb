/**
 * What happens to resources that others want to hear of: written in the same commit as the change that
 * caused it, so that there is no change without its event and no event without its change.
 */

import type { CreateId } from '../runtime/ids.ts'
import { documentKind, type Write } from '../store/registry.ts'

export const EVENT_KINDS = [
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
export type EventKind = (typeof EVENT_KINDS)[number]

export interface EventBody {
  readonly type: EventKind
  readonly data: Readonly<Record<string, unknown>>
}

export const OUTBOX_EVENT_KIND = documentKind<EventBody>('event')

export function eventWrite(createId: CreateId, tenant: string, type: EventKind, data: EventBody['data']): Write {
  const body: EventBody = { type, data }
  return { kind: OUTBOX_EVENT_KIND, id: createId('evt'), tenant, expected: 0, body, keys: { type } }
}

/** A subscription that has to wait until capacity frees. */
export function waitlisted(
  createId: CreateId,
  tenant: string,
  subscription: string,
  { api, consumer, slaVariant }: { readonly api: string; readonly consumer: string; readonly slaVariant: string },
): Write {
  return eventWrite(createId, tenant, 'SubscriptionWaitlistedForCapacity', { subscription, api, consumer, slaVariant })
}
