/** `/v1/subscriptions`: who may use which API, and by which credentials. */

import type { SubscriptionInput, Subscriptions } from '../catalogue/subscriptions.ts'
import type { Handlers, Operation, Operations } from './operation.ts'
import { texts, toPageQuery } from './page-query.ts'
import { id, list, named, nullable, object, query, reference, scopeNames, scopes, text, time } from './schemas.ts'

const state = {
  type: 'string',
  enum: ['Pending', 'WaitlistedForCapacity', 'Active', 'Suspended', 'Rejected', 'Cancelled'],
}
const subscription = named(
  'Subscription',
  object({
    id,
    consumer: id,
    ApiId: nullable(id),
    ApiProductId: nullable(id),
    state,
    slaVariant: nullable(text),
    scopes: scopeNames,
    approvalFlow: nullable(id),
    createdAt: time,
  }),
)
const credential = named(
  'Credential',
  object({
    id,
    type: { type: 'string', enum: ['OAuth2', 'ApiKey', 'PKCE', 'Federated'] },
    clientId: nullable(text),
    clientSecret: nullable(text),
    apiKey: nullable(text),
    ApiProductId: nullable(id),
    scopes: scopeNames,
    state: { type: 'string', enum: ['Active', 'Expiring', 'Expired', 'Revoked'] },
    createdAt: time,
    expiresAt: time,
  }),
)
const limit = object({ name: text, kind: text, value: { type: 'number' }, per: nullable(text) })
const operation = named(
  'SubscribedOperation',
  object({
    operationId: text,
    method: text,
    path: text,
    scopes: scopeNames,
    security: { type: 'array', items: text },
    resourceUnits: text,
    limits: { type: 'array', items: limit },
  }),
)
const input = named(
  'SubscriptionInput',
  object(
    {
      consumer: reference,
      api: reference,
      product: reference,
      slaVariant: reference,
      scopes,
      securityTypes: {
        type: 'array',
        minItems: 1,
        maxItems: 4,
        items: { type: 'string', enum: ['OAuth2', 'ApiKey', 'PKCE', 'Federated'] },
      },
    },
    ['consumer'],
  ),
)
const reading = {
  method: 'GET',
  tag: 'Subscriptions',
  scope: 'subscriptions:read',
  status: 200,
} as const satisfies Partial<Operation>
const writing = { method: 'POST', tag: 'Subscriptions', scope: 'subscriptions:write' } as const

export const SUBSCRIPTION_OPERATIONS = {
  createSubscription: {
    ...writing,
    path: '/v1/subscriptions',
    summary: 'Subscribes a consumer; credentials are made with it',
    body: input,
    status: 201,
    answer: subscription,
    problems: ['state_conflict'],
  },
  listSubscriptions: {
    ...reading,
    path: '/v1/subscriptions',
    summary: 'Subscriptions of the tenant',
    query: query({ consumer: reference, api: reference, state }),
    answer: list(subscription),
  },
  getSubscription: {
    ...reading,
    path: '/v1/subscriptions/:id',
    summary: 'One subscription',
    answer: subscription,
  },
  cancelSubscription: {
    ...writing,
    path: '/v1/subscriptions/:id/cancel',
    summary: 'Ends a subscription; its credentials open nothing from the answer on',
    status: 200,
    answer: subscription,
    problems: ['state_conflict'],
    changes: 'getSubscription',
  },
  listOperations: {
    ...reading,
    path: '/v1/subscriptions/:id/operations',
    summary: 'Operations the subscription may call, with limits and cost',
    answer: list(operation),
  },
  listCredentials: {
    ...reading,
    path: '/v1/subscriptions/:id/credentials',
    summary: 'Credentials with their secrets; each reading is audited',
    scope: 'credentials:read',
    answer: list(credential),
  },
  revokeCredential: {
    ...writing,
    method: 'DELETE',
    path: '/v1/subscriptions/:id/credentials/:credentialId',
    summary: 'Revokes a credential everywhere before it answers',
    scope: 'credentials:write',
    status: 204,
    problems: ['state_conflict'],
  },
} as const satisfies Operations

export function subscriptionHandlers(subscriptions: Subscriptions): Handlers<typeof SUBSCRIPTION_OPERATIONS> {
  return {
    createSubscription: async ({ author, body }) => subscriptions.create(author, body as SubscriptionInput),
    listSubscriptions: async ({ author, query: given }) =>
      subscriptions.list(author.tenant, { ...toPageQuery(given), ...texts(given, 'consumer', 'api', 'state') }),
    getSubscription: async ({ author, params }) => subscriptions.get(author.tenant, params['id'] ?? ''),
    cancelSubscription: async ({ author, params }) => subscriptions.cancel(author, params['id'] ?? ''),
    listOperations: async ({ author, params }) => subscriptions.operations(author.tenant, params['id'] ?? ''),
    async listCredentials({ author, params }, reply) {
      void reply.header('Cache-Control', 'no-store')
      return subscriptions.credentials(author, params['id'] ?? '')
    },
    revokeCredential: async ({ author, params }) =>
      subscriptions.revokeCredential(author, params['id'] ?? '', params['credentialId'] ?? ''),
  }
}
