/** Builds the `webhooks` of the OpenAPI document from the events that are delivered. */

import { EVENT_SAMPLES } from '../../control/webhooks/event-samples.ts'
import { EVENT_TYPES, type EventType } from '../../control/command/event-outbox.ts'
import type { Schema } from './schema-type.ts'
import { id, nullable, object, text, time } from './schemas.ts'

const count = { type: 'integer', minimum: 0 } as const
const oneOf = (...values: readonly string[]): Schema => ({ type: 'string', enum: [...values] })

interface EventShape {
  readonly summary: string
  readonly properties: Readonly<Record<string, Schema>>
  /** Members that are omitted if they do not apply. */
  readonly optional?: readonly string[]
}

const EVENT_SHAPES: Readonly<Record<EventType, EventShape>> = {
  DesignDrift: {
    summary: 'The running implementation no longer matches the published contract',
    properties: {
      api: text,
      operation: nullable(text),
      kind: text,
      status: { type: ['integer', 'null'] },
      detail: text,
      requestId: text,
      seenAt: time,
      revision: {
        type: 'integer',
        description: 'Set if the revision is a canary, which is compared with its own document.',
      },
    },
    optional: ['revision'],
  },
  UpstreamHealthIssue: {
    summary: 'The service behind the gateway is unhealthy',
    properties: {
      api: text,
      state: oneOf('unhealthy', 'degraded'),
      targets: {
        type: 'array',
        items: text,
        description: 'Scheme, host and port of the targets that are not healthy, if the backend has several.',
      },
      calls: count,
      failed: count,
      seenAt: time,
    },
    optional: ['targets'],
  },
  CredentialExpiringSoon: {
    summary: 'A credential is about to expire',
    properties: {
      credential: id,
      subscription: id,
      type: text,
      clientId: nullable(text),
      expiresAt: time,
      reason: { type: 'string', enum: ['CredentialExpires', 'SubscriptionExpires'] },
    },
  },
  CredentialRevoked: {
    summary: 'A credential was revoked',
    properties: { credential: id, subscription: id, type: text, clientId: nullable(text) },
  },
  VersionDeprecated: {
    summary: 'An API version was deprecated',
    properties: { api: text, retirementDate: nullable(text), successor: nullable(text), note: nullable(text) },
  },
  VersionSunset: {
    summary: 'An API version was retired',
    properties: {
      api: text,
      successor: nullable(text),
      subscriptions: { type: 'array', items: id, description: 'Subscriptions that were still active.' },
    },
  },
  SubscriptionWaitlistedForCapacity: {
    summary: 'A subscription is waiting for capacity',
    properties: { subscription: id, api: text, consumer: id, slaVariant: nullable(text) },
  },
  TierChangeRequested: {
    summary: 'A tier change was requested',
    properties: {
      subscription: id,
      api: nullable(text),
      from: nullable(text),
      to: nullable(text),
      reason: nullable(text),
    },
  },
  SlaChanged: {
    summary: 'A service level changed: that of one subscription, or a declaration',
    properties: {
      subscription: id,
      api: nullable(text),
      variant: nullable(text),
      from: nullable(text),
      to: nullable(text),
    },
    optional: ['subscription', 'variant'],
  },
}

const HEADERS = [
  ['webhook-id', 'Identical for all attempts, so that duplicates can be detected.'],
  ['webhook-timestamp', 'Time of this attempt, in seconds since the epoch.'],
  [
    'webhook-signature',
    '`v1,` and the base64 of the HMAC-SHA-256 of `id.timestamp.body`; several signatures while a secret is rotated.',
  ],
] as const

export function eventSchema(kind: EventType): Schema {
  const { properties, optional = [] } = EVENT_SHAPES[kind]
  const required = Object.keys(properties).filter((name) => !optional.includes(name))
  return object({ type: { const: kind }, timestamp: time, data: object(properties, required) })
}

export function buildWebhooks(): Schema {
  return Object.fromEntries(EVENT_TYPES.map((kind) => [kind, { post: operationOf(kind) }]))
}

function operationOf(kind: EventType): Schema {
  const example = { type: kind, timestamp: '2026-11-20T09:30:00.000Z', data: EVENT_SAMPLES[kind] }
  return {
    operationId: `receive${kind}`,
    summary: EVENT_SHAPES[kind].summary,
    tags: ['Events'],
    security: [],
    parameters: HEADERS.map(([name, description]) => ({
      name,
      in: 'header',
      required: true,
      description,
      schema: { type: 'string' },
    })),
    requestBody: { required: true, content: { 'application/json': { schema: eventSchema(kind), example } } },
    responses: {
      '2XX': { description: 'Delivered. Any other status is retried.' },
      410: { description: 'Unsubscribes: the event subscription is disabled.' },
    },
  }
}
