/** Reads all rows of the registry of one node, for a copy of it: the file is checked as a whole first. */

import { existsSync } from 'node:fs'
import { StartRefused } from '../../../foundation/runtime/start-refused.ts'
import type { CopiedRow, CopiedTable } from '../copied-tables.ts'
import { damaged, quickCheck, toRefusal } from './open-database.ts'
import { openRegistryFile } from './registry-file.ts'
import { REGISTRY_TABLES, verifyFeed, verifyTables } from './verify-tables.ts'

export interface RegistryRows {
  /** Counted by SQLite. */
  count(table: CopiedTable): number
  /** In the order of the table. Only a few rows are in memory at a time. Throws `StartRefused` if the file is damaged. */
  read(table: CopiedTable): Iterable<CopiedRow>
  /** Position of the last change. */
  readonly end: number
  close(): void
}

/** Throws `StartRefused`. The caller has locked the folder. */
export function openRegistryRows(path: string): RegistryRows {
  if (!existsSync(path)) throw new StartRefused(`${path} does not exist; --from names the data folder of the service`)
  const { database, close } = openRegistryFile(path, {})
  const remedy = 'put back its newest whole copy'
  try {
    // A large file has not been checked yet.
    const fault = quickCheck(database) ?? verifyTables(database, REGISTRY_TABLES) ?? verifyFeed(database)
    if (fault !== null) throw damaged(path, fault, remedy)
  } catch (cause) {
    close()
    throw toRefusal(path, cause, remedy)
  }
  const numberOf = (sql: string): number => Number(database.prepare(sql).get()?.['number'])
  return {
    count: ({ name }) => numberOf(`SELECT count(*) AS number FROM ${name}`),
    *read({ name, columns, order }) {
      const sql = `SELECT ${Object.keys(columns).join()} FROM ${name} ORDER BY ${order.join()}`
      try {
        for (const row of database.prepare(sql).iterate()) yield row as CopiedRow
      } catch (cause) {
        throw toRefusal(path, cause, remedy)
      }
    },
    end: numberOf('SELECT coalesce(max(position), 0) AS number FROM change'),
    close,
  }
}
