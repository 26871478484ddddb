/** Risk events in ClickHouse: the history behind the live stream. */

import type { RiskEvent } from '../../domain/risk.ts'
import type { RiskStore } from '../risk-store.ts'
import { ONCE, within, type ClickHouse } from './client.ts'
import { readQuery } from './migrations.ts'

export function createClickHouseRiskStore(client: ClickHouse): RiskStore {
  const eventsSql = readQuery('risk_events')

  return {
    async insert(token, events, signal) {
      if (events.length === 0) return
      await client.insert({
        table: 'risk_events',
        values: events.map((event) => ({
          id: event.id,
          tenant: event.tenant.toWellFormed(),
          risk_id: event.riskId,
          at: event.lastSeenMs,
          body: JSON.stringify(event),
        })),
        format: 'JSONEachRow',
        clickhouse_settings: { ...ONCE, insert_deduplication_token: token },
        abort_signal: within(signal),
      })
    },
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
