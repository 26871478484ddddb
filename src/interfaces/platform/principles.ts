/** `/v1/principles`: design principles. */

import type { Principles } from '../../control/programmes/principles.ts'
import type { Handlers, Operations } from './operation.ts'
import { id, labelledQuery, labels, line, list, name, named, object, prose, text, time } from './schemas.ts'

const rules = { type: 'array', maxItems: 100, uniqueItems: true, items: line } as const
const principle = named(
  'Principle',
  object({
    id,
    name: text,
    statement: text,
    rationale: text,
    rules: { type: 'array', items: text },
    labels,
    createdAt: time,
  }),
)
const input = named(
  'PrincipleInput',
  object({ name, statement: prose, rationale: prose, rules, labels }, ['name', 'statement', 'rationale']),
)
const writing = {
  tag: 'Governance',
  scope: 'principles:write',
  problems: ['state_conflict'],
  changes: 'getPrinciple',
} as const
const reading = { method: 'GET', tag: 'Governance', scope: 'principles:read', status: 200 } as const

export const PRINCIPLE_OPERATIONS = {
  createPrinciple: {
    method: 'POST',
    path: '/v1/principles',
    summary: 'Creates a design principle',
    tag: 'Governance',
    scope: 'principles:write',
    body: input,
    status: 201,
    answer: principle,
  },
  listPrinciples: {
    ...reading,
    path: '/v1/principles',
    summary: 'Lists the design principles of the tenant',
    query: labelledQuery(),
    answer: list(principle),
  },
  getPrinciple: { ...reading, path: '/v1/principles/:id', summary: 'Returns a design principle', answer: principle },
  updatePrinciple: {
    ...writing,
    method: 'PATCH',
    path: '/v1/principles/:id',
    summary: 'Changes members of a design principle',
    body: named('PrincipleChange', object({ name, statement: prose, rationale: prose, rules, labels }, [])),
    status: 200,
    answer: principle,
  },
  removePrinciple: {
    ...writing,
    method: 'DELETE',
    path: '/v1/principles/:id',
    summary: 'Deletes a design principle',
    status: 204,
  },
} as const satisfies Operations

export function principleHandlers({
  principles,
}: {
  readonly principles: Principles
}): Handlers<typeof PRINCIPLE_OPERATIONS> {
  return {
    createPrinciple: async ({ author, body }) => principles.create(author, body),
    listPrinciples: async ({ author, query }) => principles.list(author.tenant, query),
    getPrinciple: async ({ author, params }) => principles.get(author.tenant, params.id),
    updatePrinciple: async ({ author, params, body }) => principles.update(author, params.id, body),
    removePrinciple: async ({ author, params }) => principles.remove(author, params.id),
  }
}
