/**
 * Runs the lease protocol of a node: sends its messages one at a time, and wakes the calls that wait for a lease.
 *
 * All needs that arise during one exchange are sent with the next, so that any number of waiting calls share a round trip. A call waits
 * on while its counter does not fit in a message, and while the grantor has granted a part of what the waiting calls need and may grant
 * more: leases shrink as a budget ends, and waking all calls for each small lease would cost more than the exchange.
 */

import type { Clock } from '../runtime/clock.ts'
import type { Moment } from './lease-cell.ts'
import type { OpenedEpoch } from './lease-membership.ts'
import type { LeaseMessage, LeaseReply } from './lease-messages.ts'
import { ITEMS_MAX, type LeaseNode } from './lease-node.ts'

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
   * Asks for leases for `calls` waiting calls, or for calls that cost as much together; the one of least cost needs `least`. Resolves at
   * once if the node holds enough in reserve, otherwise after the exchanges that carried the request. False if they failed, so that the
   * leases cannot be had at the moment.
   */
  refill(key: string, calls: number, least?: number): Promise<boolean>
  /** Learns how much is left for all nodes. False if that is not known at the moment. */
  look(key: string): Promise<boolean>
  /** Whether the last exchanges failed. */
  readonly isUnavailable: boolean
  /** Returns all leases, and sends nothing from then on. Calls must have ended before. */
  stop(): Promise<void>
}

interface Wait {
  readonly key: string
  readonly calls: number
  readonly least: number
  /** Exchanges that carried the request. */
  grants: number
  readonly resolve: (isReached: boolean) => void
}

const TICK_MS = 50
const OPEN_SPREAD_MS = 200
const OPEN_RETRY_MS = 500
/** Exchanges that may fail in a row before the grantor counts as unavailable, and calls wait no longer. */
const FAILURES_MAX = 3
/** Bounds the exchanges for a wait: other calls may take the leases again and again. */
const GRANTS_MAX = 16
/** Bounds the requests of a stop, each of which returns up to 200 leases. */
const RELEASES_MAX = 1_000

export function createLeaseDriver(options: LeaseDriverOptions): LeaseDriver {
  return new Driver(options)
}

class Driver implements LeaseDriver {
  readonly #options: LeaseDriverOptions
  readonly #openIfNeeded: () => Promise<void>
  readonly #failures = new Failures()
  readonly #stopTicks: () => void
  #waiting: Wait[] = []
  #running: Promise<boolean> | null = null
  #isClosed = false

  constructor(options: LeaseDriverOptions) {
    this.#options = options
    this.#openIfNeeded = createOpener(options)
    this.#stopTicks = options.clock.every(options.tickMs ?? TICK_MS, () => this.#begin())
  }

  get isUnavailable(): boolean {
    return this.#failures.isUnavailable
  }

  async refill(key: string, calls: number, least = calls): Promise<boolean> {
    return serveFromReserve(this.#options, key, calls, least) || this.#wait({ key, calls, least, grants: 0 })
  }

  look(key: string): Promise<boolean> {
    this.#options.node.look(key)
    return this.#wait({ key, calls: 0, least: 0, grants: GRANTS_MAX })
  }

  async stop(): Promise<void> {
    this.#isClosed = true
    this.#stopTicks()
    await this.#running
    this.#options.node.releaseAll()
    for (let releases = 0; releases < RELEASES_MAX; releases++) if (!(await this.#exchange())) break
    resolveAll(this.#waiting.splice(0), false)
  }

  #wait(own: Omit<Wait, 'resolve'>): Promise<boolean> {
    return new Promise((resolve) => {
      // Nothing is granted before a generation begins, and PostgreSQL may be slow to number it.
      if (this.#isClosed || this.#options.node.openAbove !== null) resolve(false)
      else this.#waiting.push({ ...own, resolve })
      if (!this.#failures.isPaused) this.#begin()
    })
  }

  /** Begins an exchange unless one runs. */
  #begin(): void {
    if (this.#running !== null || this.#isClosed) return
    this.#running = this.#exchange().finally(() => {
      this.#running = null
      if (this.#waiting.length > 0 && !this.#failures.isPaused) this.#begin()
    })
  }

  /** Returns whether a message was exchanged. */
  async #exchange(): Promise<boolean> {
    const { node, now, onFault } = this.#options
    const served = this.#waiting
    this.#waiting = []
    try {
      const message = await exchangeNext(this.#options, this.#openIfNeeded)
      if (message !== null) this.#failures.clear()
      this.#waiting.push(...settle(this.#isClosed ? null : message, served, node, now()))
      return message !== null
    } catch (fault) {
      node.lose()
      this.#failures.add()
      onFault(fault)
      if (this.#failures.isPaused && !this.#isClosed) this.#waiting = [...served, ...this.#waiting]
      else resolveAll(served, false)
      return false
    }
  }
}

/** Exchanges that failed in a row. */
class Failures {
  #count = 0

  /** After a failure the next exchange begins with a tick, so that waiting calls outlast a lost message and a new connection. */
  get isPaused(): boolean {
    return this.#count > 0 && !this.isUnavailable
  }

  get isUnavailable(): boolean {
    return this.#count >= FAILURES_MAX
  }

  add(): void {
    this.#count++
  }

  clear(): void {
    this.#count = 0
  }
}

/** Returns the message that was exchanged; null if there was none to send. */
async function exchangeNext(
  { node, send, now }: LeaseDriverOptions,
  openIfNeeded: () => Promise<void>,
): Promise<LeaseMessage | null> {
  await openIfNeeded()
  const message = node.next(now())
  if (message !== null) node.receive(await send(message), now())
  return message
}

/** Resolves the waits that an exchange has served, and returns the others, which take part in the next one. */
function settle(
  message: LeaseMessage | null,
  served: readonly Wait[],
  node: LeaseNode,
  moment: Moment,
): readonly Wait[] {
  const isRequest = message?.type === 'request' && node.isServing
  const carried = new Set(isRequest ? message.items.map(({ key }) => key) : [])
  const isFull = carried.size >= ITEMS_MAX
  return served.filter((wait) => {
    const isCarried = carried.has(wait.key)
    const isLacking = isCarried && ++wait.grants < GRANTS_MAX && node.mayGrantMore(wait.key, wait.calls, moment)
    if (isLacking) node.need(wait.key, wait.calls, moment, wait.least)
    const isUnserved = isLacking || (isFull && !isCarried)
    if (!isUnserved) wait.resolve(node.isServing)
    return isUnserved
  })
}

function resolveAll(waits: readonly Wait[], isReached: boolean): void {
  for (const { resolve } of waits) resolve(isReached)
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
