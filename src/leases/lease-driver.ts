/**
 * Runs the lease protocol of a node: sends its messages one at a time, and wakes the calls that wait for a lease.
 *
 * All needs that arise during one exchange are sent with the next, so that any number of waiting calls share a round trip.
 */

import type { Clock } from '../runtime/clock.ts'
import type { Moment } from './lease-cell.ts'
import type { OpenedEpoch } from './lease-membership.ts'
import type { LeaseMessage, LeaseReply } from './lease-messages.ts'
import type { LeaseNode } from './lease-node.ts'

export interface LeaseDriverOptions {
  readonly node: LeaseNode
  /** Must settle soon after the time-out of a request. */
  readonly send: (message: LeaseMessage) => Promise<LeaseReply>
  /** Numbers a new generation above `above` in PostgreSQL. */
  readonly openEpoch: (above: number) => Promise<OpenedEpoch>
  readonly clock: Clock
  readonly now: () => Moment
  /** Time between two looks at the leases. */
  readonly tickMs?: number
  /** In `[0, 1)`: spreads the nodes that find that a generation is needed, so that usually one begins it. */
  readonly random: () => number
  /** An exchange or the opening of a generation failed; the driver goes on. */
  readonly onFault: (fault: unknown) => void
}

export interface LeaseDriver {
  /**
   * Asks for leases for `calls` waiting calls, or for calls that cost as much together; the one of least cost needs `least`. Resolves at once if the node holds enough in reserve,
   * otherwise after the exchange that carried the request. False if that failed, so that the leases cannot be had at the moment.
   */
  refill(key: string, calls: number, least?: number): Promise<boolean>
  /** Whether the last exchange failed. */
  readonly isUnavailable: boolean
  /** Returns all leases, and sends nothing from then on. Calls must have ended before. */
  stop(): Promise<void>
}

const TICK_MS = 50
const OPEN_SPREAD_MS = 200
const OPEN_RETRY_MS = 500
/** Bounds the requests of a stop, each of which returns up to 200 leases. */
const RELEASES_MAX = 1_000

export function createLeaseDriver(options: LeaseDriverOptions): LeaseDriver {
  const { node, send, clock, now, tickMs = TICK_MS, onFault } = options
  let waiting: ((isReached: boolean) => void)[] = []
  let running: Promise<boolean> | null = null
  let isUnavailable = false
  let isClosed = false
  const openIfNeeded = createOpener(options)

  /** Begins an exchange unless one runs. */
  function begin(): void {
    if (running !== null || isClosed) return
    running = exchange().finally(() => {
      running = null
      if (waiting.length > 0) begin()
    })
  }

  /** Returns whether a message was exchanged. */
  async function exchange(): Promise<boolean> {
    const served = waiting
    waiting = []
    try {
      await openIfNeeded()
      const message = node.next(now())
      if (message !== null) node.receive(await send(message), now())
      isUnavailable = false
      for (const resume of served) resume(node.isServing)
      return message !== null
    } catch (fault) {
      node.lose()
      isUnavailable = true
      onFault(fault)
      for (const resume of served) resume(false)
      return false
    }
  }

  const stopTicks = clock.every(tickMs, begin)
  return {
    refill(key, calls, least = calls) {
      const isServed = serveFromReserve(options, key, calls, least)
      return new Promise((resolve) => {
        if (isClosed || isServed) return resolve(isServed)
        waiting.push(resolve)
        begin()
      })
    },
    get isUnavailable() {
      return isUnavailable
    },
    async stop() {
      isClosed = true
      stopTicks()
      await running
      node.releaseAll()
      for (let releases = 0; releases < RELEASES_MAX; releases++) if (!(await exchange())) break
      for (const resume of waiting.splice(0)) resume(false)
    },
  }
}

/** Returns a function that begins a generation if the node needs one. */
function createOpener({ node, openEpoch, now, random }: LeaseDriverOptions): () => Promise<void> {
  let dueMs: number | null = null
  return async () => {
    const above = node.openAbove
    if (above === null) return void (dueMs = null)
    const { monotonicMs } = now()
    dueMs ??= monotonicMs + random() * OPEN_SPREAD_MS
    if (monotonicMs < dueMs) return
    dueMs = monotonicMs + OPEN_RETRY_MS
    node.open(await openEpoch(above))
  }
}

/** Returns whether the calls can be admitted without an exchange. */
function serveFromReserve(
  { node, now, onFault }: LeaseDriverOptions,
  key: string,
  calls: number,
  least: number,
): boolean {
  try {
    return node.need(key, calls, now(), least)
  } catch (fault) {
    onFault(fault)
    return false
  }
}
