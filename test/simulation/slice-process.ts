/**
 * A node with slices in virtual time: its process crashes and restarts with its journal, stands still, and its clocks can be set.
 *
 * Calls cost units, and some of them give back what they were charged. With overdrafts, others use more.
 */

import {
  giveBackLease,
  hasLease,
  LEASE_CELL,
  LEASE_CELL_SIZE,
  overdrawLease,
  takeLease,
  type NodeMoment,
} from '../../src/boundary/leases/lease-cell.ts'
import { LeaseJournal, type JournalEntry } from '../../src/boundary/leases/lease-journal.ts'
import type { LeaseMessage, LeaseReply } from '../../src/boundary/leases/lease-messages.ts'
import { LeaseNode } from '../../src/boundary/leases/lease-node.ts'
import type { LeaseTimings } from '../../src/boundary/leases/lease-timings.ts'
import type { SliceRequest } from '../../src/boundary/leases/slice-grantor.ts'
import type { Random } from '../random.ts'
import type { EventQueue } from './event-queue.ts'
import type { LeaseChecker } from './lease-checker.ts'
import type { LeaseNetwork } from './lease-network.ts'
import type { SentMessage, SliceDatabase } from './slice-database.ts'
import { SLICE_NAMES, type SliceLimits, type SliceName } from './slice-limits.ts'

/** Faults that a test plants in the node. */
export interface PlantedInSlices {
  readonly keepsNoJournal?: boolean
  /** Acknowledges a lower limit, and returns nothing. */
  readonly keepsExcess?: boolean
  /** Gives back to the node what a call was charged, also after the limit was lowered. */
  readonly givesBackToNode?: boolean
  /** Gives back into the current window. */
  readonly ignoresWindow?: boolean
  /** Takes the reply to an earlier request for that to the latest. */
  readonly acceptsLateReplies?: boolean
}

export interface SliceProcessOptions {
  readonly number: number
  readonly queue: EventQueue
  readonly random: Random
  readonly timings: LeaseTimings
  readonly network: LeaseNetwork<SentMessage>
  readonly database: SliceDatabase
  readonly limits: SliceLimits
  readonly checker: LeaseChecker
  readonly planted: PlantedInSlices
  readonly hasOverdrafts: boolean
}

interface Charge {
  readonly name: SliceName
  readonly cost: number
  readonly startMs: number
}

const WAIT_MS = 20

export class SliceProcess {
  readonly name: string
  readonly #options: SliceProcessOptions
  readonly #tickMs: number
  #wallOffsetMs = 0
  #suspendedMs = 0
  #frozenUntilMs = 0
  #node: LeaseNode | null = null
  #cells = new Map<SliceName, Float64Array>()
  #identity = ''
  #session = 0
  #journal: JournalEntry[] = []
  #committed: SliceRequest | null = null
  /** Number of starts, so that events of an earlier process do nothing. */
  #life = 0
  #exchange = 0

  constructor(options: SliceProcessOptions) {
    this.#options = options
    this.name = `node-${options.number}`
    this.#tickMs = 20 + options.random.below(150)
    this.loseDisk()
    this.start()
  }

  get isServing(): boolean {
    return this.#node?.isServing === true
  }

