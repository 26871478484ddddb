/**
 * Failing backends in PostgreSQL, by API and node.
 *
 * Reports on one API are made one at a time, under a lock. A report counts while its process lives: a node that was killed, or was
 * started again, has no opinion.
 */

import type { Pool } from 'pg'
import { LIVE_MS } from '../nodes.ts'
import type { UpstreamReport, UpstreamReports } from '../upstream-reports.ts'
import { toText, withRegistryErrors } from './connection.ts'
import { withClient } from './connections.ts'
import { UPSTREAM_SEED } from './lock-numbers.ts'

export function createUpstreamReports(pool: Pool): UpstreamReports {
  return {
    report: (node, api, report) =>
      withRegistryErrors(() =>
        withClient(pool, async (client) => {
          const name = toText(api)
          await client.query('BEGIN')
          await client.query(LOCK, [name])
          await client.query(FORGET, [name, node, LIVE_MS])
          const { rows } = await client.query<{ worst: number }>(WORST, [name])
          if (report !== null) await client.query(PUT, [node, ...toColumns([report])])
          await client.query('COMMIT')
          return (report?.severity ?? 0) > rows[0]!.worst
        }),
      ),
    restate: (node, reports) =>
      withRegistryErrors(async () => {
        await pool.query(RESTATE, [node, ...toColumns(reports)])
      }),
    list: (tenant) =>
      withRegistryErrors(async () => {
        const { rows } = await pool.query<UpstreamReport>(LIST, [toText(tenant), LIVE_MS])
        return rows
      }),
  }
}

function toColumns(reports: readonly UpstreamReport[]): readonly unknown[][] {
  const ordered = reports.toSorted((one, other) => (one.api < other.api ? -1 : 1))
  return [
    ordered.map(({ api }) => toText(api)),
    ordered.map(({ severity }) => severity),
    ordered.map(({ tenant }) => toText(tenant)),
    ordered.map(({ state }) => state),
  ]
}

const isLiveAt = (parameter: string): string => `n.incarnation = r.incarnation AND n.registered_at <= r.reported_at
      AND extract(epoch FROM clock_timestamp() - n.heard_at) * 1000 < ${parameter}`

const LOCK = `SELECT pg_advisory_xact_lock(hashtextextended($1, ${UPSTREAM_SEED}))`
/** Removes the report of the node, and those of processes that are gone. */
const FORGET = `DELETE FROM upstream_report r WHERE api = $1 AND (incarnation = $2 OR NOT EXISTS (
    SELECT FROM node n WHERE ${isLiveAt('$3')}))`
const WORST = 'SELECT coalesce(max(severity), 0) AS worst FROM upstream_report WHERE api = $1'
const PUT = `INSERT INTO upstream_report (api, incarnation, severity, tenant, state, reported_at)
  SELECT api, $1, severity, tenant, state, clock_timestamp()
    FROM unnest($2::text[], $3::int[], $4::text[], $5::text[]) AS own (api, severity, tenant, state)
  ON CONFLICT (api, incarnation) DO UPDATE SET severity = excluded.severity, tenant = excluded.tenant,
    state = excluded.state, reported_at = excluded.reported_at`
const RESTATE = `WITH gone AS (DELETE FROM upstream_report WHERE incarnation = $1 AND api <> ALL ($2::text[])) ${PUT}`
/** A node of an earlier version reports no state. */
const LIST = `SELECT r.tenant, r.api, r.state, r.severity FROM upstream_report r JOIN node n ON ${isLiveAt('$2')}
  WHERE r.tenant = $1 AND r.state IS NOT NULL ORDER BY r.api, r.incarnation`
