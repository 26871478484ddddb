/**
 * A connection that listens for commits of other nodes.
 *
 * Between two connections notifications are missed, so that every new connection counts as one. A ping finds a connection whose other
 * end has vanished.
 */

import type pg from 'pg'
import type { Clock } from '../../../foundation/runtime/clock.ts'
import { openKeptConnection } from './kept-connection.ts'

export interface ChangeListenerOptions {
  readonly config: pg.ClientConfig
  /** Calls by channel. */
  readonly channels: ReadonlyMap<string, () => void>
  readonly clock: Pick<Clock, 'after' | 'every'>
  readonly onFailed: (cause: unknown) => void
}

export interface ChangeListener {
  close(): Promise<void>
}

const PING_EVERY_MS = 5_000

/** Rejects if the first connection fails. */
export async function openChangeListener(options: ChangeListenerOptions): Promise<ChangeListener> {
  const { config, channels, clock, onFailed } = options
  const connection = await openKeptConnection({
    config,
    clock,
    onFailed,
    async onConnected(client) {
      client.on('notification', ({ channel }) => channels.get(channel)?.())
      for (const [channel, onChange] of channels) {
        await client.query(`LISTEN ${channel}`)
        onChange()
      }
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
