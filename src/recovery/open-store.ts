/** Opens the store, brings its schema up to date, and explains why it does not open. */

import { join } from 'node:path'
import { acceptLossCommand } from '../runtime/accept-loss.ts'
import { openClickHouse, type ClickHouse } from '../store/clickhouse/client.ts'
import { tablesOf } from '../store/clickhouse/flush-log.ts'
import { migrate } from '../store/clickhouse/migrations.ts'
import { toStoreRefused } from '../store/clickhouse/store-refused.ts'

export interface OpenStoreOptions {
  readonly dataDir: string
  /** Null: embedded. */
  readonly clickhouseUrl: string | null
}

export interface OpenedStore {
  readonly client: ClickHouse
  /** There was no table before. */
  readonly isNew: boolean
}

export const STORE_FOLDER = 'clickhouse'
const REASON_CHARS = 300

/** Throws `StartRefused`. */
export async function openStore({ dataDir, clickhouseUrl: url }: OpenStoreOptions): Promise<OpenedStore> {
  const folder = join(dataDir, STORE_FOLDER)
  let client: ClickHouse | null = null
  try {
    client = openClickHouse({ url, folder })
    const isNew = (await tablesOf(client)).length === 0
    await migrate(client)
    return { client, isNew }
  } catch (cause) {
    await client?.close()
    throw toStoreRefused({ url, folder }, cause, `put back its newest copy, or ${acceptLossCommand('store', dataDir)}`)
  }
}

/** The first message of an error and its cause, on one line. */
export function reasonOf(cause: unknown): string {
  const errors = [cause, cause instanceof Error ? cause.cause : undefined].filter((each) => each instanceof Error)
  const text = errors.map(({ message }) => message).find((message) => message !== '') ?? String(cause)
  return text.replaceAll(/\s+/g, ' ').slice(0, REASON_CHARS)
}
