/** Service levels of providers in ClickHouse. */

import { UNKNOWN_REVISION } from '../../../foundation/domain/attribution.ts'
import type { ServiceMeasure } from '../../../foundation/domain/service-level.ts'
import { writtenWith, type Written } from '../flush-token.ts'
import type { MeasuredStretch, ServiceLevelQuery, ServiceLevelRow, ServiceLevelStore } from '../service-level-store.ts'
import type { ClickHouse } from './client.ts'
import { insertOnce } from './insert-once.ts'
import { readQuery } from './migrations.ts'
import { createReaders, type Readers } from './readers.ts'

interface Measures {
  readonly calls: string
  readonly unanswered: string
  readonly errors: string
  readonly successes: string
  readonly latency_us: string
  readonly latency: Readonly<Record<string, number | string>>
}

interface Row extends Measures {
  readonly stretch_s: number | string
  readonly load: number | string
}

interface MinuteRow extends Measures {
  readonly minute_s: number | string
  readonly tenant: string
  readonly api: string
  readonly operation: string
}

interface RevisionRow extends Measures {
  readonly revision: number
}

/** Tenants have names. */
const NO_TENANT = ''
/** Width of an interval that covers all time. */
const UNDIVIDED_S = 2 ** 32 - 1

/** By default, reads use the connection of the inserts. */
export function createClickHouseServiceLevelStore(
  client: ClickHouse,
  readers: Readers = createReaders([client]),
): ServiceLevelStore {
  const query = readQuery('service_levels')
  const revisionsSql = readQuery('service_level_revisions')
  const minutesSql = readQuery('service_level_minutes')

  return {
    insert(token, levels, signal) {
      const written = writtenWith(token)
      const rows = levels.map((row) => toRow(row, written))
      return insertOnce(client, { table: 'service_levels', token, rows, signal })
    },
    async measure(asked, signal) {
      const rows = await readers.read<Row>(
        asked.tenant,
        { query, params: toParams(asked), subject: 'Service levels' },
        signal,
      )
      return rows.map((row) => toStretch(row, asked.loads.length))
    },
    async revisions({ tenant, api, fromMs, toMs }, signal) {
      const params = { tenant, api, from_ms: fromMs, to_ms: toMs }
      const statement = { query: revisionsSql, params, subject: 'Service levels' }
      const rows = await readers.read<RevisionRow>(tenant, statement, signal)
      return rows.map((row) => ({ revision: row.revision, ...toMeasure(row) }))
    },
    async minutes({ apis, fromMs, toMs }) {
      const params = { apis, from_ms: fromMs, to_ms: toMs }
      const statement = { query: minutesSql, params, subject: 'Service levels' }
      const rows = await readers.read<MinuteRow>(NO_TENANT, statement)
      return rows.map((row) => {
        const { tenant, api, operation } = row
        return { minuteMs: Number(row.minute_s) * 1_000, tenant, api, operation, ...toMeasure(row) }
      })
    },
  }
}

function toRow(level: ServiceLevelRow, written: Written) {
  const { minuteMs, tenant, api, operation, revision = UNKNOWN_REVISION, latencyUs, latency, ...counts } = level
  return {
    ...counts,
    revision,
    minute: minuteMs / 1_000,
    tenant: tenant.toWellFormed(),
    api: api.toWellFormed(),
    operation: operation.toWellFormed(),
    latency_us: latencyUs,
    latency: Object.fromEntries(latency),
    ...written,
  }
}

function toParams(query: ServiceLevelQuery): Record<string, unknown> {
  const { tenant, api, excludeApi, fromMs, toMs, operationIds, spans, loads, stepMs } = query
  return {
    tenant,
    api: api ?? '',
    exclude_api: excludeApi ?? '',
    from_ms: fromMs,
    to_ms: toMs,
    all_operations: operationIds === null ? 1 : 0,
    operations: operationIds ?? [],
    span_starts_s: spans.map(({ startMs }) => Math.floor(startMs / 1_000)),
    span_ends_s: spans.map(({ endMs }) => Math.floor(endMs / 1_000)),
    minute_calls: loads.map((perSecond) => perSecond * 60),
    step_s: stepMs === null ? UNDIVIDED_S : Math.floor(stepMs / 1_000),
  }
}

function toStretch(row: Row, loads: number): MeasuredStretch {
  const load = Number(row.load)
  return {
    startMs: Number(row.stretch_s) * 1_000,
    load: load === 0 ? loads : load - 1,
    ...toMeasure(row),
  }
}

function toMeasure(row: Measures): ServiceMeasure {
  return {
    calls: Number(row.calls),
    unanswered: Number(row.unanswered),
    errors: Number(row.errors),
    successes: Number(row.successes),
    latencyUs: Number(row.latency_us),
    latency: new Map(Object.entries(row.latency).map(([bucket, count]) => [Number(bucket), Number(count)])),
  }
}
