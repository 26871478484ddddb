/** `/v1/consumers`: applications and agents. */

import type { ConsumerInput, Consumers } from '../catalogue/consumers.ts'
import type { DeclareRoute } from './routes.ts'
import { created, toPageQuery } from './replies.ts'
import { id, list, name, object, query, time } from './schemas.ts'

const kind = { type: 'string', enum: ['application', 'agent'] }
const contact = { type: 'string', minLength: 1, maxLength: 256 }
const consumer = object({ id, name, kind, contact, createdAt: time }, ['id', 'name', 'kind', 'createdAt'])

export function consumerRoutes(declare: DeclareRoute, consumers: Consumers): void {
  const tag = 'Consumers'
  declare(
    {
      operationId: 'createConsumer',
      method: 'POST',
      path: '/v1/consumers',
      summary: 'Makes a consumer',
      tag,
      scope: 'consumers:write',
      body: object({ name, kind, contact }, ['name', 'kind']),
      status: 201,
      answer: consumer,
    },
    async ({ author, body }, reply) =>
      created(reply, '/v1/consumers', await consumers.create(author, body as ConsumerInput)),
  )
  declare(
    {
      operationId: 'listConsumers',
      method: 'GET',
      path: '/v1/consumers',
      summary: 'Consumers of the tenant',
      tag,
      scope: 'consumers:read',
      query: query({ kind }),
      status: 200,
      answer: list(consumer),
      problems: ['cursor_invalid'],
    },
    async ({ author, query: { kind: only, ...page } }) =>
      consumers.list(author.tenant, { ...toPageQuery(page), ...(typeof only === 'string' && { kind: only }) }),
  )
  declare(
    {
      operationId: 'getConsumer',
      method: 'GET',
      path: '/v1/consumers/:id',
      summary: 'One consumer',
      tag,
      scope: 'consumers:read',
      status: 200,
      answer: consumer,
    },
    async ({ author, params }) => consumers.get(author.tenant, params['id'] ?? ''),
  )
}
