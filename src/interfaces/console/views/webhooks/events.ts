/** The types of events, in the order of the API. */

import type { ChangeBody } from '../../api/operations.ts'

export type EventName = ChangeBody<'POST /v1/eventsubscriptions/:id/test'>['type']

/** Lists each type once: the compiler refuses a missing and an unknown one. */
const KNOWN: Readonly<Record<EventName, true>> = {
  DesignDrift: true,
  UpstreamHealthIssue: true,
  CredentialExpiringSoon: true,
  CredentialRevoked: true,
  VersionDeprecated: true,
  VersionSunset: true,
  SubscriptionWaitlistedForCapacity: true,
  TierChangeRequested: true,
  SlaChanged: true,
}

export const EVENTS = Object.keys(KNOWN) as readonly EventName[]
