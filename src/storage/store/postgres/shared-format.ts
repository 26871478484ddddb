/**
 * The format of what nodes share: the newest that every node in the list reads. Nodes write no later one.
 *
 * It only rises, once no node of an earlier version is listed. A node that does not read it cannot enter the list, nor return to it.
 * The lock of its row orders entering and raising, so that no node enters that the raise has not seen.
 */

import type { ClientBase, Pool } from 'pg'
import { withClient } from './connections.ts'

/** Locks the format against a raise until the end of the transaction. */
export const READ_FORMAT = 'SELECT format FROM shared_format FOR SHARE'
const LOCK_FORMAT = 'SELECT format FROM shared_format FOR UPDATE'
/** The list is read in a statement after the lock, because it must show the nodes that entered before. */
const RAISE = `UPDATE shared_format SET format = oldest.format FROM (SELECT min(format) AS format FROM node) AS oldest
  WHERE shared_format.format < oldest.format`

/** Raises the format to that which every listed node reads. */
export async function raiseFormat(pool: Pool): Promise<void> {
  await withClient(pool, async (client) => {
    await client.query('BEGIN')
    await client.query(LOCK_FORMAT)
    await client.query(RAISE)
    await client.query('COMMIT')
  })
}

/** Returns the format, and lets no node enter until the transaction ends. Null: the schema is older than formats. */
export async function lockFormat(client: ClientBase): Promise<number | null> {
  if (!(await hasFormat(client))) return null
  const { rows } = await client.query<{ format: number }>(LOCK_FORMAT)
  return Number(rows[0]!.format)
}

/** Returns the format, or null if the schema is older than formats. */
export async function readFormat(client: ClientBase): Promise<number | null> {
  if (!(await hasFormat(client))) return null
  const { rows } = await client.query<{ format: number }>('SELECT format FROM shared_format')
  return Number(rows[0]!.format)
}

async function hasFormat(client: ClientBase): Promise<boolean> {
  const { rows } = await client.query<{ name: string | null }>(`SELECT to_regclass('shared_format')::text AS name`)
  return rows[0]!.name !== null
}
