/** Schemas of a subscription and of its change. */

import { credentialType } from './credential-schema.ts'
import { id, instant, labels, line, named, nullable, object, scopeNames, text, time } from './schemas.ts'

export const state = {
  type: 'string',
  enum: ['Pending', 'WaitlistedForCapacity', 'Active', 'Suspended', 'Rejected', 'Cancelled'],
} as const
const recommendation = object({
  kind: { type: 'string', enum: ['TierChange'] },
  api: id,
  message: text,
  breaches: {
    type: 'array',
    items: time,
    description: 'Start of each breach; at most the latest ten of the last 30 days.',
  },
})
export const subscription = named(
  'Subscription',
  object({
    id,
    consumer: id,
    consumerName: text,
    ApiId: nullable(id),
    ApiProductId: nullable(id),
    state,
    slaVariant: nullable(text),
    scopes: scopeNames,
    securityTypes: {
      type: 'array',
      items: credentialType,
      description:
        'The types of its credentials, except for those that are revoked, expired or replaced by a rotation.',
    },
    federated: nullable(object({ issuer: text, clientId: text })),
    certificateThumbprints: {
      type: 'array',
      items: nullable(text),
      description:
        'The client certificates that these credentials are bound to; null among them: some are bound to none.',
    },
    redirectUris: { type: 'array', items: text },
    refreshTokens: {
      type: 'boolean',
      description: 'Sign-ins with the clients of the subscription give refresh tokens.',
    },
    approvalFlow: nullable(id),
    contact: nullable(text),
    expiresAt: { ...nullable(time), description: 'The subscription is cancelled at this time.' },
    labels,
    recommendations: { type: 'array', items: recommendation },
    createdAt: time,
  }),
)
export const subscriptionChange = named(
  'SubscriptionChange',
  object(
    {
      contact: nullable(line),
      expiresAt: nullable(instant),
      refreshTokens: {
        type: 'boolean',
        description:
          'Lets clients keep the access of a person without a new sign-in (RFC 6749, 6), and devices sign in (RFC 8628).',
      },
      labels,
    },
    [],
  ),
)
