/** `/v1/subscriptions`: who may use which API, and by which credentials. */

import type { SubscriptionInput, Subscriptions } from '../catalogue/subscriptions.ts'
import { created, texts, toPageQuery } from './replies.ts'
import type { DeclareRoute } from './routes.ts'
import { id, list, nullable, object, query, scopes, text, time } from './schemas.ts'

const state = {
  type: 'string',
  enum: ['Pending', 'WaitlistedForCapacity', 'Active', 'Suspended', 'Rejected', 'Cancelled'],
}
const subscription = object({
  id,
  consumer: id,
  ApiId: nullable(id),
  ApiProductId: nullable(id),
  state,
  slaVariant: nullable(text),
  scopes,
  approvalFlow: nullable(id),
  createdAt: time,
})
const credential = object({
  id,
  type: text,
  clientId: nullable(text),
  clientSecret: nullable(text),
  apiKey: nullable(text),
  ApiProductId: nullable(id),
  scopes,
  state: { type: 'string', enum: ['Active', 'Expiring', 'Expired', 'Revoked'] },
  createdAt: time,
  expiresAt: time,
})
const limit = object({ name: text, kind: text, value: { type: 'number' }, per: nullable(text) })
const operation = object({
  operationId: text,
  method: text,
  path: { type: 'string' },
  scopes,
  security: { type: 'array', items: text },
  resourceUnits: text,
  limits: { type: 'array', items: limit },
})

export function subscriptionRoutes(declare: DeclareRoute, subscriptions: Subscriptions): void {
  const tag = 'Subscriptions'
  declare(
    {
      operationId: 'createSubscription',
      method: 'POST',
      path: '/v1/subscriptions',
      summary: 'Subscribes a consumer; credentials are made with it',
      tag,
      scope: 'subscriptions:write',
      body: object(
        {
          consumer: id,
          api: id,
          product: id,
          slaVariant: { type: 'string', minLength: 1, maxLength: 256 },
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
      status: 201,
      answer: subscription,
      problems: ['state_conflict'],
    },
    async ({ author, body }, reply) =>
      created(reply, '/v1/subscriptions', await subscriptions.create(author, body as SubscriptionInput)),
  )
  declare(
    {
      operationId: 'listSubscriptions',
      method: 'GET',
      path: '/v1/subscriptions',
      summary: 'Subscriptions of the tenant',
      tag,
      scope: 'subscriptions:read',
      query: query({ consumer: id, api: id, state }),
      status: 200,
      answer: list(subscription),
      problems: ['cursor_invalid'],
    },
    async ({ author, query: all }) =>
      subscriptions.list(author.tenant, { ...toPageQuery(all), ...texts(all, 'consumer', 'api', 'state') }),
  )
  declare(
    {
      operationId: 'getSubscription',
      method: 'GET',
      path: '/v1/subscriptions/:id',
      summary: 'One subscription',
      tag,
      scope: 'subscriptions:read',
      status: 200,
      answer: subscription,
    },
    async ({ author, params }) => subscriptions.get(author.tenant, params['id'] ?? ''),
  )
  declare(
    {
      operationId: 'cancelSubscription',
      method: 'POST',
      path: '/v1/subscriptions/:id/cancel',
      summary: 'Ends a subscription; its credentials open nothing from the answer on',
      tag,
      scope: 'subscriptions:write',
      status: 200,
      answer: subscription,
      problems: ['state_conflict'],
    },
    async ({ author, params }) => subscriptions.cancel(author, params['id'] ?? ''),
  )
  declare(
    {
      operationId: 'listOperations',
      method: 'GET',
      path: '/v1/subscriptions/:id/operations',
      summary: 'Operations the subscription may call, with limits and cost',
      tag,
      scope: 'subscriptions:read',
      status: 200,
      answer: list(operation),
    },
    async ({ author, params }) => subscriptions.operations(author.tenant, params['id'] ?? ''),
  )
  declare(
    {
      operationId: 'listCredentials',
      method: 'GET',
      path: '/v1/subscriptions/:id/credentials',
      summary: 'Credentials with their secrets; each reading is audited',
      tag,
      scope: 'credentials:read',
      status: 200,
      answer: list(credential),
    },
    async ({ author, params }, reply) => {
      void reply.header('Cache-Control', 'no-store')
      return subscriptions.credentials(author, params['id'] ?? '')
    },
  )
  declare(
    {
      operationId: 'revokeCredential',
      method: 'DELETE',
      path: '/v1/subscriptions/:id/credentials/:credentialId',
      summary: 'Revokes a credential everywhere before it answers',
      tag,
      scope: 'credentials:write',
      status: 204,
      problems: ['state_conflict'],
    },
    async ({ author, params }, reply) => {
      await subscriptions.revokeCredential(author, params['id'] ?? '', params['credentialId'] ?? '')
      return reply.send()
    },
  )
}
