/**
 * The grantor of leases on a Redis or Valkey server.
 *
 * A slow server is treated like an absent one: a message that is not answered in time is lost, its connection is replaced, and after
 * some losses in a row messages fail at once. Messages are never queued or sent again here; the node reports anew instead.
 * No error contains the URL, which may hold a password.
 */

import { createHash } from 'node:crypto'
import { Redis, type RedisOptions } from 'ioredis'
import type { LeaseMessage, LeaseReply } from '../../leases/lease-messages.ts'
import { LEASE_TIMINGS, type LeaseTimings } from '../../leases/lease-timings.ts'
import { systemClock, type Clock } from '../../runtime/clock.ts'
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
  readonly clock?: Clock
  /** Source of the script; tests replace it. */
  readonly script?: string
}

const CONNECT_TIMEOUT_MS = 2_000
const RECONNECT_MS_MAX = 1_000
const BREAKER = { failuresMax: 3, pauseMs: 1_000 }

export function createRedisLeases(options: RedisLeasesOptions): RedisLeases {
  const { url, nodeName, timings = LEASE_TIMINGS, clock = systemClock } = options
  const script = options.script ?? leaseScript(timings)
  const sha = createHash('sha1').update(script).digest('hex')
  const breaker = new CircuitBreaker(BREAKER)
  const client = new Redis(url, toClientOptions(nodeName, timings))
  let isChecked = false
  // ioredis reconnects by itself; every error also rejects the message that it concerns.
  client.on('error', () => {})
  client.on('close', () => (isChecked = false))

  async function run(message: LeaseMessage): Promise<unknown> {
    if (!isChecked) {
      const reason = unusableReason(String(await client.call('INFO')))
      if (reason !== null) throw new RedisUnusable(reason)
      isChecked = true
    }
    const text = JSON.stringify(message)
    try {
      return await client.call('EVALSHA', sha, '0', text)
    } catch (cause) {
      if (!(cause instanceof Error) || !cause.message.startsWith('NOSCRIPT')) throw cause
      return client.call('EVAL', script, '0', text)
    }
  }

  return {
    async send(message) {
      if (!breaker.allows(clock.nowMs())) throw new LeasesUnavailable('Redis did not answer; messages are paused')
      try {
        const reply = decodeReply(await run(message), message)
        breaker.succeeded()
        return reply
      } catch (cause) {
        breaker.failed(clock.nowMs())
        // A reply that arrives later must not be taken for that to another message, and the next one needs a fresh connection.
        if (client.status === 'ready' && isTimeout(cause)) client.disconnect(true)
        if (cause instanceof RedisUnusable) throw cause
        throw new LeasesUnavailable('Redis did not execute the lease script', { cause })
      }
    },
    get isOpen() {
      return breaker.isOpen
    },
    close: () => client.disconnect(),
  }
}

function toClientOptions(
  nodeName: string,
  { requestMs }: LeaseTimings,
): RedisOptions & { readonly replyMapping: 'legacy' } {
  return {
    replyMapping: 'legacy',
    connectionName: `tollgate-${nodeName}`.replaceAll(/[^!-~]/g, '_'),
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
    commandTimeout: requestMs,
    connectTimeout: CONNECT_TIMEOUT_MS,
    retryStrategy: (times) => Math.min(RECONNECT_MS_MAX, 25 * 2 ** Math.min(times, 6)),
  }
}

function isTimeout(cause: unknown): boolean {
  return cause instanceof Error && /timed out/i.test(cause.message)
}
