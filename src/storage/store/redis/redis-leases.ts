/**
 * The grantor of leases on a Redis or Valkey server.
 *
 * A slow server is treated like an absent one: a message that is not answered in time is lost, its connection is replaced, and after
 * some losses in a row messages fail at once. A reply is in time if it has arrived, even if a busy event loop has not read it yet.
 * Messages are never queued or sent again here; the node reports anew instead. No error contains the URL or a command, which may hold a password.
 */

import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { Redis, type RedisOptions } from 'ioredis'
import type { LeaseMessage, LeaseReply } from '../../../boundary/leases/lease-messages.ts'
import { LEASE_TIMINGS, type LeaseTimings } from '../../../boundary/leases/lease-timings.ts'
import { systemClock, type Clock } from '../../../foundation/runtime/clock.ts'
import { createMonotonicClock } from '../../../foundation/runtime/monotonic.ts'
import { CircuitBreaker } from '../circuit-breaker.ts'
import { decodeReply } from './lease-codec.ts'
import { leaseScript } from './lease-script.ts'
import { unusableReason } from './unusable-redis.ts'

/** The server cannot be reached, did not answer in time, or refused the script. */
export class LeasesUnavailable extends Error {
  override readonly name = 'LeasesUnavailable'
}

/** The settings of the server would lose leases. */
export class RedisUnusable extends Error {
  override readonly name = 'RedisUnusable'
}

export interface RedisLeases {
  /** Returns null if a message can be sent at once; otherwise it settles when one can be, or rejects as `send` does. */
  prepare(): Promise<void> | null
  /** Rejects with `LeasesUnavailable` or `RedisUnusable`. The message may have been executed then. */
  send(message: LeaseMessage): Promise<LeaseReply>
  /** Whether messages fail at once at the moment, because the server did not answer before. */
  readonly isOpen: boolean
  close(): void
}

export interface RedisLeasesOptions {
  /** A `redis:` or `rediss:` URL; with a password, which no message repeats. */
  readonly url: string
  readonly nodeName: string
  readonly timings?: LeaseTimings
  readonly clock?: Pick<Clock, 'after'>
  /** Measures the pause after failures. */
  readonly monotonicMs?: () => number
  /** Source of the script; tests replace it. */
  readonly script?: string
}

/** Bounds the connection, and each command of its handshake. */
const CONNECT_TIMEOUT_MS = 2_000
/** A message waits this long for a connection. */
const CONNECTED_WITHIN_MS = 250
const RECONNECT_MS_MAX = 1_000
const BREAKER = { failuresMax: 3, pauseMs: 1_000 }

export function createRedisLeases(options: RedisLeasesOptions): RedisLeases {
  return new RedisGrantor(options)
}

class RedisGrantor implements RedisLeases {
  readonly #client: Redis
  readonly #script: string
  readonly #sha: string
  readonly #replyMs: number
  readonly #clock: Pick<Clock, 'after'>
  readonly #breaker: CircuitBreaker
  /** Whether the settings of the server were checked on this connection. */
  #isChecked = false
  /** The breaker has allowed one message. */
  #isAllowed = false

  constructor(options: RedisLeasesOptions) {
    const { url, nodeName, timings = LEASE_TIMINGS, clock = systemClock, script } = options
    const { monotonicMs = createMonotonicClock() } = options
    this.#breaker = new CircuitBreaker({ ...BREAKER, monotonicMs })
    this.#script = script ?? leaseScript(timings)
    this.#sha = createHash('sha1').update(this.#script).digest('hex')
    this.#replyMs = timings.replyMs
    this.#clock = clock
    this.#client = new Redis(url, toClientOptions(nodeName))
    // ioredis reconnects by itself; every error also rejects the message that it concerns.
    this.#client.on('error', () => {})
    this.#client.on('close', () => (this.#isChecked = false))
  }

  get isOpen(): boolean {
    return this.#breaker.isOpen
  }

  prepare(): Promise<void> | null {
    this.#isAllowed ||= this.#breaker.allows()
    if (!this.#isAllowed) return Promise.reject(new LeasesUnavailable('Redis did not answer; messages are paused'))
    return this.#isChecked ? null : this.#guarded('Redis cannot be reached', () => this.#connect())
  }

  async send(message: LeaseMessage): Promise<LeaseReply> {
    const prepared = this.prepare()
    if (prepared !== null) await prepared
    this.#isAllowed = false
    return this.#guarded('Redis did not execute the lease script', async () => {
      const reply = decodeReply(await this.#run(message), message)
      this.#breaker.succeeded()
      return reply
    })
  }

  close(): void {
    this.#client.disconnect()
  }

  async #guarded<T>(effect: string, task: () => Promise<T>): Promise<T> {
    try {
      return await task()
    } catch (cause) {
      this.#isAllowed = false
      this.#breaker.failed()
      // A reply that arrives later must not be taken for that to another message, and the next one needs a fresh connection.
      if (this.#client.status === 'ready' && isTimeout(cause)) this.#client.disconnect(true)
      if (cause instanceof RedisUnusable) throw cause
      // ioredis adds the command, such as AUTH with its password; Node prints it if the process crashes.
      if (cause instanceof Error) Reflect.deleteProperty(cause, 'command')
      throw new LeasesUnavailable(effect, { cause })
    }
  }

  async #connect(): Promise<void> {
    const client = this.#client
    if (client.status !== 'ready') await once(client, 'ready', { signal: AbortSignal.timeout(CONNECTED_WITHIN_MS) })
    const reason = unusableReason(String(await this.#call('INFO')))
    if (reason !== null) throw new RedisUnusable(reason)
    this.#isChecked = true
  }

  async #run(message: LeaseMessage): Promise<unknown> {
    const text = JSON.stringify(message)
    try {
      return await this.#call('EVALSHA', this.#sha, '0', text)
    } catch (cause) {
      if (!(cause instanceof Error) || !cause.message.startsWith('NOSCRIPT')) throw cause
      return this.#call('EVAL', this.#script, '0', text)
    }
  }

  #call(command: string, ...parameters: readonly string[]): Promise<unknown> {
    return inTime(this.#client.call(command, ...parameters), this.#replyMs, this.#clock)
  }
}

function toClientOptions(nodeName: string): RedisOptions & { readonly replyMapping: 'legacy' } {
  return {
    replyMapping: 'legacy',
    connectionName: `tollgate-${nodeName}`.replaceAll(/[^!-~]/g, '_'),
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
    commandTimeout: CONNECT_TIMEOUT_MS,
    connectTimeout: CONNECT_TIMEOUT_MS,
    disconnectTimeout: CONNECTED_WITHIN_MS,
    retryStrategy: (times) => Math.min(RECONNECT_MS_MAX, 25 * 2 ** Math.min(times, 6)),
  }
}

function isTimeout(cause: unknown): boolean {
  return cause instanceof Error && /timed out/i.test(cause.message)
}

/** Rejects if the reply has not arrived in time. Timers run before what has arrived is read, so that a late event loop is no reason. */
function inTime<T>(reply: Promise<T>, withinMs: number, clock: Pick<Clock, 'after'>): Promise<T> {
  const { promise, resolve, reject } = Promise.withResolvers<T>()
  const isLate = (): void => reject(new Error('the reply timed out'))
  const cancel = clock.after(withinMs, () => setImmediate(isLate))
  reply.finally(cancel).then(resolve, reject)
  return promise
}
