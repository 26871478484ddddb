/**
 * Runs the lease protocol of a node: sends its messages one at a time, and wakes the calls that wait for a lease.
 *
 * All needs that arise during one exchange are sent with the next, so that any number of waiting calls share a round trip. A call waits
 * on while its counter does not fit in a message, and while the grantor has granted a part of what the waiting calls need and may grant
 * more: leases shrink as a budget ends, and waking all calls for each small lease would cost more than the exchange.
 *
 * A call also waits on, for a limited time, if a message was lost, or came too late to be executed: a process that has just started, on
 * a busy machine, may be late itself. Once exchanges have failed for a while, calls do not wait at all until one succeeds.
 */

import type { Clock } from '../../foundation/runtime/clock.ts'
import type { NodeMoment } from './lease-cell.ts'
import type { OpenedEpoch } from './lease-membership.ts'
import type { LeaseMessage, LeaseReply } from './lease-messages.ts'
import type { LeaseNode } from './lease-node.ts'
import { isClosed, keepInTime, rejectAll, settle, type Exchanged, type Wait } from './lease-wait.ts'

export interface LeaseDriverOptions {
  readonly node: LeaseNode
  /** Returns null if a message can be sent at once; otherwise it settles soon, when one can be, or with the reason why not. */
  readonly prepare?: () => Promise<void> | null
  /** Must settle soon after the time-out of a request. */
  readonly send: (message: LeaseMessage) => Promise<LeaseReply>
  /** Numbers a new generation above `above` in PostgreSQL. */
  readonly openEpoch: (above: number) => Promise<OpenedEpoch>
  readonly clock: Clock
  readonly now: () => NodeMoment
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
  /** Whether the last exchanges failed, for so long that calls do not wait. */
  readonly isUnavailable: boolean
  /** Returns all leases, and sends nothing from then on. Calls must have ended before. */
  stop(): Promise<void>
}

const TICK_MS = 50
const OPEN_SPREAD_MS = 200
const OPEN_RETRY_MS = 500
/** The grantor is unavailable when as many exchanges have failed in a row, for as long. */
const FAILURES_MAX = 3
const FAILING_MS_MAX = 1_000
/** A call waits this long for exchanges that fail, and for at most one more. */
const WAIT_MS_MAX = 2_000
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
  #hasServed = false
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
    return serveFromReserve(this.#options, key, calls, least) || this.#wait(key, calls, least)
  }

  look(key: string): Promise<boolean> {
    this.#options.node.look(key)
    return this.#wait(key, 0, 0)
  }

  async stop(): Promise<void> {
    this.#isClosed = true
    this.#stopTicks()
    await this.#running
    this.#options.node.releaseAll()
    for (let releases = 0; releases < RELEASES_MAX; releases++) if (!(await this.#exchange())) break
    rejectAll(this.#waiting.splice(0))
  }

  #wait(key: string, calls: number, least: number): Promise<boolean> {
    const { node, now } = this.#options
    // Nothing is granted before a generation begins, and PostgreSQL may be slow to number it.
    if (this.#isClosed || this.isUnavailable || node.openAbove !== null) return Promise.resolve(false)
    return new Promise((resolve) => {
      this.#waiting.push({ key, calls, least, grants: 0, untilMs: now().monotonicMs + WAIT_MS_MAX, resolve })
      if (!this.#failures.isPaused) this.#begin()
    })
  }

  /** Begins an exchange unless one runs. */
  #begin(): void {
    if (this.#running !== null || this.#isClosed) return
    this.#running = this.#exchange().finally(() => {
      this.#running = null
      // Calls that could not be served wait for the next tick.
      if (this.#waiting.length > 0 && this.#hasServed) this.#begin()
    })
  }

  /** Returns whether a message was exchanged. */
  async #exchange(): Promise<boolean> {
    const { node, now, onFault } = this.#options
    const served = this.#waiting
    this.#waiting = []
    this.#hasServed = false
    try {
      const exchanged = await exchangeNext(this.#options, this.#openIfNeeded)
      if (exchanged !== null) this.#failures.clear()
      this.#hasServed = exchanged === null ? node.isServing : exchanged.isExecuted
      if (this.#isClosed) rejectAll(served)
      else {
        const unserved = settle(exchanged, served, node, now())
        // The node does not ask for these again at once.
        const areClosed = unserved.length > 0 && unserved.every((wait) => isClosed(wait, node))
        if (areClosed && this.#waiting.length === 0) this.#hasServed = false
        this.#waiting = [...unserved, ...this.#waiting]
      }
      return exchanged !== null
    } catch (fault) {
      node.lose()
      this.#failures.add(now())
      onFault(fault)
      if (this.isUnavailable || this.#isClosed) rejectAll([...served, ...this.#waiting.splice(0)])
      else this.#waiting = [...keepInTime(served, node, now()), ...this.#waiting]
      return false
    }
  }
}

/** Exchanges that failed in a row. */
class Failures {
  #count = 0
  #sinceMs = 0
  #lastMs = 0

  /** After a failure the next exchange begins with a tick, so that waiting calls outlast a lost message and a new connection. */
  get isPaused(): boolean {
    return this.#count > 0
  }

  get isUnavailable(): boolean {
    return this.#count >= FAILURES_MAX && this.#lastMs - this.#sinceMs >= FAILING_MS_MAX
  }

  add({ monotonicMs }: NodeMoment): void {
    if (this.#count === 0) this.#sinceMs = monotonicMs
    this.#lastMs = monotonicMs
    this.#count++
  }

  clear(): void {
    this.#count = 0
  }
}

/** Returns null if there was no message to send. */
async function exchangeNext(
  { node, prepare, send, now }: LeaseDriverOptions,
  openIfNeeded: () => Promise<void>,
): Promise<Exchanged | null> {
  await openIfNeeded()
  let message = node.next(now())
  if (message === null) return null
  const prepared = prepare?.() ?? null
  if (prepared !== null) {
    await prepared
    // Its time has passed, by which the grantor would refuse it.
    node.lose()
    message = node.next(now())
    if (message === null) return null
  }
  const reply = await send(message)
  return { message, isExecuted: node.receive(reply, now()) }
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
