/** A connection of a pool for a limited time. */

import type pg from 'pg'
import type { Clock } from '../../../foundation/runtime/clock.ts'
import { RegistryUnreachable } from './connection.ts'

export interface LimitedClientOptions {
  readonly pool: pg.Pool
  readonly clock: Pick<Clock, 'after'>
  readonly limitMs: number
}

/**
 * Runs work on one connection. If the work fails, or has not ended in time, the connection is closed; the server may execute then what
 * it has received. Rejects in time, also while the pool has no connection.
 */
export function withClientFor<Result>(
  { pool, clock, limitMs }: LimitedClientOptions,
  work: (client: pg.PoolClient) => Promise<Result>,
): Promise<Result> {
  let client: pg.PoolClient | null = null
  let isOver = false
  return new Promise((resolve, reject) => {
    const cancel = clock.after(limitMs, () => {
      end(true)
      reject(new RegistryUnreachable('PostgreSQL did not answer in time'))
    })

    function end(isFailed: boolean): void {
      isOver = true
      cancel()
      client?.release(isFailed)
      client = null
    }

    async function run(): Promise<Result> {
      const connected = await pool.connect()
      if (isOver) {
        connected.release()
        throw new RegistryUnreachable('PostgreSQL did not provide a connection in time')
      }
      client = connected
      return work(connected)
    }

    run().then(
      (result) => {
        if (isOver) return
        end(false)
        resolve(result)
      },
      (cause: unknown) => {
        if (isOver) return
        end(true)
        reject(cause)
      },
    )
  })
}
