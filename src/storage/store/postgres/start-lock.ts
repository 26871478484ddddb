/**
 * Lets one node start at a time: a start creates what is missing, and brings documents of earlier versions up to date.
 *
 * The lock belongs to a connection, so that it ends with a node that dies.
 */

import pg from 'pg'
import { StartRefused } from '../../../foundation/runtime/start-refused.ts'
import { toClientConfig, type ConnectOptions } from './connection.ts'
import { START_LOCK } from './lock-numbers.ts'

const WAIT_MS = 60_000
const LOCK_NOT_AVAILABLE = '55P03'

/** Returns a function that lets the next node start. Throws `StartRefused`. The database must have been found usable. */
export async function lockStart(options: ConnectOptions): Promise<() => Promise<void>> {
  const client = new pg.Client({ ...toClientConfig(options), query_timeout: WAIT_MS + 10_000 })
  client.on('error', () => {})
  try {
    await client.connect()
    await client.query(`SET lock_timeout = ${WAIT_MS}; SET statement_timeout = ${WAIT_MS + 5_000}`)
    await client.query(`SELECT pg_advisory_lock(${START_LOCK})`)
  } catch (cause) {
    await client.end().catch(() => {})
    const isBusy = cause instanceof pg.DatabaseError && cause.code === LOCK_NOT_AVAILABLE
    const reason = isBusy ? 'another node has been starting for a minute' : 'the connection was lost'
    throw new StartRefused(`DATABASE_URL: ${reason}; start this node again`, { cause })
  }
  return () => client.end().catch(() => {})
}
