/**
 * A node in virtual time: its process crashes and restarts with its journal, stands still, and its clocks can be set.
 *
 * It admits calls from its cells as a gateway thread does, and each admission is checked at once.
 */

import {
  freeSlot,
  hasLease,
  hasLostSlots,
  LEASE_CELL,
  LEASE_CELL_SIZE,
  takeLease,
  type NodeMoment,
} from '../../src/boundary/leases/lease-cell.ts'
import { LeaseJournal, type JournalEntry } from '../../src/boundary/leases/lease-journal.ts'
import type { LeaseMessage, LeaseReply } from '../../src/boundary/leases/lease-messages.ts'
import { LeaseNode } from '../../src/boundary/leases/lease-node.ts'
import type { LeaseTimings } from '../../src/boundary/leases/lease-timings.ts'
import type { Random } from '../random.ts'
import type { EventQueue } from './event-queue.ts'
import type { LeaseChecker } from './lease-checker.ts'
import { CALL_MS_MAX, LIMIT_NAMES, type LeaseLimits, type LimitName } from './lease-limits.ts'
import type { LeaseNetwork } from './lease-network.ts'
import type { LeaseRegistry } from './lease-registry.ts'

/** Faults that a test plants in the node's surroundings. */
export interface PlantedInNode {
  /** Takes the reply to an earlier request for that to the latest. */
  readonly acceptsLateReplies?: boolean
  readonly keepsNoJournal?: boolean
  readonly ignoresExpiry?: boolean
  /** Lets calls run on when their slots are lost. */
  readonly keepsStreams?: boolean
  /** Acknowledges a lower limit, and returns nothing. */
  readonly keepsExcess?: boolean
  readonly alterReply?: (reply: LeaseReply) => LeaseReply
}

export interface ProcessOptions {
  readonly number: number
  readonly queue: EventQueue
  readonly random: Random
  readonly timings: LeaseTimings
  readonly network: LeaseNetwork<LeaseMessage>
  readonly registry: LeaseRegistry
  readonly limits: LeaseLimits
  readonly checker: LeaseChecker
  readonly planted: PlantedInNode
}

const WAIT_MS = 20
const SLOTS_EVERY_MS = 200

export class LeaseProcess {
  readonly #options: ProcessOptions
  readonly #tickMs: number
  readonly #callMs: number
  readonly #bootMs: number
  #wallOffsetMs: number
  /** Time for which the monotonic clock stood still. */
  #suspendedMs = 0
  #frozenUntilMs = 0
  #node: LeaseNode | null = null
  #cells = new Map<LimitName, Float64Array>()
  #running = 0
  readonly #ends = new Set<() => void>()
  #identity = ''
  #session = 0
  #journal: JournalEntry[] = []
  /** Number of starts, so that events of an earlier process do nothing. */
  #life = 0
  #exchange = 0
  #isOpening = false

  constructor(options: ProcessOptions) {
    const { random } = options
    this.#options = options
    this.#tickMs = 20 + random.below(150)
    this.#callMs = random.below(4) === 0 ? CALL_MS_MAX : 200
    this.#bootMs = random.below(1_000_000)
    this.#wallOffsetMs = random.below(1_000_000)
    this.loseDisk()
    this.start()
  }

  get number(): number {
    return this.#options.number
  }

  /** Whether the node may ask for leases. */
  get isServing(): boolean {
    return this.#node?.isServing === true
  }

