/** `GET /v1/risks`: the risk position, one item an episode. */

import { fromCursor, toCursor } from '../catalogue/page.ts'
import type { Category, RiskType, Severity } from '../domain/risk.ts'
import type { RiskFeed, RiskPositionQuery } from '../store/risk-store.ts'
import type { Call, Handlers, Operations } from './operation.ts'
import { texts, toPageQuery } from './page-query.ts'
import { riskProperties, showRisk } from './risk-shape.ts'
import { list, named, object, query, reference } from './schemas.ts'

const { category, severity, type } = riskProperties
const state = { type: 'string', enum: ['open', 'cleared'] }

export const RISK_OPERATIONS = {
  listRisks: {
    method: 'GET',
    path: '/v1/risks',
    summary: 'The current risk position: one item an episode, in the order they opened',
    description: 'An `id` here is the `riskId` of the stream. Cleared episodes are kept for 30 days.',
    tag: 'Risks',
    scope: 'risks:read',
    query: query({
      category,
      severity: { ...severity, description: 'At least this severe.' },
      type,
      api: reference,
      attributedTo: { ...reference, description: 'Id of the party.' },
      state: { ...state, default: 'open' },
    }),
    status: 200,
    answer: list(named('Risk', object({ ...riskProperties, state }))),
  },
} as const satisfies Operations

export function riskHandlers(risks: RiskFeed): Handlers<typeof RISK_OPERATIONS> {
  return {
    async listRisks(call) {
      const { limit, cursor } = toPageQuery(call.query)
      const after = cursor === undefined ? {} : { after: fromCursor(cursor) }
      const found = await risks.position({ ...toFilter(call), ...after, limit: limit + 1 })
      const shown = found.slice(0, limit)
      const last = shown.at(-1)
      return {
        items: shown.map(({ event, state: is }) => ({ ...showRisk(event), id: event.riskId, state: is })),
        next: found.length > limit && last !== undefined ? toCursor(last.event.riskId) : null,
      }
    },
  }
}

/** The words of the query are those of the types: validation has seen to that. */
function toFilter({ author, query: given }: Call): Omit<RiskPositionQuery, 'limit' | 'after'> {
  const words = texts(given, 'category', 'severity', 'type', 'api', 'attributedTo') as {
    category?: Category
    severity?: Severity
    type?: RiskType
    api?: string
    attributedTo?: string
  }
  return { tenant: author.tenant, state: given['state'] === 'cleared' ? 'cleared' : 'open', ...words }
}
