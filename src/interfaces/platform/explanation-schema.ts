/** Schemas of explained calls and explained credentials. */

import { STAGES } from '../../foundation/domain/explanation.ts'
import { LIMIT_KINDS } from '../../foundation/domain/limit-rule.ts'
import { requestFields } from './request-shape.ts'
import { id, instant, named, nullable, object, reference, scopeNames, text, time } from './schemas.ts'

const nullableNumber = { type: ['number', 'null'] } as const
const limitState = {
  ...object({
    name: text,
    kind: { type: 'string', enum: [...LIMIT_KINDS, 'quota'] },
    limit: { type: 'number', description: 'Calls; resource units for a quota.' },
    used: nullableNumber,
    remaining: nullableNumber,
    window: { type: ['string', 'null'], description: 'Null for concurrent calls.' },
    opensAt: {
      ...instant,
      type: ['string', 'null'],
      description: 'Null if the limit admits calls again as soon as a call ends.',
    },
  }),
  type: ['object', 'null'],
  description: 'The limit that refused the call, with its state at that moment; null if none did.',
} as const

export const explainedRequest = named(
  'ExplainedRequest',
  object({
    ...requestFields,
    stage: {
      type: ['string', 'null'],
      enum: [...STAGES, null],
      description: 'The stage that refused the call; null if none did, or if the stage is unknown.',
    },
    stages: {
      type: 'array',
      description:
        'All stages in their order. A stage after the one that refused the call was not reached, except that the call was recorded.',
      items: object({
        stage: { type: 'string', enum: STAGES },
        result: { type: 'string', enum: ['Passed', 'Refused', 'NotReached', 'Unknown'] },
      }),
    },
    detail: { ...text, description: 'The reason, in a sentence.' },
    errors: {
      type: 'array',
      description: 'The first validation errors.',
      items: object({ pointer: { type: 'string', description: 'RFC 6901' }, detail: text }),
    },
    limit: limitState,
  }),
)

const holder = {
  consumer: id,
  consumerName: text,
  agent: { ...id, description: 'The consumer, if it is an agent; else empty.' },
  subscription: id,
  api: nullable(id),
  ApiProductId: nullable(id),
  scopes: scopeNames,
} as const
const refusal = {
  ...object({ code: { ...text, description: 'The code of the problem document.' }, detail: text }),
  type: ['object', 'null'],
  description: 'Why every call is refused; null if a call is admitted that its operation and its limits admit.',
} as const
const explainedToken = named(
  'ExplainedToken',
  object({
    state: {
      type: 'string',
      enum: [
        'Valid',
        'Unknown',
        'Revoked',
        'OtherApi',
        'NotYetValid',
        'Expired',
        'CredentialRevoked',
        'SubscriptionInactive',
      ],
      description: '`Unknown`: this service did not issue the token, or not to a consumer that you may see.',
    },
    refusal,
    holder: {
      ...object({
        ...holder,
        onBehalfOf: { ...id, description: 'The person that the consumer calls for; else empty.' },
        tokenId: { ...text, description: 'The claim `jti`.' },
        expiresAt: time,
      }),
      type: ['object', 'null'],
      description: 'Null if the state is `Unknown`.',
    },
  }),
)
const explainedKey = named(
  'ExplainedKey',
  object({
    id,
    type: { type: 'string', enum: ['OAuth2', 'ApiKey', 'PKCE', 'Federated'] },
    keyPrefix: text,
    state: { type: 'string', enum: ['Active', 'Expiring', 'Expired', 'Revoked'] },
    createdAt: time,
    expiresAt: time,
    ...holder,
    refusal,
  }),
)

export const explanationInput = named(
  'ExplanationInput',
  object(
    {
      id: { ...reference, description: 'The `X-Request-Id` of a call.' },
      token: {
        type: 'string',
        minLength: 1,
        maxLength: 12_288,
        description: 'An access token, without `Bearer`. It is not stored, logged or recorded.',
      },
      keyPrefix: {
        type: 'string',
        maxLength: 8,
        pattern: '^tg_[0-9A-Za-z]{5}$',
        description: 'The first eight characters of an API key.',
      },
      api: {
        ...reference,
        description: 'With `token`: the API that is called. Default: the one that the token is for.',
      },
    },
    [],
  ),
)

export const explanation = named(
  'Explanation',
  object({
    request: { ...explainedRequest, type: ['object', 'null'] } as const,
    token: { ...explainedToken, type: ['object', 'null'] } as const,
    keys: { type: 'array', items: explainedKey, description: 'The credentials whose API key begins so, at most 20.' },
    refused: {
      type: 'array',
      items: named('LoggedRequest', object(requestFields)),
      description: 'The latest refused calls of the consumers of the token or of the keys, at most 20.',
    },
  }),
)
