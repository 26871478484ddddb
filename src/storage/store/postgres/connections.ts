/** Pools of connections, and their end also when the server does not answer. */

import { Socket } from 'node:net'
import pg from 'pg'
import { askRepeatedly } from '../../../foundation/runtime/ask-repeatedly.ts'
import type { Clock } from '../../../foundation/runtime/clock.ts'
import { RegistryUnreachable } from './connection.ts'

/** All connections that a process opens with one configuration. */
export interface Connections {
  readonly config: pg.ClientConfig
  createPool(max: number): pg.Pool
  /**
   * The process stops: from now on, a server that leaves a question unanswered for five seconds is given up. Its connections are
   * closed, and no more are opened, so that the parts of the process do not wait for it one after another. `pool`: by which the
   * questions are asked.
   */
  beginStop(pool: pg.Pool): void
  /** Runs the last work and ends the pools. If the server does not answer, the connections are closed, which fails the work. */
  close(lastWork: () => Promise<void>): Promise<void>
}

export interface ConnectionsOptions {
  readonly config: pg.ClientConfig
  readonly clock: Pick<Clock, 'after'>
  /** An idle connection failed. */
  readonly onFailed: (cause: unknown) => void
  /** Missing: it is open. */
  readonly gate?: Gate | undefined
}

/** While it is closed, pools give no connections: this node must not act on a registry whose changes it does not follow. */
export interface Gate {
  readonly isOpen: boolean
}

const END_TIMEOUT_MS = 3_000

export function openConnections({ config, clock, onFailed, gate }: ConnectionsOptions): Connections {
  const sockets = new Set<Socket>()
  const pools: pg.Pool[] = []
  let isGivenUp = false
  let endQuestions = (): void => {}
  const tracked: pg.ClientConfig = {
    ...config,
    stream: () => {
      const socket = new Socket()
      if (isGivenUp) setImmediate(() => socket.destroy())
      sockets.add(socket)
      socket.once('close', () => sockets.delete(socket))
      return socket
    },
  }
  const giveUp = (): void => {
    isGivenUp = true
    for (const socket of sockets) socket.destroy()
  }

  return {
    config: tracked,
    createPool(max) {
      const pool = gate === undefined ? new pg.Pool({ ...tracked, max }) : new GatedPool({ ...tracked, max }, gate)
      pool.on('error', onFailed)
      // A connection that is lost while it is in use reports that by an event as well, which would end the process.
      pool.on('connect', (client) => client.on('error', () => {}))
      pools.push(pool)
      return pool
    },
    beginStop(pool) {
      endQuestions = askRepeatedly({ ask: () => isAnswered(pool), clock, onUnanswered: giveUp })
    },
    async close(lastWork) {
      const cancel = clock.after(END_TIMEOUT_MS, giveUp)
      endQuestions()
      await lastWork()
      // A pool that ends lets those that wait for a connection wait until their time-out.
      await Promise.all(pools.map((pool) => pool.end().catch(() => {})))
      cancel()
      for (const socket of sockets) socket.destroy()
    },
  }
}

/** An error of the server is an answer, and so is a refused connection: other statements report the reason. */
async function isAnswered(pool: pg.Pool): Promise<boolean> {
  try {
    await pool.query('SELECT 1')
    return true
  } catch (cause) {
    return cause instanceof pg.DatabaseError || !(cause instanceof Error && /timeout/i.test(cause.message))
  }
}

type OnConnected = Parameters<pg.Pool['connect']>[0]

class GatedPool extends pg.Pool {
  readonly #gate: Gate

  constructor(config: pg.PoolConfig, gate: Gate) {
    super(config)
    this.#gate = gate
  }

  override connect(): Promise<pg.PoolClient>
  override connect(onConnected: OnConnected): void
  override connect(onConnected?: OnConnected): Promise<pg.PoolClient> | undefined {
    if (this.#gate.isOpen) {
      if (onConnected === undefined) return super.connect()
      super.connect(onConnected)
      return undefined
    }
    const refusal = new RegistryUnreachable('PostgreSQL could not be reached when this node started')
    if (onConnected === undefined) return Promise.reject(refusal)
    process.nextTick(onConnected, refusal, undefined, () => {})
    return undefined
  }
}

/** Runs work on one connection of a pool. If it fails, the connection is closed, which ends its transaction. */
export async function withClient<Result>(
  pool: pg.Pool,
  work: (client: pg.PoolClient) => Promise<Result>,
): Promise<Result> {
  const client = await pool.connect()
  try {
    const result = await work(client)
    client.release()
    return result
  } catch (cause) {
    client.release(true)
    throw cause
  }
}
