/** The minutes in which credentials were last used, in the registry of one node. */

import type { DatabaseSync } from 'node:sqlite'
import { setImmediate } from 'node:timers/promises'
import type { CredentialUseStore } from '../credential-uses.ts'

/** About 5 ms of the main thread. */
const BATCH_MAX = 2_000

export function createCredentialUses(database: DatabaseSync, transact: (work: () => void) => void): CredentialUseStore {
  const upsert = database.prepare(
    `INSERT INTO credential_use (credential, minute) VALUES (?, ?)
     ON CONFLICT (credential) DO UPDATE SET minute = excluded.minute WHERE excluded.minute > minute`,
  )
  const find = database.prepare(
    'SELECT credential, minute FROM credential_use WHERE credential IN (SELECT value FROM json_each(?))',
  )
  const remove = database.prepare('DELETE FROM credential_use WHERE credential IN (SELECT value FROM json_each(?))')
  return {
    async store(minutes) {
      const uses = [...minutes]
      for (let from = 0; from < uses.length; from += BATCH_MAX) {
        transact(() => uses.slice(from, from + BATCH_MAX).forEach((use) => void upsert.run(...use)))
        await setImmediate()
      }
    },
    async remove(credentials) {
      transact(() => void remove.run(JSON.stringify(credentials)))
    },
    read: async (credentials) =>
      new Map(
        find.all(JSON.stringify(credentials)).map(({ credential, minute }) => [String(credential), Number(minute)]),
      ),
  }
}
