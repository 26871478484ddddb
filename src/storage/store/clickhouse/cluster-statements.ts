/**
 * Writes the statements of the schema for a cluster: the engines replicate, and each statement runs on all replicas.
 *
 * The files of `sql/` name plain engines. A cluster has one shard, so that each replica has all rows and is read directly; rows come by
 * the replication of the engine, never through a Distributed table.
 */

/** The name of a cluster is part of statements. */
const CLUSTER_NAME = /^[\w.-]{1,100}$/

/** Per shard, database and table, as the engine fills in the macros. */
const PATH = `'/clickhouse/tables/{shard}/{database}/{table}', '{replica}'`
const ENGINE = /\bENGINE = (\w*MergeTree)(?:\(((?:[^()]|\([^()]*\))*)\))?/
const WINDOW = /\bnon_replicated_deduplication_window = (\d+)/g
/** Inserts are repeated for days while a server is away. */
const WINDOW_S = 604_800
const NAMED = /^(CREATE TABLE|CREATE MATERIALIZED VIEW|ALTER TABLE)( IF NOT EXISTS)? (\w+)/

/**
 * One block, stored by a majority of the replicas before the answer. Inserts of several nodes do not wait for each other, so a read
 * that must see all of them synchronises its replica first.
 */
export const QUORUM = "insert_quorum = 'auto', insert_quorum_parallel = 1, insert_quorum_timeout = 20000"

/** Returns the statement for all replicas; an insert stays as it is, because its rows are replicated. */
export function toClusterStatement(statement: string, cluster: string): string {
  if (!CLUSTER_NAME.test(cluster)) throw new Error('not the name of a cluster')
  if (/^INSERT /.test(statement)) return statement
  if (!NAMED.test(statement)) throw new Error(`not known how to run on a cluster: ${statement.slice(0, 80)}`)
  return statement
    .replace(NAMED, (named) => `${named} ON CLUSTER '${cluster}'`)
    .replace(ENGINE, (_, engine: string, columns: string | undefined) => {
      return `ENGINE = Replicated${engine}(${PATH}${columns === undefined ? '' : `, ${columns}`})`
    })
    .replaceAll(
      WINDOW,
      (_, inserts: string) =>
        `replicated_deduplication_window = ${inserts}, replicated_deduplication_window_seconds = ${WINDOW_S}`,
    )
}

/** Returns the plain engine of a replicated table, with its keys and settings, from its full text in `system.tables`. */
export function toPlainEngine(engineFull: string): string {
  return engineFull.replace(/^Replicated(\w*MergeTree)\('[^']*', '[^']*'(?:, )?/, '$1(')
}
