/**
 * A connection that listens for commits of other nodes.
 *
 * Between two connections notifications are missed, so that every new connection counts as one. A ping finds a connection whose other
 * end has vanished.
 */

import type pg from 'pg'
import type { Clock } from '../../runtime/clock.ts'
import { openKeptConnection } from './kept-connection.ts'

export interface ChangeListenerOptions {
  readonly config: pg.ClientConfig
  readonly channel: string
  readonly clock: Pick<Clock, 'after' | 'every'>
  readonly onChange: () => void
  readonly onFailed: (cause: unknown) => void
}

export interface ChangeListener {
  close(): Promise<void>
}

const PING_EVERY_MS = 5_000

/** Rejects if the first connection fails. */
export async function openChangeListener(options: ChangeListenerOptions): Promise<ChangeListener> {
  const { config, channel, clock, onChange, onFailed } = options
  const connection = await openKeptConnection({
    config,
    clock,
    onFailed,
    async onConnected(client) {
      client.on('notification', onChange)
      await client.query(`LISTEN ${channel}`)
      onChange()
    },
  })
  // A failure has been reported, and the connection is replaced.
  const stopPinging = clock.every(PING_EVERY_MS, () => void connection.query('SELECT 1').catch(() => {}))
  return {
    async close() {
      stopPinging()
      await connection.close()
    },
  }
}