  start(): void {
    const { queue, timings, random } = this.#options
    if (this.#node !== null) return
    this.joinList()
    const life = ++this.#life
    const journal = new LeaseJournal(
      (entries) => {
        if (this.#options.planted.keepsNoJournal !== true) this.#journal.push(...entries)
      },
      this.#journal,
      this.#now().monotonicMs,
    )
    this.#node = new LeaseNode({
      identity: this.#identity,
      session: ++this.#session,
      timings,
      journal,
      now: this.#now(),
    })
    this.#cells = new Map(LIMIT_NAMES.map((name) => [name, new Float64Array(LEASE_CELL_SIZE)]))
    for (const name of LIMIT_NAMES) this.#add(name)
    this.#isOpening = false
    this.#ends.clear()
    queue.after(random.below(this.#tickMs), () => this.#tick(life))
    queue.after(SLOTS_EVERY_MS, () => this.#watchSlots(life))
  }

  crash(): void {
    const { checker, limits, number } = this.#options
    if (this.#node === null) return
    this.#node = null
    this.#life++
    for (; this.#running > 0; this.#running--) checker.endCall('slots')
    // A process that does not run admits nothing, and reads the newest declaration when it starts.
    limits.followAll(number)
  }

  /** The machine lost its power: the journal cannot be trusted, so that the node needs another identity. */
  loseDisk(): void {
    this.#identity = `node-${this.#options.number}-${this.#life}`
    this.#session = 0
    this.#journal = []
  }

  joinList(): void {
    this.#options.registry.register(this.#identity, this.#options.number)
  }

  /** Leaves the list of the registry, or is removed from it. */
  leaveList(): void {
    this.#options.registry.remove(this.#options.number)
  }

  /** Stands still; with its monotonic clock, if the machine is suspended. */
  freeze(forMs: number, isSuspended: boolean): void {
    this.#frozenUntilMs = Math.max(this.#frozenUntilMs, this.#options.queue.nowMs + forMs)
    if (isSuspended) this.#suspendedMs += forMs
  }

  setWallClock(stepMs: number): void {
    this.#wallOffsetMs += stepMs
  }

  follow(name: LimitName): void {
    const { limits, number, planted } = this.#options
    limits.follow(number, name)
    if (planted.keepsExcess !== true) this.#node?.redeclare(name, limits.declaration(number, name))
  }

  /** A call arrives, and waits once for a lease if there is none. */
  call(names: readonly LimitName[], hasWaited = false): void {
    const node = this.#node
    if (node === null || this.#isFrozen) return
    const now = this.#now()
    const missing = names.filter((name) => !hasLease(this.#cells.get(name)!, 0, now))
    if (missing.length === 0) return this.#admit(names)
    if (hasWaited) return
    for (const name of missing) if (!node.has(name)) this.#add(name)
    for (const name of missing) node.need(name, 1 + this.#options.random.below(3), now)
    const life = this.#life
    this.#options.queue.after(1, () => this.#exchangeNow(life))
    this.#options.queue.after(WAIT_MS, () => {
      if (life === this.#life) this.call(names, true)
    })
  }

  #admit(names: readonly LimitName[]): void {
    const { checker, limits, queue } = this.#options
    for (const name of names) {
      const cell = this.#cells.get(name)!
      takeLease(cell, 0)
      const declared = limits.limit(name)
      if (name === 'rate') checker.admitRate(name, queue.nowMs, declared)
      else if (name === 'slots') this.#beginCall(cell)
      else checker.admitTotal(name, cell[LEASE_CELL.window]!, declared)
    }
  }

  #beginCall(cell: Float64Array): void {
    const { checker, limits, queue, random } = this.#options
    this.#running++
    checker.beginCall('slots', limits.limit('slots'))
    const life = this.#life
    const ms = 1 + random.below(random.below(8) === 0 ? CALL_MS_MAX : this.#callMs)
    // Some are streams, which run on until their slots are lost.
    const lastsMs = ms > CALL_MS_MAX * 0.8 ? 4 * ms : ms
    const end = (): void => {
      if (life !== this.#life || !this.#ends.delete(end)) return
      this.#running--
      checker.endCall('slots')
      queue.after(this.#frozenUntilMs - queue.nowMs, () => freeSlot(cell, 0))
    }
    this.#ends.add(end)
    queue.after(lastsMs, end)
  }

  /** Ends calls whose slots are lost, as a gateway thread does; also while the main thread stands still. */
  #watchSlots(life: number): void {
    if (life !== this.#life) return
    const isLost = hasLostSlots(this.#cells.get('slots')!, 0, this.#now())
    if (isLost && this.#options.planted.keepsStreams !== true) for (const end of this.#ends) end()
    this.#options.queue.after(SLOTS_EVERY_MS, () => this.#watchSlots(life))
  }

  #add(name: LimitName): void {
    const { limits, number } = this.#options
    const place = { cell: this.#cells.get(name)!, at: 0, exclusively: (task: () => void) => task() }
    this.#node?.add(name, limits.declaration(number, name), place, this.#now())
  }

  #tick(life: number): void {
    if (life !== this.#life) return
    this.#exchangeNow(life)
    const standsStillMs = Math.max(0, this.#frozenUntilMs - this.#options.queue.nowMs)
    this.#options.queue.after(standsStillMs + this.#tickMs, () => this.#tick(life))
  }

  #exchangeNow(life: number): void {
    const { queue, network, timings, number, planted } = this.#options
    const node = this.#node
    if (node === null || life !== this.#life || this.#isFrozen) return
    this.#openIfNeeded(node, life)
    const message = node.next(this.#now())
    if (message === null) return
    const exchange = ++this.#exchange
    network.send(number, message, (reply) => this.#receive(life, exchange, planted.alterReply?.(reply) ?? reply))
    queue.after(timings.replyMs, () => {
      if (life === this.#life && exchange === this.#exchange) this.#whenAwake(life, () => node.lose())
    })
  }

  #receive(life: number, exchange: number, reply: LeaseReply): void {
    const isLatest = exchange === this.#exchange || this.#options.planted.acceptsLateReplies === true
    if (life !== this.#life || !isLatest) return
    this.#whenAwake(life, () => {
      this.#node?.receive(reply, this.#now())
      if (this.#options.planted.ignoresExpiry === true) for (const cell of this.#cells.values()) neverEnd(cell)
    })
  }

  #openIfNeeded(node: LeaseNode, life: number): void {
    const { registry, queue, random } = this.#options
    const above = node.openAbove
    if (above === null || this.#isOpening) return
    this.#isOpening = true
    queue.after(random.below(20), () => {
      const opened = registry.openEpoch(above)
      queue.after(random.below(20), () => {
        if (life !== this.#life) return
        this.#isOpening = false
        if (opened !== null) node.open(opened)
      })
    })
  }

  #whenAwake(life: number, task: () => void): void {
    const { queue } = this.#options
    if (!this.#isFrozen) return task()
    queue.after(this.#frozenUntilMs - queue.nowMs, () => {
      if (life === this.#life) this.#whenAwake(life, task)
    })
  }

  get #isFrozen(): boolean {
    return this.#options.queue.nowMs < this.#frozenUntilMs
  }

  #now(): NodeMoment {
    const { nowMs } = this.#options.queue
    return { monotonicMs: nowMs + this.#bootMs - this.#suspendedMs, wallMs: nowMs + this.#wallOffsetMs }
  }
}

function neverEnd(cell: Float64Array): void {
  cell[LEASE_CELL.untilMs] = Infinity
  cell[LEASE_CELL.untilWallMs] = Infinity
}
