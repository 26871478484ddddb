/** Opens the leases of limits that nodes share: their journal on disk, and the grantor in Redis. */

import { randomUUID } from 'node:crypto'
import type { Config } from '../config.ts'
import type { LeaseKeeper } from '../gateway/limits/lease-book.ts'
import { createLeaseDriver } from '../leases/lease-driver.ts'
import { openJournalFile } from '../leases/lease-journal-file.ts'
import { LeaseJournal } from '../leases/lease-journal.ts'
import { LeaseNode } from '../leases/lease-node.ts'
import { LEASE_TIMINGS } from '../leases/lease-timings.ts'
import { readBoot } from '../record/running-mark.ts'
import type { Clock } from '../runtime/clock.ts'
import type { CountEvent } from '../runtime/event-reasons.ts'
import type { Opened } from '../runtime/lifecycle.ts'
import type { Log } from '../runtime/log.ts'
import { createMonotonicClock } from '../runtime/monotonic.ts'
import { StartRefused } from '../runtime/start-refused.ts'
import type { Shared } from './open-shared.ts'

export interface Leases extends LeaseKeeper {
  /** Whether the grantor did not answer the last exchanges, or the node may not use it yet. */
  readonly isUnavailable: boolean
}

export interface LeasesOptions {
  readonly config: Config
  readonly shared: Shared | null
  readonly clock: Clock
  readonly log: Log
  readonly count: CountEvent
  readonly opened: Opened
}

/** A start waits this long for the grantor; afterwards calls with limits are refused, or served alone, until it answers. */
const JOIN_WITHIN_MS = 5_000
const JOIN_CHECK_MS = 20

/** Returns null for a single node. Throws `StartRefused` if Redis would lose leases. */
export async function openLeases(options: LeasesOptions): Promise<Leases | null> {
  const { config, shared, clock, log, count, opened } = options
  const { redisUrl: url, nodeName, dataDir } = config
  if (shared === null || url === null) return null
  // A single node starts sooner without it.
  const { createRedisLeases, RedisUnusable } = await import('../store/redis/redis-leases.ts')
  const monotonicMs = createMonotonicClock()
  const now = () => ({ monotonicMs: monotonicMs(), wallMs: clock.nowMs() })
  const file = openJournalFile({
    folder: dataDir,
    bootId: readBoot() || null,
    newIdentity: randomUUID,
    retained: () => journal.all(),
  })
  opened('journal of leases', file.close)
  await shared.leaseEpochs.register(file.identity, shared.incarnation)
  const { identity, session } = file
  const journal = new LeaseJournal(file.write, file.restored, monotonicMs())
  const node = new LeaseNode({ identity, session, timings: LEASE_TIMINGS, journal, now: now() })
  const redis = createRedisLeases({ url, nodeName })
  opened('Redis', redis.close)
  let unusable: string | null = null
  let isReported = false
  const driver = createLeaseDriver({
    node,
    async send(message) {
      const reply = await redis.send(message)
      isReported = false
      return reply
    },
    openEpoch: shared.leaseEpochs.open,
    clock,
    now,
    random: Math.random,
    onFault(cause) {
      if (cause instanceof RedisUnusable) unusable = cause.message
      count('lease_exchange_failed')
      if (!isReported) log.error({ err: cause }, 'leases of limits cannot be had at the moment; retrying')
      isReported = true
    },
  })
  opened('leases', () => driver.stop())
  await untilJoined(clock, () => node.isServing || unusable !== null)
  if (unusable !== null) throw new StartRefused(`REDIS_URL cannot be used: ${unusable}`)
  return {
    add: (key, declaration, place) => node.add(key, declaration, place, now()),
    redeclare: (key, declaration) => node.redeclare(key, declaration),
    async refill(key, calls) {
      await driver.refill(key, calls)
      return !driver.isUnavailable && node.isServing
    },
    get isUnavailable() {
      return driver.isUnavailable || !node.isServing
    },
  }
}

async function untilJoined(clock: Clock, isDone: () => boolean): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  const stopWaiting = clock.after(JOIN_WITHIN_MS, resolve)
  const stopChecks = clock.every(JOIN_CHECK_MS, () => isDone() && resolve())
  await promise
  stopWaiting()
  stopChecks()
}
