/** `/v1/apis`: the catalogue. */

import type { Apis } from '../catalogue/apis.ts'
import type { Handlers, Operations } from './operation.ts'
import { texts, toPageQuery } from './page-query.ts'
import { id, list, named, nullable, object, query, text, time } from './schemas.ts'

const state = { type: 'string', enum: ['Prospect', 'Active', 'Deprecated', 'Retired'] }
const api = named(
  'Api',
  object({
    id,
    title: text,
    major: { type: 'integer' },
    version: text,
    state,
    owner: id,
    complianceScore: { type: ['number', 'null'] },
    programme: nullable(id),
    retirementDate: nullable(time),
    successor: nullable(id),
  }),
)
const tag = 'Catalogue'

export const API_OPERATIONS = {
  listApis: {
    method: 'GET',
    path: '/v1/apis',
    summary: 'APIs of the tenant',
    tag,
    scope: 'apis:read',
    query: query({ state }),
    status: 200,
    answer: list(api),
  },
  getApi: {
    method: 'GET',
    path: '/v1/apis/:name',
    summary: 'One API, by its technical name',
    tag,
    scope: 'apis:read',
    status: 200,
    answer: api,
  },
} as const satisfies Operations

export function apiHandlers(apis: Apis): Handlers<typeof API_OPERATIONS> {
  return {
    listApis: async ({ author, query: given }) =>
      apis.list(author.tenant, { ...toPageQuery(given), ...texts(given, 'state') }),
    getApi: async ({ author, params }) => apis.get(author.tenant, params['name'] ?? ''),
  }
}
