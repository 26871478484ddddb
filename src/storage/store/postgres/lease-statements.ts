/**
 * Statements on the state of slices.
 *
 * The row of the generation is locked first, so that requests of all nodes run one after another. The state is read by another statement,
 * which sees everything that was committed before the lock was free, and the clock after that.
 */

/** A request that is worth nothing by then ends, and so does the transaction of a node that vanished. */
export const beginWithin = (limitMs: number): string => `BEGIN ISOLATION LEVEL READ COMMITTED;
  SET LOCAL lock_timeout = ${limitMs}; SET LOCAL statement_timeout = ${limitMs};
  SET LOCAL idle_in_transaction_session_timeout = ${limitMs};
  SELECT CASE current_setting('synchronous_commit') WHEN 'off' THEN set_config('synchronous_commit', 'on', true) END;
  SELECT tableoid::text AS table_id, epoch, run_id, start_ms, is_first, ready_ms, confirmations, waiting
  FROM slice_generation FOR UPDATE`

export interface GenerationRow {
  readonly table_id: string
  readonly epoch: number
  readonly run_id: string
  readonly start_ms: number
  readonly is_first: boolean
  readonly ready_ms: number
  readonly confirmations: number
  readonly waiting: readonly string[]
}

/** The numbers of the server and its timeline change with a restore or a failover, that of the table with the restore of a dump. */
export const LOAD = `SELECT (extract(epoch FROM clock_timestamp()) * 1000)::float8 AS now_ms,
    (SELECT system_identifier::text FROM pg_control_system()) || '-' ||
      left(pg_walfile_name(pg_current_wal_insert_lsn()), 8) || '-' ||
      (SELECT oid::text FROM pg_database WHERE datname = current_database()) AS history,
    (SELECT coalesce(json_agg(name), '[]') FROM node) AS listed,
    (SELECT json_build_object('epoch', epoch, 'session', session, 'sequence', sequence)
      FROM slice_node WHERE identity = $1) AS last,
    (SELECT coalesce(json_agg(c), '[]') FROM slice_counter c
      JOIN unnest($2::text[], $3::bigint[]) AS place (hash, start_ms) USING (hash, start_ms)) AS counters`

export interface CounterRow {
  readonly hash: string
  readonly start_ms: number
  readonly end_ms: number
  readonly epoch: number
  readonly version: number
  readonly version_ms: number
  readonly value: number
  readonly claims: Readonly<Record<string, number>>
}

export interface LoadedRow {
  readonly now_ms: number
  readonly history: string
  readonly listed: readonly string[]
  readonly last: { readonly epoch: number; readonly session: number; readonly sequence: number } | null
  readonly counters: readonly CounterRow[]
}

export const STORE = `WITH generation AS (
    UPDATE slice_generation SET epoch = $1, run_id = $2, start_ms = $3, is_first = $4, ready_ms = $5,
      confirmations = $6, waiting = $7::text::jsonb
  ), node AS (
    INSERT INTO slice_node (identity, name, epoch, session, sequence, heard_at)
    SELECT $8, $9, $10, $11, $12, now() WHERE $8::text IS NOT NULL
    ON CONFLICT (identity) DO UPDATE SET name = excluded.name, epoch = excluded.epoch, session = excluded.session,
      sequence = excluded.sequence, heard_at = excluded.heard_at
  )
  INSERT INTO slice_counter (hash, start_ms, end_ms, epoch, version, version_ms, value, claims)
  SELECT hash, start_ms, end_ms, epoch, version, version_ms, value, claims
  FROM json_populate_recordset(null::slice_counter, $13)
  ON CONFLICT (hash, start_ms) DO UPDATE SET end_ms = excluded.end_ms, epoch = excluded.epoch,
    version = excluded.version, version_ms = excluded.version_ms, value = excluded.value, claims = excluded.claims`

/** A window is kept for two days, so that it does not begin anew if the clock is set back. */
export const DELETE_ENDED = `DELETE FROM slice_counter WHERE (hash, start_ms) IN (
    SELECT hash, start_ms FROM slice_counter
    WHERE end_ms < extract(epoch FROM now() - interval '2 days') * 1000 ORDER BY end_ms LIMIT 1000
  )`
/** No window is longer than a year. */
export const DELETE_SILENT = `DELETE FROM slice_node WHERE heard_at < now() - interval '400 days'`

export const OPEN_EPOCH = `SELECT epoch, (SELECT coalesce(json_agg(name), '[]') FROM node) AS listed FROM slice_generation`
