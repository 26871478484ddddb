/** Entry point of the worker thread of `database-check.ts`: sends one sentence for each damaged file. */

import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { parentPort, workerData } from 'node:worker_threads'
import { acceptLossCommand } from '../../../foundation/runtime/accept-loss.ts'
import type { CheckedFile } from './database-check.ts'
import { isCorruption, quickCheck } from './open-database.ts'
import { CHECKPOINT_TABLES, REGISTRY_TABLES, verifyFeed, verifyTables } from './verify-tables.ts'

const { dataDir, files } = workerData as { readonly dataDir: string; readonly files: readonly CheckedFile[] }

for (const file of files) {
  const path = join(dataDir, `${file}.db`)
  const fault = faultOf(path, file)
  if (fault === null) continue
  parentPort?.postMessage(
    `${path} is damaged (${fault}); put back its newest whole copy, or ${acceptLossCommand(file, dataDir)}`,
  )
}

function faultOf(path: string, file: CheckedFile): string | null {
  const database = new DatabaseSync(path, { readOnly: true })
  try {
    // One read transaction, so that all tables are compared at the same moment.
    database.exec('BEGIN')
    const fault = quickCheck(database)
    if (fault !== null) return fault
    if (file === 'checkpoint') return verifyTables(database, CHECKPOINT_TABLES)
    return verifyTables(database, REGISTRY_TABLES) ?? verifyFeed(database)
  } catch (cause) {
    if (isCorruption(cause)) return cause.message
    throw cause
  } finally {
    database.close()
  }
}
