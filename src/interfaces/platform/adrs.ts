/** `/v1/adrs`: architecture decision records. */

import type { Adrs } from '../../control/programmes/adrs.ts'
import type { Handlers, Operations } from './operation.ts'
import {
  id,
  labelledQuery,
  labels,
  list,
  name,
  named,
  nullable,
  object,
  prose,
  reference,
  text,
  time,
} from './schemas.ts'

const fields = { title: text, status: text, context: text, decision: text, consequences: text }
const adr = named('Adr', object({ id, ...fields, api: nullable(id), labels, createdAt: time }))
const status = { type: 'string', enum: ['Proposed', 'Accepted', 'Deprecated', 'Superseded'] } as const
const input = named(
  'AdrInput',
  object({ title: name, status, context: prose, decision: prose, consequences: prose, api: reference, labels }, [
    'title',
    'status',
    'context',
    'decision',
    'consequences',
  ]),
)
const writing = {
  tag: 'Governance',
  scope: 'adrs:write',
  problems: ['state_conflict'],
  changes: 'getAdr',
} as const
const reading = { method: 'GET', tag: 'Governance', scope: 'adrs:read', status: 200 } as const

export const ADR_OPERATIONS = {
  createAdr: {
    method: 'POST',
    path: '/v1/adrs',
    summary: 'Creates an architecture decision record',
    tag: 'Governance',
    scope: 'adrs:write',
    body: input,
    status: 201,
    answer: adr,
  },
  listAdrs: {
    ...reading,
    path: '/v1/adrs',
    summary: 'Lists the architecture decision records of the tenant',
    query: labelledQuery({ api: reference }),
    answer: list(adr),
  },
  getAdr: { ...reading, path: '/v1/adrs/:id', summary: 'Returns an architecture decision record', answer: adr },
  updateAdr: {
    ...writing,
    method: 'PATCH',
    path: '/v1/adrs/:id',
    summary: 'Changes members of an architecture decision record',
    body: named(
      'AdrChange',
      object(
        { title: name, status, context: prose, decision: prose, consequences: prose, api: nullable(reference), labels },
        [],
      ),
    ),
    status: 200,
    answer: adr,
  },
  removeAdr: {
    ...writing,
    method: 'DELETE',
    path: '/v1/adrs/:id',
    summary: 'Deletes an architecture decision record',
    status: 204,
  },
} as const satisfies Operations

export function adrHandlers({ adrs }: { readonly adrs: Adrs }): Handlers<typeof ADR_OPERATIONS> {
  return {
    createAdr: async ({ author, body }) => adrs.create(author, body),
    listAdrs: async ({ author, query }) => adrs.list(author.tenant, query),
    getAdr: async ({ author, params }) => adrs.get(author.tenant, params.id),
    updateAdr: async ({ author, params, body }) => adrs.update(author, params.id, body),
    removeAdr: async ({ author, params }) => adrs.remove(author, params.id),
  }
}
