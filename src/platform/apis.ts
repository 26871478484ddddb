/** `/v1/apis`: the catalogue. */

import type { Apis } from '../catalogue/apis.ts'
import { texts, toPageQuery } from './replies.ts'
import type { DeclareRoute } from './routes.ts'
import { id, list, nullable, object, query, text, time } from './schemas.ts'

const state = { type: 'string', enum: ['Prospect', 'Active', 'Deprecated', 'Retired'] }
const api = object({
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
})

export function apiRoutes(declare: DeclareRoute, apis: Apis): void {
  declare(
    {
      operationId: 'listApis',
      method: 'GET',
      path: '/v1/apis',
      summary: 'APIs of the tenant',
      tag: 'Catalogue',
      scope: 'apis:read',
      query: query({ state }),
      status: 200,
      answer: list(api),
      problems: ['cursor_invalid'],
    },
    async ({ author, query: all }) => apis.list(author.tenant, { ...toPageQuery(all), ...texts(all, 'state') }),
  )
  declare(
    {
      operationId: 'getApi',
      method: 'GET',
      path: '/v1/apis/:name',
      summary: 'One API',
      tag: 'Catalogue',
      scope: 'apis:read',
      status: 200,
      answer: api,
    },
    async ({ author, params }) => apis.get(author.tenant, params['name'] ?? ''),
  )
}
