/**
 * Inserts rows under a token: a second insert with the same token changes nothing, views included. An insert is acknowledged only
 * when the files of its parts are complete.
 *
 * The settings are part of the statement. Sent separately they would persist in the only session of the
 * embedded engine, which would then drop a later insert without a token as a duplicate.
 */

import { Readable } from 'node:stream'
import { within, type ClickHouse } from './client.ts'
import { QUORUM } from './cluster-statements.ts'

export interface InsertOnce {
  /** Part of the statement, so it must never come from a caller. */
  readonly table: string
  readonly token: string
  readonly rows: readonly Readonly<Record<string, unknown>>[]
  readonly signal?: AbortSignal | undefined
}

/** A server ends an insert that takes longer, so that one whose answer was lost has ended after twice this time. */
export const INSERT_MAX_S = 60

const TOKEN = /^[\w-]{1,200}$/

export async function insertOnce(client: ClickHouse, insertion: InsertOnce): Promise<void> {
  if (insertion.rows.length > 0) await client.newParts.verified(() => insert(client, insertion))
}

async function insert(client: ClickHouse, { table, token, rows, signal }: InsertOnce): Promise<void> {
  if (!TOKEN.test(token)) throw new Error(`${token} is not a valid token`)
  const { stream } = await client.exec({
    query: `INSERT INTO ${table} SETTINGS ${settingsOf(client)}, insert_deduplication_token = '${token}'
            FORMAT JSONEachRow`,
    values: Readable.from(inChunks(rows)),
    abort_signal: within(signal),
  })
  stream.destroy()
}

/** One block, stored and passed to the views before the answer. The profile of a user on a server may say otherwise. */
const SETTINGS = 'insert_deduplicate = 1, async_insert = 0, deduplicate_blocks_in_dependent_materialized_views = 1'
const OF_SERVER = `materialized_views_ignore_errors = 0, max_insert_block_size = 1048449, min_insert_block_size_rows = 1048449,
  min_insert_block_size_bytes = 268402944, max_execution_time = ${INSERT_MAX_S}, timeout_overflow_mode = 'throw'`

/** Settings of each insert. The table is one of a shard: with a cluster, a majority of its replicas store the rows. */
export function settingsOf({ isEmbedded, cluster }: Pick<ClickHouse, 'isEmbedded' | 'cluster'>): string {
  if (isEmbedded) return SETTINGS
  return `${SETTINGS}, ${OF_SERVER}${cluster === null ? '' : `, ${QUORUM}`}`
}

const CHUNK = 1_000

/** Serialises the rows in chunks, so that their whole text is never in memory twice. */
function* inChunks(rows: InsertOnce['rows']): Iterable<string> {
  for (let from = 0; from < rows.length; from += CHUNK)
    yield `${rows
      .slice(from, from + CHUNK)
      .map((row) => JSON.stringify(row))
      .join('\n')}\n`
}