  start(): void {
    const { queue, timings, random, planted } = this.#options
    if (this.#node !== null) return
    const life = ++this.#life
    const now = this.#now()
    const write = (entries: readonly JournalEntry[]): void => {
      if (planted.keepsNoJournal !== true) this.#journal.push(...entries)
    }
    const journal = new LeaseJournal(write, this.#journal, now.monotonicMs)
    const node = new LeaseNode({ identity: this.#identity, session: ++this.#session, timings, journal, now })
    this.#node = node
    this.#committed = null
    this.#cells = new Map(SLICE_NAMES.map((name) => [name, new Float64Array(LEASE_CELL_SIZE)]))
    for (const name of SLICE_NAMES) this.#add(node, name)
    queue.after(random.below(this.#tickMs), () => this.#tick(life))
  }

  #add(node: LeaseNode, name: SliceName): void {
    const { limits, number } = this.#options
    const place = { cell: this.#cells.get(name)!, at: 0, exclusively: (task: () => void) => task() }
    node.add(name, limits.declaration(number, name), place, this.#now())
  }

  crash(): void {
    const { limits, number } = this.#options
    this.#node = null
    this.#life++
    limits.followAll(number)
  }

  /** Without its journal, the node needs another identity. */
  loseDisk(): void {
    this.#identity = `identity-${this.#options.number}-${this.#life}`
    this.#session = 0
    this.#journal = []
  }

  freeze(forMs: number, isSuspended: boolean): void {
    this.#frozenUntilMs = Math.max(this.#frozenUntilMs, this.#options.queue.nowMs + forMs)
    if (isSuspended) this.#suspendedMs += forMs
  }

  setWallClock(stepMs: number): void {
    this.#wallOffsetMs += stepMs
  }

  follow(name: SliceName): void {
    const { limits, number, planted } = this.#options
    limits.follow(number, name)
    if (planted.keepsExcess !== true) this.#node?.redeclare(name, limits.declaration(number, name))
  }

  /** A call arrives, and waits once for what it lacks. */
  call(costs: ReadonlyMap<SliceName, number>, hasWaited = false): void {
    const { queue } = this.#options
    const node = this.#node
    if (node === null || this.#isFrozen) return
    const isMissing = ([name, cost]: [SliceName, number]): boolean =>
      !hasLease(this.#cells.get(name)!, 0, this.#now(), cost)
    const missing = [...costs].filter(isMissing)
    if (missing.length === 0) return this.#admit(costs)
    if (hasWaited) return
    for (const [name, cost] of missing) {
      if (!node.has(name)) this.#add(node, name)
      node.need(name, cost, this.#now())
    }
    const life = this.#life
    queue.after(1, () => this.#exchangeNow(life))
    queue.after(WAIT_MS, () => {
      if (life === this.#life) this.call(costs, true)
    })
  }

  #admit(costs: ReadonlyMap<SliceName, number>): void {
    const { checker, limits, queue, random, hasOverdrafts } = this.#options
    const life = this.#life
    const charges = [...costs].map(([name, cost]) => {
      const cell = this.#cells.get(name)!
      takeLease(cell, 0, cost)
      const startMs = cell[LEASE_CELL.window]!
      checker.admitTotal(name, startMs, limits.limit(name), cost)
      return { name, cost, startMs }
    })
    if (hasOverdrafts && random.below(6) === 0) {
      queue.after(random.below(2_000), () => {
        if (life === this.#life) for (const charge of charges) this.#overdraw(charge, 1 + random.below(5))
      })
    }
    if (random.below(4) > 0) return
    queue.after(random.below(2_000), () => {
      if (life === this.#life) for (const charge of charges) this.#giveBack(charge)
    })
  }

  #overdraw({ name, cost, startMs }: Charge, times: number): void {
    const cell = this.#cells.get(name)!
    const used = cell[LEASE_CELL.used]!
    overdrawLease(cell, 0, cost * times, startMs)
    if (cell[LEASE_CELL.used] !== used) this.#options.checker.overdraw(name, startMs, cost * times)
  }

  #giveBack({ name, cost, startMs }: Charge): void {
    const { checker, planted } = this.#options
    const cell = this.#cells.get(name)!
    const [allowed, used] = [cell[LEASE_CELL.allowed]!, cell[LEASE_CELL.used]!]
    giveBackLease(cell, 0, cost, planted.ignoresWindow === true ? cell[LEASE_CELL.window]! : startMs)
    if (cell[LEASE_CELL.used] === used) return
    if (planted.givesBackToNode === true) cell[LEASE_CELL.allowed] = allowed
    checker.giveBack(name, startMs, cost)
  }

  #tick(life: number): void {
    if (life !== this.#life) return
    this.#exchangeNow(life)
    const standsStillMs = Math.max(0, this.#frozenUntilMs - this.#options.queue.nowMs)
    this.#options.queue.after(standsStillMs + this.#tickMs, () => this.#tick(life))
  }

  #exchangeNow(life: number): void {
    const { queue, network, timings, number, database, random } = this.#options
    const node = this.#node
    if (node === null || life !== this.#life || this.#isFrozen) return
    if (node.openAbove !== null && random.below(3) === 0) {
      const opened = database.openEpoch(node.openAbove)
      if (opened !== null) node.open(opened)
    }
    const message = node.next(this.#now())
    if (message === null) return
    const exchange = ++this.#exchange
    const sender = { name: this.name, committed: this.#committed }
    network.send(number, { message, sender }, (reply) => this.#receive(life, exchange, message, reply))
    queue.after(timings.replyMs, () => {
      if (life === this.#life && exchange === this.#exchange) this.#whenAwake(life, () => node.lose())
    })
  }

  #receive(life: number, exchange: number, message: LeaseMessage, reply: LeaseReply): void {
    const isLatest = exchange === this.#exchange || this.#options.planted.acceptsLateReplies === true
    if (life !== this.#life || !isLatest) return
    if (message.type === 'request' && reply.type === 'granted') this.#committed = message
    this.#whenAwake(life, () => this.#node?.receive(reply, this.#now()))
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
    return { monotonicMs: nowMs + 1_000 - this.#suspendedMs, wallMs: nowMs + this.#wallOffsetMs }
  }
}
