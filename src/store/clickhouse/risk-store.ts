/** Risk events in ClickHouse: the history behind the live stream. */

import type { RiskEvent } from '../../domain/risk.ts'
import type { RiskStore } from '../risk-store.ts'
import { within, type ClickHouse } from './client.ts'
import { insertOnce } from './insert-once.ts'
import { readQuery } from './migrations.ts'

export function createClickHouseRiskStore(client: ClickHouse): RiskStore {
  const eventsSql = readQuery('risk_events')

  return {
    insert: (token, events, signal) =>
      insertOnce(client, { table: 'risk_events', token, rows: events.map(toRow), signal }),
    async eventsAfter(tenant, afterId, limit, signal) {
      const result = await client.query({
        query: eventsSql,
        query_params: { tenant, after: afterId, limit },
        format: 'JSONEachRow',
        abort_signal: within(signal),
      })
      return (await result.json<{ body: string }>()).map(({ body }) => JSON.parse(body) as RiskEvent)
    },
  }
}

function toRow(event: RiskEvent): Record<string, unknown> {
  return {
    id: event.id,
    tenant: event.tenant.toWellFormed(),
    risk_id: event.riskId,
    at: event.lastSeenMs,
    body: JSON.stringify(event),
  }
}
