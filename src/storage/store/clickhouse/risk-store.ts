/** Risk events in ClickHouse, which the live stream replays to readers that resume. */

import type { RiskEvent } from '../../../foundation/domain/risk.ts'
import type { RiskStore } from '../risk-store.ts'
import type { ClickHouse } from './client.ts'
import { insertOnce } from './insert-once.ts'
import { readQuery } from './migrations.ts'
import { createReaders, type Readers } from './readers.ts'

/** By default, reads use the connection of the inserts. */
export function createClickHouseRiskStore(client: ClickHouse, readers: Readers = createReaders([client])): RiskStore {
  const eventsSql = readQuery('risk_events')
  const timelineSql = readQuery('risk_timeline')

  async function events(
    query: string,
    params: Readonly<Record<string, unknown>> & { readonly tenant: string },
    signal: AbortSignal | undefined,
  ): Promise<readonly RiskEvent[]> {
    const rows = await readers.read<{ body: string }>(params.tenant, { query, params, subject: 'Risk events' }, signal)
    return rows.map(({ body }) => JSON.parse(body) as RiskEvent)
  }

  return {
    insert: (token, events, signal) =>
      insertOnce(client, { table: 'risk_events', token, rows: events.map(toRow), signal }),
    eventsAfter: (tenant, after, limit, signal) => events(eventsSql, { tenant, after, limit }, signal),
    eventsOf: (tenant, riskId, limit, signal) =>
      events(timelineSql, { tenant, risk_id: riskId, from: firstEventId(riskId), limit }, signal),
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

/** Returns a lower bound for the ids of an episode's events: all these ids contain the time of their creation. */
function firstEventId(riskId: string): string {
  return `evt_${riskId.slice(4, 14)}`
}
