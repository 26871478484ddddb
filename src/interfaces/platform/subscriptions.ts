/** `/v1/subscriptions`: access of consumers to APIs and products, with its credentials. */

import type { Credentials } from '../../control/access/credentials.ts'
import type { HeldScopes } from '../../control/access/held-scopes.ts'
import type { Entitlements } from '../../control/access/people/entitlements.ts'
import type { ConsumerView } from '../../control/subscriptions/consumer-view.ts'
import type { Subscriptions } from '../../control/subscriptions/subscriptions.ts'
import { hasLabels, pageOf } from '../../control/command/page.ts'
import { scopesFor } from './caller-owner.ts'
import type { Call, Handlers, Operation, Operations } from './operation.ts'
import { isOfOther } from './owner-filter.ts'
import { checkOwnRequest, toReader } from './own-subscriptions.ts'
import { renamed } from './renamed-filter.ts'
import { subscribedOperation } from './subscribed-operation-schema.ts'
import { credential, credentialChange, credentialType, rotated, rotation } from './credential-schema.ts'
import { state, subscription, subscriptionChange } from './subscription-schema.ts'
import {
  formerly,
  instant,
  labelledQuery,
  labels,
  line,
  list,
  named,
  object,
  PAGE_LIMIT_MAX,
  pagedQuery,
  reference,
  scopes,
  thumbprint,
} from './schemas.ts'

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
        items: credentialType,
      },
      redirectUris: { type: 'array', maxItems: 20, items: { type: 'string', minLength: 1, maxLength: 2_048 } },
      federated: object({ issuer: line, clientId: line }),
      certificateThumbprint: {
        ...thumbprint,
        description: 'Binds the credentials to a client certificate (RFC 8705): the SHA-256 of its DER, in base64url.',
      },
      contact: line,
      expiresAt: instant,
      labels,
      force: {
        type: 'boolean',
        default: false,
        description: 'Allows a subscription to a deprecated API.',
      },
    },
    ['consumer'],
  ),
)
const reading = {
  method: 'GET',
  tag: 'Subscriptions',
  scope: 'subscriptions:read',
  own: 'subscription',
  status: 200,
} as const satisfies Partial<Operation>
const writing = { method: 'POST', tag: 'Subscriptions', scope: 'subscriptions:write', own: 'subscription' } as const
/** `If-Match` has the ETag of the list, which shows no secret here. */
const changingCredentials = {
  changes: 'listCredentials',
  changesWith: () => ({ reveal: false, limit: PAGE_LIMIT_MAX }),
} as const
const CREDENTIALS_TAG =
  '`If-Match` is compared with the ETag of `GET /v1/subscriptions/{id}/credentials?reveal=false&limit=500`.'
/** A consumer cannot end a suspension by its provider, nor move the date on which its access ends. */
const byProvider = {
  method: 'POST',
  tag: 'Subscriptions',
  scope: 'subscriptions:write',
  singleWidth: 'The provider decides; a consumer can cancel its own subscriptions.',
} as const

export const SUBSCRIPTION_OPERATIONS = {
  createSubscription: {
    ...writing,
    own: 'filtered',
    path: '/v1/subscriptions',
    summary: 'Creates a subscription of a consumer, with its credentials',
    body: input,
    status: 201,
    answer: subscription,
    problems: ['state_conflict', 'name_taken'],
  },
  listSubscriptions: {
    ...reading,
    own: 'filtered',
    path: '/v1/subscriptions',
    summary: 'Lists the subscriptions of the tenant',
    query: labelledQuery({
      consumer: reference,
      ApiId: reference,
      ApiProductId: reference,
      state,
      api: formerly('ApiId', reference),
      product: formerly('ApiProductId', reference),
    }),
    answer: list(subscription),
  },
  getSubscription: {
    ...reading,
    path: '/v1/subscriptions/:id',
    summary: 'Returns a subscription',
    answer: subscription,
  },
  updateSubscription: {
    ...byProvider,
    method: 'PATCH',
    path: '/v1/subscriptions/:id',
    summary: 'Changes the labels, the contact or the expiry date of a subscription, and whether it has refresh tokens',
    body: subscriptionChange,
    status: 200,
    answer: subscription,
    problems: ['state_conflict'],
    changes: 'getSubscription',
  },
  cancelSubscription: {
    ...writing,
    path: '/v1/subscriptions/:id/cancel',
    summary: 'Cancels a subscription; its credentials are refused once this call returns',
    status: 200,
    answer: subscription,
    problems: ['state_conflict'],
    changes: 'getSubscription',
  },
  suspendSubscription: {
    ...byProvider,
    path: '/v1/subscriptions/:id/suspend',
    summary: 'Suspends a subscription; its credentials are refused until it is resumed',
    status: 200,
    answer: subscription,
    problems: ['state_conflict'],
    changes: 'getSubscription',
  },
  resumeSubscription: {
    ...byProvider,
    path: '/v1/subscriptions/:id/resume',
    summary: 'Resumes a suspended subscription',
    status: 200,
    answer: subscription,
    problems: ['state_conflict'],
    changes: 'getSubscription',
  },
  setScopes: {
    ...writing,
    method: 'PUT',
    path: '/v1/subscriptions/:id/scopes',
    summary: 'Replaces the scopes of a subscription; removed scopes are revoked before this call returns',
    body: named('SubscriptionScopes', object({ scopes })),
    status: 200,
    answer: subscription,
    problems: ['state_conflict', 'operation_forbidden'],
    changes: 'getSubscription',
  },
  listOperations: {
    ...reading,
    path: '/v1/subscriptions/:id/operations',
    summary: 'Lists the operations that the subscription may call, with limits, cost and remaining allowance',
    query: pagedQuery(),
    answer: list(subscribedOperation),
  },
  listCredentials: {
    ...reading,
    path: '/v1/subscriptions/:id/credentials',
    summary: 'Lists the credentials; each read is audited',
    description:
      'With the scope `credentials:reveal`, or with the own width of the scope, the items contain their secrets, unless `reveal` is false. ' +
      'The audit log has `credentials.read` for a read with secrets, else `credentials.list`.',
    scope: 'credentials:read',
    query: labelledQuery({ reveal: { type: 'boolean', default: true, description: 'Whether to return the secrets.' } }),
    answer: list(credential),
    untagged: 'lastUsedAt',
  },
  updateCredential: {
    ...writing,
    method: 'PATCH',
    path: '/v1/subscriptions/:id/credentials/:credentialId',
    summary: 'Changes the name and the labels of a credential; the answer has no secret',
    description: CREDENTIALS_TAG,
    scope: 'credentials:write',
    body: credentialChange,
    status: 200,
    answer: credential,
    ...changingCredentials,
  },
  rotateCredentials: {
    ...writing,
    path: '/v1/subscriptions/:id/credentials/rotate',
    summary: 'Creates new credentials; the previous ones stay valid for the overlap',
    description:
      'With the scope `credentials:reveal`, or with the own width of the scope, the answer contains the new secrets. ' +
      CREDENTIALS_TAG,
    scope: 'credentials:write',
    body: { ...rotation, type: ['object', 'null'] },
    status: 200,
    answer: rotated,
    problems: ['state_conflict', 'operation_forbidden'],
    ...changingCredentials,
  },
  revokeCredential: {
    ...writing,
    method: 'DELETE',
    path: '/v1/subscriptions/:id/credentials/:credentialId',
    summary: 'Revokes a credential on every thread before this call returns',
    description: CREDENTIALS_TAG,
    scope: 'credentials:write',
    status: 204,
    problems: ['state_conflict'],
    ...changingCredentials,
  },
} as const satisfies Operations

