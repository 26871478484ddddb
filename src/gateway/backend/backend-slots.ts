/**
 * Fair sharing of one backend's connections among the subscriptions that call it.
 *
 * - A holder (a subscription, or all public calls of the API) never holds more than half of the
 *   connections, even if nobody else waits.
 * - Freed connections go round-robin to the holders that wait, first come first served within one.
 * - A call waits `waitMs` at most. If no connection becomes free meanwhile, the slowest call of the
 *   largest holder is ended, provided that this holder has more than its fair share.
 */

import { DeadlineQueue, type Timed } from '../../runtime/deadline-queue.ts'

/**
 * A call that needs a connection. Exactly one of `granted` and `denied` is called for each `acquire`, unless it is
 * released before.
 */
export interface SlotUser extends Timed {
  granted(): void
  /** It waited too long. */
  denied(): void
  /** Its connection is taken away in favour of a smaller holder; it must release its slot. */
  evicted(): void
  /** Bytes moved so far; the call that moved the fewest per second is the slowest. */
  readonly bytesMoved: number
  /**
   * When it began to wait, then when it was granted; set by `BackendSlots`, as are its neighbours among those that
   * are granted.
   */
  slotAt: number
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
  /** The granted calls as a list: it costs a call less than a set. */
  first: SlotUser | null
  held: number
  readonly waiting: Set<SlotUser>
}

/** After this long without a free connection a waiting call may displace another. */
const PATIENCE_MS = 100
/** Younger calls are not displaced: their speed is not known yet. */
const DISPLACED_AGE_MIN_MS = 1_000
/** At most one call is displaced in this time, however many wait. */
const DISPLACE_EVERY_MS = 10
/** Idle holders that are kept, so that a call of a known one allocates nothing. */
const IDLE_HOLDERS_MAX = 1_024

export class BackendSlots {
  readonly #connections: number
  readonly #holderMax: number
  readonly #waitMs: number
  readonly #holders = new Map<string, Holder>()
  /** Holders with waiting calls, the next one first. */
  readonly #queue = new Set<Holder>()
  readonly #patience: DeadlineQueue
  #held = 0
  #lastFreedAt = 0
  #lastDisplacedAt = 0
  #isGranting = false

  constructor({ connections, waitMs }: SlotOptions) {
    this.#connections = connections
    this.#holderMax = Math.max(1, Math.floor(connections / 2))
    this.#waitMs = waitMs
    this.#patience = new DeadlineQueue(Math.min(PATIENCE_MS, waitMs))
  }

  /** Calls that hold a connection. */
  get held(): number {
    return this.#held
  }

  acquire(user: SlotUser, name: string, nowAt: number): void {
    const holder = this.#holderOf(name)
    if (this.#held < this.#connections && holder.held < this.#holderMax && holder.waiting.size === 0) {
      return this.#grant(holder, user, nowAt)
    }
    user.slotAt = nowAt
    holder.waiting.add(user)
    this.#queue.add(holder)
    this.#patience.enter(user, nowAt)
  }

  /** Gives a connection back, or a place among those that wait. */
  release(user: SlotUser, name: string): void {
    const holder = this.#holders.get(name)
    if (holder === undefined) return
    if (holder.waiting.delete(user)) {
      this.#patience.leave(user)
      if (holder.waiting.size === 0) this.#queue.delete(holder)
    } else if (user.isSlotHeld) {
      unlink(holder, user)
      this.#held--
      if (this.#queue.size > 0) this.#grantWaiting()
    }
    const isIdle = holder.held + holder.waiting.size === 0
    if (isIdle && this.#holders.size > IDLE_HOLDERS_MAX) this.#holders.delete(name)
  }

  /** Called by a waiting user when its patience is over. */
  patienceOver(user: SlotUser, name: string, nowAt: number): void {
    const holder = this.#holders.get(name)
    if (holder === undefined || !holder.waiting.has(user)) return
    if (nowAt - user.slotAt >= this.#waitMs) {
      this.#patience.leave(user)
      holder.waiting.delete(user)
      if (holder.waiting.size === 0) this.#queue.delete(holder)
      return user.denied()
    }
    this.#patience.leave(user)
    this.#patience.enter(user, nowAt)
    if (holder.held >= this.#holderMax || nowAt - this.#lastFreedAt < PATIENCE_MS) return
    if (nowAt - this.#lastDisplacedAt < DISPLACE_EVERY_MS) return
    this.#lastDisplacedAt = nowAt
    this.#displace(holder, nowAt)
  }

  #grant(holder: Holder, user: SlotUser, nowAt: number): void {
    this.#held++
    user.slotAt = nowAt
    link(holder, user)
    user.granted()
  }

  /** Not re-entrant: a granted call that fails at once gives its connection to the next round of the same loop. */
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
        this.#patience.leave(user)
        this.#grant(holder, user, nowAt)
      }
    } finally {
      this.#isGranting = false
    }
  }

  #displace(waiting: Holder, nowAt: number): void {
    let largest = waiting
    let sharers = 0
    for (const holder of this.#holders.values()) {
      if (holder.held + holder.waiting.size > 0) sharers++
      if (holder.held > largest.held) largest = holder
    }
    const isUnfair = largest.held * sharers > this.#connections
    // Fairer afterwards than before, or two holders would displace each other without end.
    if (!isUnfair || largest.held < waiting.held + 2) return
    let slowest: SlotUser | null = null
    let slowestRate = Infinity
    for (let user = largest.first; user !== null; user = user.slotNext) {
      const ageMs = nowAt - user.slotAt
      const rate = user.bytesMoved / ageMs
      if (ageMs < DISPLACED_AGE_MIN_MS || rate >= slowestRate) continue
      slowest = user
      slowestRate = rate
    }
    slowest?.evicted()
  }

  #holderOf(name: string): Holder {
    let holder = this.#holders.get(name)
    if (holder === undefined) this.#holders.set(name, (holder = { name, first: null, held: 0, waiting: new Set() }))
    return holder
  }
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
