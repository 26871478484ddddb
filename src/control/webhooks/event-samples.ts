/** Sample data of each event type, for tests of a receiver and for the documentation. */

import type { EventBody, EventType } from '../command/event-outbox.ts'

const API = 'payments-v1'
const SUBSCRIPTION = 'sub_01jd3k5m7n9p1q3r5s7t9v1w3x'
const CREDENTIAL = 'crd_01jd3k5m7n9p1q3r5s7t9v1w3y'
const CONSUMER = 'con_01jd3k5m7n9p1q3r5s7t9v1w3z'
const TIME = '2026-11-20T09:30:00.000Z'

export const EVENT_SAMPLES: Readonly<Record<EventType, EventBody['data']>> = {
  DesignDrift: {
    api: API,
    operation: 'getPayment',
    kind: 'status',
    status: 418,
    detail: 'The contract does not declare the status 418.',
    requestId: 'req_01jd3k5m7n9p1q3r5s7t9v1w40',
    seenAt: TIME,
  },
  UpstreamHealthIssue: { api: API, state: 'unhealthy', calls: 20, failed: 12, seenAt: TIME },
  CredentialExpiringSoon: {
    credential: CREDENTIAL,
    subscription: SUBSCRIPTION,
    type: 'oauth',
    clientId: 'client-1',
    expiresAt: '2026-12-20T09:30:00.000Z',
    reason: 'CredentialExpires',
  },
  CredentialRevoked: { credential: CREDENTIAL, subscription: SUBSCRIPTION, type: 'apiKey', clientId: null },
  VersionDeprecated: { api: API, retirementDate: '2027-06-30T00:00:00.000Z', successor: 'payments-v2', note: null },
  VersionSunset: { api: API, successor: 'payments-v2', subscriptions: [SUBSCRIPTION] },
  SubscriptionWaitlistedForCapacity: {
    subscription: SUBSCRIPTION,
    api: API,
    consumer: CONSUMER,
    slaVariant: 'gold',
  },
  TierChangeRequested: {
    subscription: SUBSCRIPTION,
    api: API,
    from: 'silver',
    to: 'gold',
    reason: 'Our traffic has doubled.',
  },
  SlaChanged: { api: API, variant: 'gold', from: '1.0.0', to: '1.1.0' },
}
