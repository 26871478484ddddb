/**
 * One connection of its own, which is replaced when it is lost.
 *
 * `pg` reports the loss of an idle connection by an event. A connection whose other end has vanished is found by a query that is not
 * answered in time, so the owner must query it regularly.
 */

import pg from 'pg'
import { exponentialDelayMs } from '../../../foundation/runtime/backoff.ts'
import type { Clock } from '../../../foundation/runtime/clock.ts'
import { RegistryUnreachable, toRegistryError } from './connection.ts'

export interface KeptConnectionOptions {
  readonly config: pg.ClientConfig
  readonly clock: Pick<Clock, 'after'>
  /** Prepares a connection before its first use. If it rejects, the connection is closed and another one is made. */
  readonly onConnected: (client: pg.Client) => Promise<void>
  /** A connection failed, or could not be made. Another one follows. */
  readonly onFailed: (cause: unknown) => void
}

export interface KeptConnection {
  /** False: a query would be rejected without being sent. */
  readonly isConnected: boolean
  /** Throws `RegistryUnreachable` if there is no connection at the moment, or if the server does not answer in time. */
  query<Row extends pg.QueryResultRow>(sql: string, values?: readonly unknown[]): Promise<readonly Row[]>
  close(): Promise<void>
}

const BACKOFF = { firstMs: 100, maxMs: 5_000 }
const ANSWER_TIMEOUT_MS = 5_000

/** Rejects if the first connection cannot be made or prepared. */
export async function openKeptConnection(options: KeptConnectionOptions): Promise<KeptConnection> {
  const connection = new Kept(options)
  await connection.connect()
  return connection
}

class Kept implements KeptConnection {
  readonly #options: KeptConnectionOptions
  #client: pg.Client | null = null
  #cancelRetry = (): void => {}
  #failures = 0
  #isClosed = false

  constructor(options: KeptConnectionOptions) {
    this.#options = options
  }

  get isConnected(): boolean {
    return this.#client !== null
  }

  async connect(): Promise<void> {
    const client = new pg.Client({ ...this.#options.config, query_timeout: ANSWER_TIMEOUT_MS })
    client.on('error', (cause) => this.#lose(client, cause))
    client.on('end', () => this.#lose(client, new Error('the connection ended')))
    try {
      await client.connect()
      await this.#options.onConnected(client)
    } catch (cause) {
      await client.end().catch(() => {})
      throw cause
    }
    if (this.#isClosed) return client.end()
    this.#failures = 0
    this.#client = client
  }

  async query<Row extends pg.QueryResultRow>(sql: string, values: readonly unknown[] = []): Promise<readonly Row[]> {
    const client = this.#client
    if (client === null) throw new RegistryUnreachable('there is no connection to PostgreSQL at the moment')
    try {
      return (await client.query<Row>(sql, [...values])).rows
    } catch (cause) {
      // An error of the server leaves the connection intact.
      if (!(cause instanceof pg.DatabaseError)) this.#lose(client, cause)
      throw toRegistryError(cause)
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true
    this.#cancelRetry()
    const client = this.#client
    this.#client = null
    await client?.end().catch(() => {})
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
