/** `/v1/consumers`: applications and agents. */

import type { Consumers } from '../../control/access/consumers.ts'
import type { Handlers, Operations } from './operation.ts'
import {
  eraseQuery,
  id,
  labelledQuery,
  labels,
  line,
  list,
  name,
  named,
  nullable,
  object,
  text,
  time,
} from './schemas.ts'

const kind = { type: 'string', enum: ['application', 'agent'] } as const
const exposure = {
  type: 'string',
  enum: ['Internal', 'Partner', 'Public'],
  description: 'The widest exposure of the APIs that the consumer itself sees.',
} as const
const state = { type: 'string', enum: ['Active', 'Disabled'] } as const
const consumer = named(
  'Consumer',
  object({ id, name: text, kind, contact: text, exposure, state, labels, createdAt: time }, [
    'id',
    'name',
    'kind',
    'exposure',
    'state',
    'labels',
    'createdAt',
  ]),
)
const tag = 'Consumers'
const writing = {
  method: 'POST',
  tag,
  scope: 'consumers:write',
  problems: ['state_conflict'],
  changes: 'getConsumer',
} as const

export const CONSUMER_OPERATIONS = {
  createConsumer: {
    method: 'POST',
    path: '/v1/consumers',
    summary: 'Creates a consumer',
    tag,
    scope: 'consumers:write',
    body: named(
      'ConsumerInput',
      object({ name, kind, contact: line, exposure: { ...exposure, default: 'Public' }, labels }, ['name', 'kind']),
    ),
    status: 201,
    answer: consumer,
  },
  listConsumers: {
    method: 'GET',
    path: '/v1/consumers',
    summary: 'Lists the consumers of the tenant',
    tag,
    scope: 'consumers:read',
    query: labelledQuery({
      kind,
      state,
      name: {
        ...name,
        description: 'The beginning of the name, in any case. The list is then in the order of the names.',
      },
    }),
    status: 200,
    answer: list(consumer),
  },
  getConsumer: {
    method: 'GET',
    path: '/v1/consumers/:id',
    summary: 'Returns a consumer',
    tag,
    scope: 'consumers:read',
    status: 200,
    answer: consumer,
  },
  updateConsumer: {
    ...writing,
    method: 'PATCH',
    path: '/v1/consumers/:id',
    summary: 'Changes the name, the contact, the exposure or the labels of a consumer',
    body: named('ConsumerChange', object({ name, contact: nullable(line), exposure, labels }, [])),
    status: 200,
    answer: consumer,
  },
  disableConsumer: {
    ...writing,
    path: '/v1/consumers/:id/disable',
    summary: 'Disables a consumer; its credentials and tokens are refused once this call returns',
    status: 200,
    answer: consumer,
  },
  enableConsumer: {
    ...writing,
    path: '/v1/consumers/:id/enable',
    summary: 'Enables a disabled consumer',
    status: 200,
    answer: consumer,
  },
  removeConsumer: {
    ...writing,
    method: 'DELETE',
    path: '/v1/consumers/:id',
    summary: 'Deletes a consumer whose subscriptions have ended; its usage keeps its name unless `erase` is set',
    query: eraseQuery,
    status: 204,
    problems: ['state_conflict', 'subscriptions_active'],
  },
} as const satisfies Operations

export function consumerHandlers({
  consumers,
}: {
  readonly consumers: Consumers
}): Handlers<typeof CONSUMER_OPERATIONS> {
  return {
    createConsumer: async ({ author, body }) => consumers.create(author, body),
    listConsumers: async ({ author, query }) => consumers.list(author.tenant, query),
    getConsumer: async ({ author, params }) => consumers.get(author.tenant, params.id),
    updateConsumer: async ({ author, params, body }) => consumers.update(author, params.id, body),
    disableConsumer: async ({ author, params }) => consumers.disable(author, params.id),
    enableConsumer: async ({ author, params }) => consumers.enable(author, params.id),
    removeConsumer: async ({ author, params, query }) => consumers.remove(author, params.id, query),
  }
}
