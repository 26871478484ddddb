/** Transactions that report the first error: a rollback that fails after it says nothing about the cause. */

import type { DatabaseSync } from 'node:sqlite'

/** Does everything that `work` does, or nothing of it. Throws what `work` or the commit throws. */
export function transact<Result>(database: DatabaseSync, work: () => Result): Result {
  // Left by an earlier rollback that failed; while it is open nothing else can begin.
  if (database.isTransaction) database.exec('ROLLBACK')
  database.exec('BEGIN IMMEDIATE')
  try {
    const result = work()
    database.exec('COMMIT')
    return result
  } catch (cause) {
    rollBack(database, 'ROLLBACK')
    throw cause
  }
}

/** Does `work` within a transaction; if it throws, it leaves nothing behind and the transaction goes on. */
export function transactWithin(database: DatabaseSync, work: () => void): void {
  database.exec('SAVEPOINT one')
  try {
    work()
    database.exec('RELEASE one')
  } catch (cause) {
    rollBack(database, 'ROLLBACK TO one; RELEASE one')
    throw cause
  }
}

function rollBack(database: DatabaseSync, sql: string): void {
  // A full disk may have rolled back already.
  if (!database.isTransaction) return
  try {
    database.exec(sql)
  } catch {}
}
