/** Transactions that throw the error of the work, even if the rollback fails too. */

import type { DatabaseSync } from 'node:sqlite'

/** Runs `work` in a transaction. Throws the error of `work` or of the commit, after a rollback. */
export function transact<Result>(database: DatabaseSync, work: () => Result): Result {
  // An earlier rollback failed; no transaction can begin before it is repeated.
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

/** Runs `work` within a transaction. If it throws, undoes only its writes; the transaction continues. */
export function runInSavepoint(database: DatabaseSync, work: () => void): void {
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
