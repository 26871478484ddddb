/**
 * Shares the connections to one backend fairly among the holders that call it. A holder is a subscription, or all
 * public calls of an API together.
 *
 * - A holder never has more than half of the connections, even if no other holder is waiting.
 * - Freed connections go round-robin to the waiting holders, and first come, first served within one holder.
 * - A call waits `waitMs` at most. If no connection becomes free for a while, the slowest call of the largest
 *   holder is evicted, provided that this holder has more than its fair share.
 */

import { DeadlineQueue, type Timed } from '../../foundation/runtime/deadline-queue.ts'

/** A call that needs a connection. Receives either `onGranted` or `onDenied`, unless it releases its slot before. */
export interface SlotUser extends Timed {
  onGranted(): void
  /** The call has waited too long. */
  onDenied(): void
  /** A smaller holder needs the connection; the call must release its slot. */
  onEvicted(): void
  /** Bytes transferred so far. The slowest call is the one with the fewest per second. */
  readonly bytesMoved: number
  /**
   * Time when the call began to wait, then when it was granted. `BackendSlots` alone writes this and the fields
   * below.
   */
  slotAt: number
  /** Neighbours in the list of granted calls of the same holder. */
  slotNext: SlotUser | null
  slotPrevious: SlotUser | null
  isSlotHeld: boolean
}

export interface SlotOptions {
  readonly connections: number
  readonly waitMs: number
}

interface Holder {
  readonly name: string
  /** Head of the linked list of granted calls, which is cheaper per call than a set. */
  first: SlotUser | null
  held: number
  readonly waiting: Set<SlotUser>
}

/** A waiting call may evict another one after this time without a freed connection. */
const EVICT_AFTER_MS = 100
/** Younger calls are not evicted, because their speed cannot be measured yet. */
const EVICTED_AGE_MIN_MS = 1_000
/** At most one call is evicted per interval, however many wait. */
const EVICT_EVERY_MS = 10
/** Upper bound of idle holders in memory. A call of a holder in memory allocates nothing. */
const IDLE_HOLDERS_MAX = 1_024

export class BackendSlots {
  readonly #connections: number
  readonly #holderMax: number
  readonly #waitMs: number
  readonly #holders = new Map<string, Holder>()
  /** Holders with waiting calls; the next one to be served is first. */
  readonly #queue = new Set<Holder>()
  readonly #waits: DeadlineQueue
  #held = 0
  #lastFreedAt = 0
  #lastEvictedAt = 0
  #isGranting = false

  constructor({ connections, waitMs }: SlotOptions) {
    this.#connections = connections
    this.#holderMax = Math.max(1, Math.floor(connections / 2))
    this.#waitMs = waitMs
    this.#waits = new DeadlineQueue(Math.min(EVICT_AFTER_MS, waitMs))
  }

  /** Calls that hold a connection. */
  get held(): number {
    return this.#held
  }

  /** Whether a call of a holder would get a connection at once. */
  isFreeFor(name: string): boolean {
    const holder = this.#holders.get(name)
    return holder === undefined ? this.#held < this.#connections : this.#isFree(holder)
  }

