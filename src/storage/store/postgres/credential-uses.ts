/** The minutes in which credentials were last used, of all nodes. */

import type { Pool } from 'pg'
import type { CredentialUseStore } from '../credential-uses.ts'
import { withRegistryErrors } from './connection.ts'

/** In the order of their ids, so that nodes that store the same credentials do not wait for each other in a circle. */
const STORE = `INSERT INTO credential_use AS u (credential, minute)
  SELECT credential, minute FROM unnest($1::text[], $2::bigint[]) AS used (credential, minute) ORDER BY credential
  ON CONFLICT (credential) DO UPDATE SET minute = excluded.minute WHERE excluded.minute > u.minute`
const REMOVE = 'DELETE FROM credential_use WHERE credential = ANY ($1)'
const READ = 'SELECT credential, minute FROM credential_use WHERE credential = ANY ($1)'

export function createCredentialUses(pool: Pick<Pool, 'query'>): CredentialUseStore {
  return {
    store: (minutes) =>
      withRegistryErrors(async () => void (await pool.query(STORE, [[...minutes.keys()], [...minutes.values()]]))),
    remove: (credentials) => withRegistryErrors(async () => void (await pool.query(REMOVE, [credentials]))),
    read: (credentials) =>
      withRegistryErrors(async () => {
        const { rows } = await pool.query<{ credential: string; minute: number }>(READ, [credentials])
        return new Map(rows.map(({ credential, minute }) => [credential, Number(minute)]))
      }),
  }
}
