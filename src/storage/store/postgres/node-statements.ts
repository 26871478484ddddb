/** Statements on the list of nodes. */

import { ANSWERED_CHANNEL, ASKED_CHANNEL, IS_ASKED } from './preparation-statements.ts'
import { ENTER_LOCK, NODE_SEED } from './lock-numbers.ts'
import { READ_FORMAT } from './shared-format.ts'

export interface NodeRow {
  readonly incarnation: string
  readonly name: string
  readonly version: string
  readonly format: number
  readonly position: number
  readonly registered_at_ms: number
  readonly silent_ms: number
  readonly stale_after_ms: number | null
  /** Null: an earlier version, or no node. */
  readonly settings: Readonly<Record<string, string>> | null
  readonly lineage: string | null
  readonly clock_offset_ms: number | null
  /** A later process has a copy of the data folder, or the folder itself. */
  readonly replaced: boolean
}

export interface ReportRow {
  /** End of the change feed. */
  readonly end: number
  /** The row is that of this process. */
  readonly own: boolean
  /** There is a row. */
  readonly listed: boolean
  /** Number of other nodes that are not live. */
  readonly silent: number
  /** Another node has asked this one to prepare something, and has no answer. */
  readonly asked: boolean
  /** The format that nodes write. */
  readonly format: number
  /** The format that all nodes in the list read. */
  readonly readable: number
  /** The clock of the server. */
  readonly now_ms: number
}

const CHANNEL = 'tollgate_node'
const LOCK = `pg_try_advisory_lock(hashtextextended($1, ${NODE_SEED}))`
/** Rows of processes that ended after another one had taken their place. */
const ENDED = `ending IS NOT NULL AND (SELECT count(*) FROM pg_stat_activity WHERE pid = ending) = 0`
const SILENT_MS = `(extract(epoch FROM clock_timestamp() - heard_at) * 1000)::float8`

export const LISTEN = `LISTEN ${CHANNEL}; LISTEN ${ASKED_CHANNEL}; LISTEN ${ANSWERED_CHANNEL}`
export const BEGIN = `BEGIN; SELECT pg_advisory_xact_lock(${ENTER_LOCK})`
export const ENTER_CHECK = `SELECT ${LOCK} AS locked,
  EXISTS (SELECT FROM node WHERE name = $2 AND incarnation <> $4 AND ${SILENT_MS} < $3) AS named`
export const UNLOCK = `SELECT pg_advisory_unlock(hashtextextended($1, ${NODE_SEED}))`
export const ENTER = `INSERT INTO node (incarnation, name, version, format, session, position, registered_at, heard_at,
    stale_after_ms, settings, lineage)
  VALUES ($1, $2, $3, $4, $5, $6, now(), clock_timestamp(), $7, $8, $9)
  ON CONFLICT (incarnation) DO UPDATE SET name = $2, version = $3, format = $4, session = $5, position = $6,
    registered_at = now(), heard_at = clock_timestamp(), stale_after_ms = $7, settings = $8, clock_offset_ms = NULL,
    lineage = $9, ending = NULL
  RETURNING registered_at::text`
/** `$4`: when this process entered. A later one of the same lineage has a copy of its folder, or the folder itself. */
export const RETURN = `SELECT ${LOCK} AS locked,
  EXISTS (SELECT FROM node WHERE incarnation = $2 AND session <> $3)
    OR EXISTS (SELECT FROM node WHERE lineage = $1 AND incarnation <> $2 AND registered_at > $4::timestamptz) AS replaced`
/** The process of this connection ends, which ends the connection. Its row is removed then, and not before it has stopped to serve. */
export const END = `UPDATE node SET ending = pg_backend_pid() WHERE incarnation = $1 AND session = $2`
export const REPORT = `WITH own AS (
    UPDATE node SET position = $3, heard_at = clock_timestamp(), clock_offset_ms = $6
    WHERE incarnation = $1 AND session = $2 RETURNING 1
  ), ended AS (DELETE FROM node WHERE ${ENDED} RETURNING 1)
  SELECT position AS end, EXISTS (SELECT FROM own) AS own,
    (extract(epoch FROM clock_timestamp()) * 1000)::float8 AS now_ms,
    EXISTS (SELECT FROM node WHERE incarnation = $1) AS listed,
    (SELECT count(*)::int FROM node WHERE incarnation <> $1 AND ${SILENT_MS} >= $5) AS silent, ${IS_ASKED} AS asked,
    (SELECT format FROM shared_format) AS format, (SELECT min(format) FROM node) AS readable,
    CASE WHEN ($4 AND EXISTS (SELECT FROM own)) OR EXISTS (SELECT FROM ended) THEN pg_notify('${CHANNEL}', '') END FROM change_end`
/** Adds the row again after it was removed while the node was silent, unless the other nodes write a later format by now. */
export const COME_BACK = `WITH shared AS (${READ_FORMAT})
  INSERT INTO node (incarnation, name, version, format, session, position, registered_at, heard_at, stale_after_ms, settings, lineage)
  SELECT $1, $2, $3, $4, $5, $6, now(), clock_timestamp(), $7, $8, $9 FROM shared WHERE shared.format <= $4
  ON CONFLICT DO NOTHING`
export const LIST = `SELECT incarnation, name, version, format, position,
    floor(extract(epoch FROM registered_at) * 1000)::float8 AS registered_at_ms, ${SILENT_MS} AS silent_ms,
    stale_after_ms, settings, lineage, clock_offset_ms, EXISTS (SELECT FROM node later WHERE later.lineage = node.lineage
      AND later.incarnation <> node.incarnation AND later.registered_at > node.registered_at) AS replaced
  FROM node ORDER BY name, incarnation`
export const REMOVE = `WITH named AS (SELECT incarnation, ${SILENT_MS} < greatest($2, stale_after_ms) AS is_live
      FROM node WHERE name = $1 FOR UPDATE),
    removed AS (DELETE FROM node WHERE incarnation IN (SELECT incarnation FROM named WHERE NOT is_live) RETURNING 1)
  SELECT (SELECT count(*) FROM removed) AS removed, (SELECT count(*) FROM named WHERE is_live) AS live,
    pg_notify('${CHANNEL}', '')`
export const LEAVE = `WITH gone AS (DELETE FROM node WHERE incarnation = $1 AND session = $2 RETURNING 1)
  SELECT pg_notify('${CHANNEL}', '') FROM gone`
