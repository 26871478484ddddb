/**
 * Opens the leases of limits that nodes share: those of short limits from Redis, those of long totals and quotas from PostgreSQL, each
 * with a journal on disk.
 */

import { randomUUID } from 'node:crypto'
import type { Config } from './config.ts'
import type { LeaseKeeper, LeaseKeepers } from '../limits/lease-book.ts'
import { createLeaseDriver, type LeaseDriverOptions } from '../boundary/leases/lease-driver.ts'
import {
  discardJournals,
  openJournalFile,
  type JournalFile,
  type JournalName,
} from '../boundary/leases/lease-journal-file.ts'
import { farewellOf, reportHandOvers, type HandOver, type LeaseBounds } from '../boundary/leases/hand-over.ts'
import { LeaseJournal } from '../boundary/leases/lease-journal.ts'
import type { NodeMoment } from '../boundary/leases/lease-cell.ts'
import { LeaseNode } from '../boundary/leases/lease-node.ts'
import { LEASE_TIMINGS, SLICE_TIMINGS, type LeaseTimings } from '../boundary/leases/lease-timings.ts'
import { readBoot } from '../storage/spool/running-mark.ts'
import type { Clock } from '../foundation/runtime/clock.ts'
import type { CountEvent } from '../foundation/runtime/event-reasons.ts'
import type { Opened } from '../foundation/runtime/lifecycle.ts'
import type { Log } from '../foundation/runtime/log.ts'
import { createMonotonicClock } from '../foundation/runtime/monotonic.ts'
import { StartRefused } from '../foundation/runtime/start-refused.ts'
import type { Shared } from './open-shared.ts'
import { watchWaiting } from './watch-waiting.ts'

export interface Leases extends LeaseKeepers {
  /** Whether leases of one kind cannot be had at the moment. */
  readonly isUnavailable: boolean
  /** Which nodes limits wait for, in a sentence; null: none. */
  readonly waitingFor: () => string | null
}

export interface LeasesOptions {
  readonly config: Pick<Config, 'redisUrl' | 'nodeName' | 'dataDir'>
  readonly shared: Shared | null
  readonly clock: Clock
  readonly log: Log
  readonly count: CountEvent
  readonly opened: Opened
}

interface Grantor extends Pick<LeaseDriverOptions, 'prepare' | 'send' | 'openEpoch'> {
  /** Logs what to do about nodes that the grantor waits for. */
  readonly remedy: string
  /** Returns the names of these nodes. */
  readonly namesOf: (waiting: readonly string[]) => Promise<readonly string[]>
  /** If the grantor may lose leases whose windows are open. */
  readonly handOvers?: HandOvers
  /** Names the server in the log. */
  readonly name: string
  readonly timings: LeaseTimings
  readonly tickMs?: number
  readonly file: JournalFile
  readonly journal: LeaseJournal
  /** A later process has used the identity of the journal. */
  readonly onOutdated: () => void
}

interface HandOvers {
  readonly read: () => Promise<readonly HandOver[]>
  readonly write: (left: HandOver) => Promise<void>
  readonly send: LeaseDriverOptions['send']
}

interface Kept extends LeaseKeeper {
  readonly isServing: boolean
  readonly waitingFor: () => string | null
}

/** A start waits this long for a grantor; afterwards calls with limits are refused, or served alone, until it answers. */
const JOIN_WITHIN_MS = 5_000
const JOIN_CHECK_MS = 20
/** Slices last long. */
const SLICE_TICK_MS = 250

/** Returns null for a single node. Throws `StartRefused` if Redis would lose leases. */
export async function openLeases(options: LeasesOptions): Promise<Leases | null> {
  const { config, shared, clock, opened } = options
  const { redisUrl: url, nodeName } = config
  if (shared === null || url === null) return null
  // A single node starts sooner without it.
  const { createRedisLeases, RedisUnusable } = await import('../storage/store/redis/redis-leases.ts')
  const open = (name: JournalName) => openJournal(name, options, shared.end)
  const journals = { short: open('leases.journal'), long: open('slices.journal') }
  const register = createRegistration(shared, journals.short.file.identity)
  if (shared.isJoined()) await register()
  const redis = createRedisLeases({ url, nodeName })
  opened('Redis', () => redis.close())
  let unusable: string | null = null
  const noteUnusable = (cause: unknown): never => {
    if (cause instanceof RedisUnusable) unusable = cause.message
    throw cause
  }
  const { leaseEpochs, leases: slices } = shared
  const short = keep(options, {
    name: 'Redis',
    timings: LEASE_TIMINGS,
    ...journals.short,
    openEpoch: leaseEpochs.open,
    namesOf: leaseEpochs.namesOf,
    remedy: 'Start these nodes again; without them, limits open when those windows end.',
    handOvers: { ...createHandOvers(shared, config), send: (message) => redis.send(message) },
    prepare: () => redis.prepare()?.catch(noteUnusable) ?? null,
    async send(message) {
      await register()
      return redis.send(message).catch(noteUnusable)
    },
  })
  const long = keep(options, {
    name: 'PostgreSQL',
    timings: SLICE_TIMINGS,
    tickMs: SLICE_TICK_MS,
    ...journals.long,
    openEpoch: (above) => slices.openEpoch(above),
    namesOf: async (waiting) => waiting,
    remedy: 'Start these nodes again, or remove them from the list.',
    send: (message) => slices.send(message),
  })
  // Without PostgreSQL there are no slices, and perhaps no leases.
  const isExpected = (): boolean => short.isServing && long.isServing
  if (shared.isJoined()) await untilJoined(clock, () => isExpected() || unusable !== null)
  if (unusable !== null) throw new StartRefused(`REDIS_URL cannot be used: ${unusable}`)
  return {
    short,
    long,
    waitingFor: () => short.waitingFor() ?? long.waitingFor(),
    get isUnavailable() {
      return !short.isServing || !long.isServing
    },
  }
}

