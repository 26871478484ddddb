/** `/v1/eventsubscriptions`: subscriptions to webhook events, with their deliveries and redelivery. */

import { DELIVERY_STATES } from '../../control/webhooks/delivery-machine.ts'
import { EVENT_SUBSCRIPTION_STATES } from '../../control/webhooks/event-subscription-machine.ts'
import type { Deliveries } from '../../control/webhooks/deliveries.ts'
import { invalidAt } from '../../control/command/commands.ts'
import type { EventSubscriptions } from '../../control/webhooks/event-subscriptions.ts'
import { EVENT_TYPES } from '../../control/command/event-outbox.ts'
import type { Handlers, Operations } from './operation.ts'
import {
  id,
  instant,
  labelledQuery,
  labels,
  list,
  named,
  nullable,
  object,
  pagedQuery,
  reference,
  text,
  time,
} from './schemas.ts'

const kind = { type: 'string', enum: [...EVENT_TYPES] } as const
const url = { type: 'string', minLength: 1, maxLength: 2_048, pattern: '^https?://[^\\s\\\\]+$' } as const
const kinds = { type: 'array', minItems: 1, maxItems: EVENT_TYPES.length, uniqueItems: true, items: kind } as const
const shared = {
  id,
  consumer: {
    ...nullable(id),
    description: 'Only events that concern this consumer are delivered. Null: all events of the tenant.',
  },
  url: text,
  events: { type: ['array', 'null'], items: kind, description: 'Null: events of all types.' },
  state: { type: 'string', enum: [...EVENT_SUBSCRIPTION_STATES] },
  failingSince: nullable(time),
  labels,
  createdAt: time,
} as const
const secret = { type: 'string', pattern: '^whsec_[A-Za-z0-9+/]{32,88}={0,2}$', maxLength: 100 } as const
const subscription = named('EventSubscription', object(shared))
const withSecret = named(
  'EventSubscriptionWithSecret',
  object({ ...shared, secret: { ...text, description: 'Shown only in this answer.' } }),
)
const delivery = named(
  'Delivery',
  object({
    id,
    webhookId: { ...id, description: 'Identical for all attempts, and for redeliveries.' },
    type: kind,
    state: { type: 'string', enum: [...DELIVERY_STATES] },
    nextAttempt: nullable(time),
    attempts: {
      type: 'array',
      maxItems: 20,
      items: object({
        time,
        status: { type: ['integer', 'null'] },
        durationMs: { type: 'integer' },
        response: { ...text, description: 'The beginning of the response, or the reason why none was received.' },
      }),
    },
  }),
)
const PATH = '/v1/eventsubscriptions'
const tag = 'Events'
const reading = { method: 'GET', tag, scope: 'eventsubscriptions:read', own: 'eventSubscription', status: 200 } as const
const writing = { tag, scope: 'eventsubscriptions:write', own: 'eventSubscription' } as const

