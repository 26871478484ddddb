/** `GET /v1/risks`: the risk position, one item an episode. */

import { CATEGORIES, RISK_TYPES, SEVERITIES, type Category, type RiskType, type Severity } from '../domain/risk.ts'
import { fromCursor, toCursor } from '../catalogue/page.ts'
import type { RiskFeed } from '../store/risk-store.ts'
import { texts, toPageQuery } from './replies.ts'
import { showRisk } from './risk-shape.ts'
import type { DeclareRoute } from './routes.ts'
import { id, list, object, query, text, time } from './schemas.ts'

const counts = { type: 'object', additionalProperties: { type: 'integer' } }
export const riskFilters = {
  category: { type: 'string', enum: [...CATEGORIES] },
  severity: { type: 'string', enum: [...SEVERITIES] },
  api: id,
}
const risk = object({
  id,
  riskId: id,
  state: { type: 'string', enum: ['open', 'cleared'] },
  phase: { type: 'string', enum: ['opened', 'escalated', 'deescalated', 'updated', 'cleared'] },
  type: { type: 'string' },
  category: riskFilters.category,
  severity: riskFilters.severity,
  attributedTo: object({ kind: text, id: text, name: text, onBehalfOf: text }, ['kind', 'id', 'name']),
  api: text,
  operation: text,
  count: { type: 'integer' },
  windowSeconds: { type: 'integer' },
  firstSeen: time,
  lastSeen: time,
  message: { type: 'string' },
  evidence: object({
    total: { type: 'integer' },
    statuses: counts,
    operations: counts,
    requestIds: { type: 'array', items: text },
  }),
})

export function riskRoutes(declare: DeclareRoute, risks: RiskFeed): void {
  declare(
    {
      operationId: 'listRisks',
      method: 'GET',
      path: '/v1/risks',
      summary: 'The current risk position',
      tag: 'Risks',
      scope: 'risks:read',
      query: query({
        ...riskFilters,
        type: { type: 'string', enum: [...RISK_TYPES] },
        attributedTo: id,
        state: { type: 'string', enum: ['open', 'cleared'], default: 'open' },
      }),
      status: 200,
      answer: list(risk),
      problems: ['cursor_invalid'],
    },
    async ({ author, query: given }) => {
      const { limit, cursor } = toPageQuery(given)
      const { category, severity, type, api, attributedTo, state } = texts(
        given,
        'category',
        'severity',
        'type',
        'api',
        'attributedTo',
        'state',
      )
      const found = await risks.position({
        tenant: author.tenant,
        state: state === 'cleared' ? 'cleared' : 'open',
        limit: limit + 1,
        ...(category !== undefined && { category: category as Category }),
        ...(severity !== undefined && { severity: severity as Severity }),
        ...(type !== undefined && { type: type as RiskType }),
        ...(api !== undefined && { api }),
        ...(attributedTo !== undefined && { attributedTo }),
        ...(cursor !== undefined && { after: fromCursor(cursor) }),
      })
      const shown = found.slice(0, limit)
      const last = shown.at(-1)
      return {
        items: shown.map(({ event, state: is }) => ({ ...showRisk(event), id: event.riskId, state: is })),
        next: found.length > limit && last !== undefined ? toCursor(last.event.riskId) : null,
      }
    },
  )
}
