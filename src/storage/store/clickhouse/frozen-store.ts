/**
 * Freezes the store for a backup: hard links to the active parts, made by `ALTER TABLE … FREEZE`.
 *
 * Parts never change, so the links stay valid while inserts and merges continue. An external server is
 * not frozen; its rows are only counted. The caller pauses inserts meanwhile.
 */

import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { ASIDE_NAMES } from './aside-tables.ts'
import { within, withoutCredentials, type ClickHouse } from './client.ts'

export interface FrozenStore {
  /** Folder of the frozen parts, laid out as the engine's own folder; null: the store is an external server. */
  readonly folder: string | null
  /** Address of the server, without credentials; null: the store is embedded. */
  readonly server: string | null
  /** Calls of all line items, except those of the API `leaveOut`. */
  readonly calls: number
}

export interface StoreFreezer {
  freeze(name: string): Promise<FrozenStore>
  /** Removes the frozen parts, including those of an earlier process. */
  thaw(): Promise<void>
}

export interface StoreFreezerOptions {
  readonly client: ClickHouse
  /** Null: embedded. */
  readonly url: string | null
  /** Folder of the embedded engine. */
  readonly folder: string
  /** API whose calls are not counted. */
  readonly leaveOut: string
}

export function createStoreFreezer({ client, url, folder, leaveOut }: StoreFreezerOptions): StoreFreezer {
  const shadow = join(folder, 'shadow')

  /**
   * Leaves out tables in which rows are prepared, because they may be dropped meanwhile. `kept_usage` is the last one: it has every
   * removal that came before one of the others.
   */
  async function tables(): Promise<string[]> {
    const result = await client.query({
      query: `SELECT name FROM system.tables WHERE database = currentDatabase() AND engine LIKE '%MergeTree'
        AND NOT match(name, '${ASIDE_NAMES}')
        ORDER BY name = 'kept_usage', name`,
      format: 'JSONEachRow',
      abort_signal: within(undefined),
    })
    return (await result.json<{ name: string }>()).map(({ name }) => name)
  }

  return {
    async freeze(name) {
      const calls = await countCalls(client, leaveOut)
      if (url !== null) return { folder: null, server: withoutCredentials(url), calls }
      for (const table of await tables()) {
        await client.command({
          query: `ALTER TABLE \`${table}\` FREEZE WITH NAME '${name}'`,
          abort_signal: within(undefined),
        })
      }
      return { folder: join(shadow, name), server: null, calls }
    },
    async thaw() {
      if (url === null) await rm(shadow, { recursive: true, force: true })
    },
  }
}

/** Returns the number of calls in all line items, except those of the API `leaveOut`. */
export async function countCalls(client: ClickHouse, leaveOut: string): Promise<number> {
  const result = await client.query({
    query: 'SELECT sum(line_items.calls) AS calls FROM line_items WHERE api != {leave_out: String}',
    query_params: { leave_out: leaveOut },
    format: 'JSONEachRow',
    abort_signal: within(undefined),
  })
  const [row] = await result.json<{ calls: string }>()
  return Number(row?.calls ?? 0)
}