export const EVENT_SUBSCRIPTION_OPERATIONS = {
  createEventSubscription: {
    ...writing,
    own: 'filtered',
    method: 'POST',
    path: PATH,
    summary: 'Creates a subscription to events, delivered as Standard Webhooks; only this answer shows its secret',
    body: named('EventSubscriptionInput', object({ url, events: kinds, secret, labels }, ['url'])),
    status: 201,
    answer: withSecret,
    problems: ['state_conflict'],
  },
  listEventSubscriptions: {
    ...reading,
    own: 'filtered',
    path: PATH,
    summary: 'Lists the event subscriptions of the tenant',
    query: labelledQuery(),
    answer: list(subscription),
  },
  getEventSubscription: {
    ...reading,
    path: `${PATH}/:id`,
    summary: 'Returns an event subscription',
    answer: subscription,
  },
  updateEventSubscription: {
    ...writing,
    method: 'PATCH',
    path: `${PATH}/:id`,
    summary: 'Updates the URL, the event types or the state of an event subscription',
    body: named(
      'EventSubscriptionChange',
      object(
        {
          url,
          events: { ...kinds, type: ['array', 'null'] },
          state: { type: 'string', enum: ['active', 'disabled'] },
          labels,
        },
        [],
      ),
    ),
    status: 200,
    answer: subscription,
    problems: ['state_conflict'],
    changes: 'getEventSubscription',
  },
  removeEventSubscription: {
    ...writing,
    method: 'DELETE',
    path: `${PATH}/:id`,
    summary: 'Deletes an event subscription; its pending deliveries are not sent',
    status: 204,
    problems: ['state_conflict'],
    changes: 'getEventSubscription',
  },
  listDeliveries: {
    ...reading,
    path: `${PATH}/:id/deliveries`,
    summary: 'Lists the deliveries of the last 30 days with their attempts',
    query: pagedQuery({ state: { type: 'string', enum: [...DELIVERY_STATES] } }),
    answer: list(delivery),
  },
  getDelivery: {
    ...reading,
    path: `${PATH}/:id/deliveries/:deliveryId`,
    summary: 'Returns a delivery of the last 30 days',
    answer: delivery,
  },
  testEventSubscription: {
    ...writing,
    method: 'POST',
    path: `${PATH}/:id/test`,
    summary: 'Sends a sample event to this event subscription',
    body: named('EventSample', object({ type: kind })),
    status: 202,
    location: `${PATH}/:id/deliveries/:deliveryId`,
    answer: delivery,
    problems: ['state_conflict'],
  },
  rotateEventSecret: {
    ...writing,
    method: 'POST',
    path: `${PATH}/:id/rotateSecret`,
    summary: 'Creates a new secret; the previous one also signs for 24 hours',
    status: 200,
    answer: withSecret,
    problems: ['state_conflict'],
    changes: 'getEventSubscription',
  },
  redeliver: {
    ...writing,
    method: 'POST',
    path: `${PATH}/:id/redeliver`,
    summary: 'Redelivers one delivery, or all that have failed since a time',
    body: named('Redelivery', object({ delivery: reference, since: instant }, [])),
    status: 202,
    location: `${PATH}/:id/deliveries`,
    answer: object({ redelivered: { type: 'integer' } }),
    problems: ['state_conflict'],
  },
} as const satisfies Operations

export interface EventSubscriptionHandlersOptions {
  readonly eventSubscriptions: EventSubscriptions
  readonly deliveries: Deliveries
}

export function eventSubscriptionHandlers({
  eventSubscriptions: registrations,
  deliveries,
}: EventSubscriptionHandlersOptions): Handlers<typeof EVENT_SUBSCRIPTION_OPERATIONS> {
  return {
    createEventSubscription: async ({ author, owner, body }) => registrations.create(author, body, owner),
    listEventSubscriptions: async ({ author, owner, query }) =>
      registrations.list(author.tenant, { ...query, ...(owner !== null && { consumer: owner }) }),
    getEventSubscription: async ({ author, params }) => registrations.get(author.tenant, params.id),
    updateEventSubscription: async ({ author, params, body }) => registrations.update(author, params.id, body),
    removeEventSubscription: async ({ author, params }) => registrations.remove(author, params.id),
    listDeliveries: async ({ author, params, query }) => deliveries.list(author.tenant, params.id, query),
    getDelivery: async ({ author, params }) => deliveries.get(author.tenant, params.id, params.deliveryId),
    testEventSubscription: async ({ author, params, body }) => deliveries.test(author, params.id, body.type),
    rotateEventSecret: async ({ author, params }) => registrations.rotateSecret(author, params.id),
    redeliver: async ({ author, params, body }) => {
      const { delivery: one, since } = body
      if (one !== undefined && since === undefined)
        return { redelivered: await deliveries.redeliver(author, params.id, one) }
      if (since !== undefined && one === undefined)
        return { redelivered: await deliveries.redeliverSince(author, params.id, since) }
      throw invalidAt('', 'Give either `delivery` or `since`.')
    },
  }
}
