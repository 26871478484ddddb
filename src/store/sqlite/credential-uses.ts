/** The minutes in which credentials were last used, in the registry of one node. */

import type { DatabaseSync } from 'node:sqlite'
import type { CredentialUseStore } from '../credential-uses.ts'

export function createCredentialUses(database: DatabaseSync, transact: (work: () => void) => void): CredentialUseStore {
  const upsert = database.prepare(
    `INSERT INTO credential_use (credential, minute) VALUES (?, ?)
     ON CONFLICT (credential) DO UPDATE SET minute = excluded.minute WHERE excluded.minute > minute`,
  )
  const find = database.prepare(
    'SELECT credential, minute FROM credential_use WHERE credential IN (SELECT value FROM json_each(?))',
  )
  return {
    store: async (minutes) =>
      transact(() => minutes.forEach((minute, credential) => void upsert.run(credential, minute))),
    read: async (credentials) =>
      new Map(
        find.all(JSON.stringify(credentials)).map(({ credential, minute }) => [String(credential), Number(minute)]),
      ),
  }
}
