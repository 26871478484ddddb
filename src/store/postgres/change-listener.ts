/**
 * A connection that listens for commits of other nodes, and is replaced when it is lost or silent.
 *
 * Between two connections notifications are missed, so that every new connection counts as one. `pg` reports the loss of an idle
 * connection by an event; a ping finds a connection whose other end has vanished.
 */

import pg from 'pg'
import { exponentialDelayMs } from '../../runtime/backoff.ts'
import type { Clock } from '../../runtime/clock.ts'

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

const BACKOFF = { firstMs: 100, maxMs: 5_000 }
const PING_EVERY_MS = 5_000
const PING_TIMEOUT_MS = 5_000

export async function openChangeListener(options: ChangeListenerOptions): Promise<ChangeListener> {
  const listener = new Listener(options)
  await listener.connect()
  return listener
}

class Listener implements ChangeListener {
  readonly #options: ChangeListenerOptions
  readonly #stopPinging: () => void
  #client: pg.Client | null = null
  #cancelRetry = (): void => {}
  #failures = 0
  #isClosed = false

  constructor(options: ChangeListenerOptions) {
    this.#options = options
    this.#stopPinging = options.clock.every(PING_EVERY_MS, () => this.#ping())
  }

  /** Throws if the first connection fails; later ones are repeated. */
  async connect(): Promise<void> {
    const { config, channel, onChange } = this.#options
    const client = new pg.Client({ ...config, query_timeout: PING_TIMEOUT_MS })
    client.on('error', (cause) => this.#lose(client, cause))
    client.on('end', () => this.#lose(client, new Error('the connection ended')))
    client.on('notification', onChange)
    this.#client = client
    try {
      await client.connect()
      await client.query(`LISTEN ${channel}`)
    } catch (cause) {
      this.#client = null
      await client.end().catch(() => {})
      throw cause
    }
    this.#failures = 0
    onChange()
  }

  async close(): Promise<void> {
    this.#isClosed = true
    this.#stopPinging()
    this.#cancelRetry()
    const client = this.#client
    this.#client = null
    await client?.end().catch(() => {})
  }

  #ping(): void {
    const client = this.#client
    client?.query('SELECT 1').catch((cause: unknown) => this.#lose(client, cause))
  }

  #lose(client: pg.Client, cause: unknown): void {
    if (this.#isClosed || this.#client !== client) return
    this.#client = null
    this.#options.onFailed(cause)
    client.end().catch(() => {})
    this.#retryLater()
  }

  #retryLater(): void {
    this.#failures++
    const delayMs = exponentialDelayMs(this.#failures, BACKOFF)
    this.#cancelRetry = this.#options.clock.after(delayMs, () => {
      this.connect().catch((cause: unknown) => {
        if (this.#isClosed) return
        this.#options.onFailed(cause)
        this.#retryLater()
      })
    })
  }
}
