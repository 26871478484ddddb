/**
 * Failing backends in PostgreSQL, by API and node.
 *
 * Reports on one API are made one at a time, under a lock. A report counts while its process lives: a node that was killed, or was
 * started again, has no opinion.
 *
 * Each report has the severity up to which events are published. An event is committed under the lock of commits, together with this
 * severity in the reports of all nodes, so one of several nodes that see the same failure publishes it. `upstream_event` outlives the
 * reports: a node that was cut off finds there that a failure, which is over, was published meanwhile.
 */

import type { ClientBase, Pool } from 'pg'
import { LIVE_MS } from '../nodes.ts'
import { RevisionConflict, type Commit } from '../registry.ts'
import type { UpstreamEvent, UpstreamReport, UpstreamReports } from '../upstream-reports.ts'
import { toText, withRegistryErrors } from './connection.ts'
import { withClient } from './connections.ts'
import { UPSTREAM_SEED } from './lock-numbers.ts'

type Client = Pick<ClientBase, 'query'>

export interface UpstreamReportsOptions {
  readonly pool: Pool
  /** Executes a commit if the condition holds in its transaction; returns whether it does. */
  readonly commitIf: (commit: Commit, condition: (client: Client) => Promise<boolean>) => Promise<boolean>
}

/** Nodes notice a failure at different times. A delayed event is about the failure of one that was published this much earlier. */
const SAME_FAILURE_MS = 30_000

export function createUpstreamReports({ pool, commitIf }: UpstreamReportsOptions): UpstreamReports {
  async function isCommitted(node: string, event: UpstreamEvent): Promise<boolean> {
    try {
      return await commitIf(event.commit, (client) => isMissing(client, node, event))
    } catch (cause) {
      // An earlier attempt, of which the answer was lost, has committed the event.
      if (cause instanceof RevisionConflict) return false
      throw cause
    }
  }

  return {
    report: (node, api, report, pending) =>
      withRegistryErrors(() =>
        withClient(pool, async (client) => {
          const name = toText(api)
          await client.query('BEGIN')
          await client.query(LOCK, [name])
          await client.query(REMOVE, [name, node, LIVE_MS])
          const { rows } = await client.query<{ published: number }>(PUBLISHED, [name])
          const { published } = rows[0]!
          if (report !== null) {
            const own = pending > 0 ? Math.min(report.severity, published) : report.severity
            await client.query(PUT, [node, ...toColumns([report]), [own]])
          }
          await client.query('COMMIT')
          return pending > published
        }),
      ),
    async publish(node, event) {
      if (await isCommitted(node, event)) return
      await withRegistryErrors(() => pool.query(NOTE, [toText(event.api), node, event.severity]))
    },
    restate: (node, reports) =>
      withRegistryErrors(async () => {
        const ordered = reports.toSorted((one, other) => (one.api < other.api ? -1 : 1))
        const published = ordered.map(({ severity, isPending }) => (isPending ? 0 : severity))
        await pool.query(RESTATE, [node, ...toColumns(ordered), published])
      }),
    list: (tenant) =>
      withRegistryErrors(async () => {
        const { rows } = await pool.query<UpstreamReport>(LIST, [toText(tenant), LIVE_MS])
        return rows
      }),
  }
}

/** Notes the event if no other one stands for it. */
async function isMissing(client: Client, node: string, { api, severity, delayedMs }: UpstreamEvent): Promise<boolean> {
  const name = toText(api)
  const sinceMs = delayedMs === null ? null : delayedMs + SAME_FAILURE_MS
  const { rows } = await client.query<{ found: boolean }>(FIND, [name, node, severity, LIVE_MS, sinceMs])
  if (rows[0]!.found) return false
  await client.query(NOTE, [name, node, severity])
  await client.query(REMEMBER, [name, severity])
  return true
}

function toColumns(reports: readonly UpstreamReport[]): readonly unknown[][] {
  return [
    reports.map(({ api }) => toText(api)),
    reports.map(({ severity }) => severity),
    reports.map(({ tenant }) => toText(tenant)),
    reports.map(({ state }) => state),
  ]
}

const isLiveAt = (parameter: string): string => `n.incarnation = r.incarnation AND n.registered_at <= r.reported_at
      AND extract(epoch FROM clock_timestamp() - n.heard_at) * 1000 < ${parameter}`

const LOCK = `SELECT pg_advisory_xact_lock(hashtextextended($1, ${UPSTREAM_SEED}))`
/** Removes the report of the node, and those of processes that are gone. */
const REMOVE = `DELETE FROM upstream_report r WHERE api = $1 AND (incarnation = $2 OR NOT EXISTS (
    SELECT FROM node n WHERE ${isLiveAt('$3')}))`
/** A node of an earlier version publishes the event as it reports. */
const PUBLISHED = `SELECT coalesce(max(coalesce(published, severity)), 0) AS published FROM upstream_report WHERE api = $1`
const INSERT = `INSERT INTO upstream_report AS r (api, incarnation, severity, tenant, state, published, reported_at)
  SELECT api, $1, severity, tenant, state, published, clock_timestamp()
    FROM unnest($2::text[], $3::int[], $4::text[], $5::text[], $6::int[]) AS own (api, severity, tenant, state, published)
  ON CONFLICT (api, incarnation) DO UPDATE SET severity = excluded.severity, tenant = excluded.tenant,
    state = excluded.state, reported_at = excluded.reported_at`
const PUT = `${INSERT}, published = excluded.published`
/** While an event is pending, what is published stays. */
const RESTATE = `WITH gone AS (DELETE FROM upstream_report WHERE incarnation = $1 AND api <> ALL ($2::text[]))
  ${INSERT}, published = greatest(excluded.published, least(coalesce(r.published, 0), excluded.severity))`
/** The own report shows an event that was published since it was made, by a node that may have recovered. */
const FIND = `SELECT EXISTS (
    SELECT FROM upstream_report r WHERE api = $1 AND coalesce(published, severity) >= $3
      AND (incarnation = $2 OR EXISTS (SELECT FROM node n WHERE ${isLiveAt('$4')}))
  ) OR EXISTS (
    SELECT FROM upstream_event WHERE api = $1 AND severity >= $3
      AND published_at >= clock_timestamp() - $5::float8 * interval '1 millisecond'
  ) AS found`
/** The lock of commits must not wait for another node that is in the middle of a report, which asks for the event afterwards. */
const NOTE = `UPDATE upstream_report SET published = greatest(published, least(severity, $3)) WHERE api = $1
  AND published < least(severity, $3) AND (incarnation = $2 OR incarnation IN (
    SELECT incarnation FROM upstream_report WHERE api = $1 FOR UPDATE SKIP LOCKED))`
const REMEMBER = `WITH old AS (
    DELETE FROM upstream_event WHERE api <> $1 AND published_at < clock_timestamp() - interval '1 day'
  ) INSERT INTO upstream_event AS e (api, severity, published_at) VALUES ($1, $2, clock_timestamp())
  ON CONFLICT (api) DO UPDATE SET severity = excluded.severity, published_at = excluded.published_at`
/** A node of an earlier version reports no state. */
const LIST = `SELECT r.tenant, r.api, r.state, r.severity FROM upstream_report r JOIN node n ON ${isLiveAt('$2')}
  WHERE r.tenant = $1 AND r.state IS NOT NULL ORDER BY r.api, r.incarnation`
