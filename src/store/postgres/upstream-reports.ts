/**
 * Failing backends in PostgreSQL, by API and node.
 *
 * Reports on one API are made one at a time, under a lock. A report counts while its process lives: a node that was killed, or was
 * started again, has no opinion.
 */

import type { Pool } from 'pg'
import { LIVE_MS } from '../nodes.ts'
import type { UpstreamReports } from '../upstream-reports.ts'
import { toText, withRegistryErrors } from './connection.ts'
import { withClient } from './connections.ts'
import { UPSTREAM_SEED } from './lock-numbers.ts'

export function createUpstreamReports(pool: Pool): UpstreamReports {
  return {
    report: (node, api, severity) =>
      withRegistryErrors(() =>
        withClient(pool, async (client) => {
          const name = toText(api)
          await client.query('BEGIN')
          await client.query(LOCK, [name])
          await client.query(FORGET, [name, node, LIVE_MS])
          const { rows } = await client.query<{ worst: number }>(WORST, [name])
          if (severity > 0) await client.query(ADD, [name, node, severity])
          await client.query('COMMIT')
          return severity > rows[0]!.worst
        }),
      ),
  }
}

const LOCK = `SELECT pg_advisory_xact_lock(hashtextextended($1, ${UPSTREAM_SEED}))`
/** Removes the report of the node, and those of processes that are gone. */
const FORGET = `DELETE FROM upstream_report r WHERE api = $1 AND (incarnation = $2 OR NOT EXISTS (
    SELECT FROM node n WHERE n.incarnation = r.incarnation AND n.registered_at <= r.reported_at
      AND extract(epoch FROM clock_timestamp() - n.heard_at) * 1000 < $3))`
const WORST = 'SELECT coalesce(max(severity), 0) AS worst FROM upstream_report WHERE api = $1'
const ADD = `INSERT INTO upstream_report (api, incarnation, severity, reported_at) VALUES ($1, $2, $3, clock_timestamp())`