  acquire(user: SlotUser, name: string, nowAt: number): void {
    const holder = this.#holderOf(name)
    if (this.#isFree(holder)) return this.#grant(holder, user, nowAt)
    user.slotAt = nowAt
    holder.waiting.add(user)
    this.#queue.add(holder)
    this.#waits.enter(user, nowAt)
  }

  /** Frees the connection of a call, or removes a waiting call. */
  release(user: SlotUser, name: string): void {
    const holder = this.#holders.get(name)
    if (holder === undefined) return
    if (holder.waiting.delete(user)) {
      this.#waits.leave(user)
      if (holder.waiting.size === 0) this.#queue.delete(holder)
    } else if (user.isSlotHeld) {
      unlink(holder, user)
      this.#held--
      if (this.#queue.size > 0) this.#grantWaiting()
    }
    const isIdle = holder.held + holder.waiting.size === 0
    if (isIdle && this.#holders.size > IDLE_HOLDERS_MAX) this.#holders.delete(name)
  }

  /** Handles the deadline of a waiting call: denies it, or evicts another call for it. */
  onWaitDue(user: SlotUser, name: string, nowAt: number): void {
    const holder = this.#holders.get(name)
    if (holder === undefined || !holder.waiting.has(user)) return
    if (nowAt - user.slotAt >= this.#waitMs) {
      this.#waits.leave(user)
      holder.waiting.delete(user)
      if (holder.waiting.size === 0) this.#queue.delete(holder)
      return user.onDenied()
    }
    this.#waits.leave(user)
    this.#waits.enter(user, nowAt)
    if (holder.held >= this.#holderMax || nowAt - this.#lastFreedAt < EVICT_AFTER_MS) return
    if (nowAt - this.#lastEvictedAt < EVICT_EVERY_MS) return
    this.#lastEvictedAt = nowAt
    this.#evictFor(holder, nowAt)
  }

  #isFree({ held, waiting }: Holder): boolean {
    return this.#held < this.#connections && held < this.#holderMax && waiting.size === 0
  }

  #grant(holder: Holder, user: SlotUser, nowAt: number): void {
    this.#held++
    user.slotAt = nowAt
    link(holder, user)
    user.onGranted()
  }

  /** Not re-entrant: if a granted call fails immediately, the same loop grants its connection to the next one. */
  #grantWaiting(): void {
    if (this.#isGranting) return
    this.#isGranting = true
    const nowAt = performance.now()
    this.#lastFreedAt = nowAt
    try {
      for (const holder of this.#queue) {
        if (this.#held >= this.#connections) break
        if (holder.held >= this.#holderMax) continue
        const [user] = holder.waiting
        this.#queue.delete(holder)
        if (user === undefined) continue
        holder.waiting.delete(user)
        if (holder.waiting.size > 0) this.#queue.add(holder)
        this.#waits.leave(user)
        this.#grant(holder, user, nowAt)
      }
    } finally {
      this.#isGranting = false
    }
  }

  #evictFor(waiting: Holder, nowAt: number): void {
    let largest = waiting
    let sharers = 0
    for (const holder of this.#holders.values()) {
      if (holder.held + holder.waiting.size > 0) sharers++
      if (holder.held > largest.held) largest = holder
    }
    const isUnfair = largest.held * sharers > this.#connections
    // The largest holder must keep at least as many as the waiting one afterwards, or both would evict each other forever.
    if (isUnfair && largest.held >= waiting.held + 2) findSlowest(largest, nowAt)?.onEvicted()
  }

  #holderOf(name: string): Holder {
    let holder = this.#holders.get(name)
    if (holder === undefined) this.#holders.set(name, (holder = { name, first: null, held: 0, waiting: new Set() }))
    return holder
  }
}

function findSlowest(holder: Holder, nowAt: number): SlotUser | null {
  let slowest: SlotUser | null = null
  let slowestRate = Infinity
  for (let user = holder.first; user !== null; user = user.slotNext) {
    const ageMs = nowAt - user.slotAt
    const rate = user.bytesMoved / ageMs
    if (ageMs < EVICTED_AGE_MIN_MS || rate >= slowestRate) continue
    slowest = user
    slowestRate = rate
  }
  return slowest
}

function link(holder: Holder, user: SlotUser): void {
  user.isSlotHeld = true
  user.slotPrevious = null
  user.slotNext = holder.first
  if (holder.first !== null) holder.first.slotPrevious = user
  holder.first = user
  holder.held++
}

function unlink(holder: Holder, user: SlotUser): void {
  user.isSlotHeld = false
  if (user.slotPrevious === null) holder.first = user.slotNext
  else user.slotPrevious.slotNext = user.slotNext
  if (user.slotNext !== null) user.slotNext.slotPrevious = user.slotPrevious
  user.slotNext = user.slotPrevious = null
  holder.held--
}