export interface SubscriptionHandlersOptions {
  readonly subscriptions: Subscriptions
  readonly credentials: Credentials
  readonly consumerView: Pick<ConsumerView, 'isVisible'>
  readonly entitlements: Pick<Entitlements, 'ofUser'>
}

export function subscriptionHandlers({
  subscriptions,
  credentials,
  consumerView,
  entitlements,
}: SubscriptionHandlersOptions): Handlers<typeof SUBSCRIPTION_OPERATIONS> {
  /** Returns what the caller may give to the consumer of a subscription. */
  async function heldFor({ author, caller }: Pick<Call, 'author' | 'caller'>, id: string): Promise<HeldScopes> {
    const { consumer } = await subscriptions.get(author.tenant, id)
    return scopesFor(entitlements, caller, consumer)
  }

  return {
    async createSubscription(call) {
      await checkOwnRequest(consumerView, call)
      const { author, body, caller } = call
      return subscriptions.create(author, body, await scopesFor(entitlements, caller, body.consumer))
    },
    listSubscriptions: async ({ author, owner, query }) => {
      if (isOfOther(owner, query.consumer)) return { items: [], next: null }
      return subscriptions.list(author.tenant, {
        ...query,
        ...renamed(query, 'ApiId', 'api'),
        ...renamed(query, 'ApiProductId', 'product'),
        ...(owner !== null && { consumer: owner }),
      })
    },
    getSubscription: async ({ author, params }) => subscriptions.get(author.tenant, params.id),
    updateSubscription: async ({ author, params, body }) => subscriptions.update(author, params.id, body),
    cancelSubscription: async ({ author, params }) => subscriptions.cancel(author, params.id),
    suspendSubscription: async ({ author, params }) => subscriptions.suspend(author, params.id),
    resumeSubscription: async ({ author, params }) => subscriptions.resume(author, params.id),
    async setScopes(call) {
      const { author, owner, params, body } = call
      const held = await heldFor(call, params.id)
      return subscriptions.setScopes(author, params.id, body.scopes, { held, isConsumer: owner !== null })
    },
    listOperations: async ({ author, params, query }) =>
      pageOf((await subscriptions.operations(author.tenant, params.id)).items, query),
    async listCredentials(call, reply) {
      const { author, params, query } = call
      void reply.header('Cache-Control', 'no-store')
      const reader = toReader(call, await heldFor(call, params.id))
      const isRevealed = reader.isRevealed && query.reveal
      const { items } = await credentials.read(author, params.id, { ...reader, isRevealed })
      return pageOf(items.filter(hasLabels(query)), query)
    },
    updateCredential: async ({ author, params, body }) =>
      credentials.update(author, params.id, params.credentialId, body),
    async rotateCredentials(call, reply) {
      const { author, params, body } = call
      void reply.header('Cache-Control', 'no-store')
      const reader = toReader(call, await heldFor(call, params.id))
      return credentials.rotate(author, params.id, body ?? {}, reader)
    },
    revokeCredential: async ({ author, params }) => credentials.revoke(author, params.id, params.credentialId),
  }
}
