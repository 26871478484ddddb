/** `/v1/consumers`: applications and agents. */

import type { Consumers } from '../access/consumers.ts'
import type { Handlers, Operations } from './operation.ts'
import { id, line, list, name, named, object, pagedQuery, text, time } from './schemas.ts'

const kind = { type: 'string', enum: ['application', 'agent'] } as const
const exposure = {
  type: 'string',
  enum: ['Internal', 'Partner', 'Public'],
  description: 'The widest exposure of the APIs that the consumer itself sees.',
} as const
const consumer = named(
  'Consumer',
  object({ id, name: text, kind, contact: text, exposure, createdAt: time }, [
    'id',
    'name',
    'kind',
    'exposure',
    'createdAt',
  ]),
)
const tag = 'Consumers'

export const CONSUMER_OPERATIONS = {
  createConsumer: {
    method: 'POST',
    path: '/v1/consumers',
    summary: 'Creates a consumer',
    tag,
    scope: 'consumers:write',
    body: named(
      'ConsumerInput',
      object({ name, kind, contact: line, exposure: { ...exposure, default: 'Public' } }, ['name', 'kind']),
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
    query: pagedQuery({ kind }),
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
  }
}