function createHandOvers({ leaseEpochs }: Shared, { dataDir }: LeasesOptions['config']): Omit<HandOvers, 'send'> {
  return {
    read: leaseEpochs.handedOver,
    async write(left) {
      await leaseEpochs.handOver(left)
      // The next start takes a new identity, and the other nodes speak for this one.
      discardJournals(dataDir, ['leases.journal'])
    },
  }
}

/**
 * Returns a function that makes the identity known to all nodes, once, before its first message. Without PostgreSQL it suffices that it
 * was known when the node was in the list last, because it is known for as long as that.
 */
function createRegistration({ leaseEpochs, incarnation, copy, isJoined }: Shared, identity: string) {
  const wasKnown = !isJoined() && copy.notes.leaseIdentity === identity
  let isRegistered = false
  return async (): Promise<void> => {
    if (isRegistered || (wasKnown && !isJoined())) return
    await leaseEpochs.register(identity, incarnation)
    isRegistered = true
    copy.note({ leaseIdentity: identity })
  }
}

function openJournal(
  name: JournalName,
  { config: { dataDir }, opened }: LeasesOptions,
  end: Shared['end'],
): Pick<Grantor, 'file' | 'journal' | 'onOutdated'> {
  const file = openJournalFile({
    name,
    folder: dataDir,
    bootId: readBoot() || null,
    newIdentity: randomUUID,
    retained: () => journal.all(),
  })
  const journal = new LeaseJournal(file.write, file.restored, monotonicMs())
  opened(name, file.close)
  return {
    file,
    journal,
    onOutdated() {
      discardJournals(dataDir, [name])
      end(
        `${name} is an older copy, because a later process has used its leases; start this node again, and it takes new ones (${dataDir})`,
      )
    },
  }
}

const monotonicMs = createMonotonicClock()

function keep(options: LeasesOptions, grantor: Grantor): Kept {
  const { clock, log, count } = options
  const { name, timings, tickMs, file, journal, openEpoch, prepare, send, onOutdated } = grantor
  const { identity, session } = file
  const now = () => ({ monotonicMs: monotonicMs(), wallMs: clock.nowMs() })
  const node = new LeaseNode({ identity, session, timings, journal, now: now() })
  let isReported = false
  const driver = createLeaseDriver({
    node,
    async send(message) {
      const reply = await send(message)
      isReported = false
      // A process sends its requests in order, and waits for each reply.
      if (reply.type === 'stale') onOutdated()
      return reply
    },
    openEpoch,
    ...(prepare !== undefined && { prepare }),
    clock,
    now,
    ...(tickMs !== undefined && { tickMs }),
    random: Math.random,
    onFault(cause) {
      count('lease_exchange_failed')
      if (!isReported) log.error({ err: cause }, `leases of limits cannot be had from ${name} at the moment; retrying`)
      isReported = true
    },
  })
  const waitingFor = openHandOvers(options, grantor, { node, stop: () => driver.stop(), now })
  return {
    waitingFor,
    add: (key, declaration, place) => node.add(key, declaration, place, now()),
    has: (key) => node.has(key),
    redeclare: (key, declaration) => node.redeclare(key, declaration),
    refill: (key, calls, least) => driver.refill(key, calls, least),
    look: (key) => driver.look(key),
    get isServing() {
      return node.isServing && !driver.isUnavailable
    },
  }
}

interface Stopping {
  readonly node: LeaseNode
  readonly stop: () => Promise<void>
  readonly now: () => NodeMoment
}

/** Hands over what the node has admitted when it stops, and what other nodes handed over. Returns who is waited for. */
function openHandOvers(
  { clock, log, count, opened }: LeasesOptions,
  { name, namesOf, remedy, handOvers }: Grantor,
  { node, stop, now }: Stopping,
): Kept['waitingFor'] {
  let isOthersReported = false
  const onFault = (cause: unknown): void => {
    count('lease_exchange_failed')
    if (!isOthersReported)
      log.error({ err: cause }, `what other nodes held of limits cannot be read or reported to ${name}; retrying`)
    isOthersReported = true
  }
  opened(`leases from ${name}`, async () => {
    await stop()
    if (handOvers === undefined) return
    try {
      const left = node.handOver()
      await handOvers.write(left)
      const bounds = node.bounds(now())
      if (bounds !== null) await handOvers.send(farewellOf(left, bounds))
    } catch (cause) {
      count('lease_exchange_failed')
      log.error({ err: cause }, `this node leaves without handing over what it used of limits from ${name}`)
    }
  })
  if (handOvers !== undefined) {
    const bounds = (): LeaseBounds | null => node.bounds(now())
    const isWaiting = (): boolean => node.waiting.length > 0
    opened(`hand-overs to ${name}`, reportHandOvers({ ...handOvers, bounds, isWaiting, clock, onFault }))
  }
  const watch = watchWaiting({ name, remedy, node, namesOf, clock, log, onFault })
  opened(`nodes that ${name} waits for`, watch.stop)
  return watch.waitingFor
}

async function untilJoined(clock: Clock, isDone: () => boolean): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  const stopWaiting = clock.after(JOIN_WITHIN_MS, resolve)
  const stopChecks = clock.every(JOIN_CHECK_MS, () => isDone() && resolve())
  await promise
  stopWaiting()
  stopChecks()
}
