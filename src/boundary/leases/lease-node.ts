/**
 * The node's side of the lease protocol, without input or output: time and messages are parameters.
 *
 * One request is under way at a time; it carries all that the counters need or have to report. A reply to any other request is
 * ignored, so a grant that arrives late is never used, and the next report returns it.
 */

import type { NodeMoment } from './lease-cell.ts'
import { LeaseCounter } from './lease-counter.ts'
import type { LeaseDeclaration } from './lease-declaration.ts'
import { admittedIn, applyGrants, type UnderWay } from './lease-grants.ts'
import type { JournalEntry, LeaseJournal } from './lease-journal.ts'
import { LeaseMembership, type OpenedEpoch } from './lease-membership.ts'
import type { HandOver, LeaseBounds } from './hand-over.ts'
import {
  ITEMS_MAX,
  type GrantedReply,
  type LeaseItem,
  type LeaseMessage,
  type LeaseReply,
  type LeaseRequest,
} from './lease-messages.ts'
import type { LeasePlace } from './lease-place.ts'
import { LeaseSweep } from './lease-sweep.ts'
import { LeaseSync } from './lease-sync.ts'
import type { LeaseTimings } from './lease-timings.ts'
import { claimOverdrafts, openReserves } from './open-reserves.ts'
import type { LeaseMoment } from './server-clock.ts'

export interface LeaseNodeOptions {
  /** Identity under which the node holds leases: as old as its journal. */
  readonly identity: string
  /** Number of starts with this identity. */
  readonly session: number
  readonly timings: LeaseTimings
  readonly journal: LeaseJournal
  readonly now: NodeMoment
}

const DISCARD_MS = 10_000
/** A window whose declaration is gone is reported, and nothing is asked for. */
const NO_LIMIT = { value: 0, version: 0 }

export class LeaseNode {
  readonly #options: LeaseNodeOptions
  readonly #membership: LeaseMembership
  readonly #sync: LeaseSync
  readonly #counters = new Map<string, LeaseCounter>()
  /** Counters that hold something, or were needed recently, in the order of their last request. */
  readonly #active = new Set<LeaseCounter>()
  /** Counters for which calls wait, and no reply has come. Between two sweeps only these are examined. */
  readonly #needed = new Set<LeaseCounter>()
  readonly #sweep = new LeaseSweep()
  #sequence = 0
  #underWay: UnderWay | null = null
  #sentMs = -Infinity
  #discardedMs = -Infinity
  /** Identities, or names of nodes, that the grantor waits for, as of the latest reply. */
  waiting: readonly string[] = []

  constructor(options: LeaseNodeOptions) {
    this.#options = options
    this.#membership = new LeaseMembership(options.timings, options.now.monotonicMs)
    this.#sync = new LeaseSync(options.journal, (key, startMs) => {
      const counter = this.#counters.get(key)
      return { limit: counter?.limit ?? NO_LIMIT, held: counter?.inWindow(startMs)?.reserve ?? 0 }
    })
  }

  get epoch(): number {
    return this.#membership.epoch
  }

  get isServing(): boolean {
    return this.#membership.isServing
  }

  /** The number that a new generation must exceed; null if none is needed. */
  get openAbove(): number | null {
    return this.#membership.openAbove
  }

  /** Provides the generation that `openAbove` asked for. */
  open(opened: OpenedEpoch): void {
    this.#membership.open(opened)
  }

  /** Adds a counter. Its cell must be clear, or be that of a counter with the same key that the node has dropped. */
  add(key: string, declaration: LeaseDeclaration, place: LeasePlace, now: NodeMoment): void {
    const { timings, journal } = this.#options
    const counter = new LeaseCounter(key, declaration, place, timings, now.monotonicMs)
    this.#counters.set(key, counter)
    if (this.epoch > 0) counter.roll(this.#toLeaseMoment(now), admittedIn(place, journal))
  }

  /** Whether the node has the counter. It drops one that holds nothing and was idle for long; add it again when it is needed. */
  has(key: string): boolean {
    return this.#counters.has(key)
  }

  /** Replaces a declaration. When it returns, no call is admitted by what the one before leased. */
  redeclare(key: string, declaration: LeaseDeclaration): void {
    this.#counters.get(key)?.redeclare(declaration)
  }

  /** Returns everything that is not used with the next requests; call it before a clean stop. */
  releaseAll(): void {
    for (const counter of this.#active) counter.release()
    this.#needed.clear()
    this.#sweep.isPartial = true
  }

  /**
   * Notes that `calls` wait for a lease, or calls that cost as much together; the one of least cost needs `least`. Returns whether they
   * can be admitted from what the node held in reserve; otherwise send the next message now. Throws if the journal cannot be written.
   */
  need(key: string, calls: number, now: NodeMoment, least = calls): boolean {
    const counter = this.#counters.get(key)
    if (counter === undefined) return false
    counter.need(calls, least, now.monotonicMs)
    this.#active.add(counter)
    if (counter.openable > 0) {
      openReserves([counter], this.#options.journal, now)
      if (counter.serves(calls, now)) return true
      counter.need(calls, least, now.monotonicMs)
    }
    this.#needed.add(counter)
    return false
  }

  /** Lets the next message report a lease, which reports how much is left for all nodes. */
  look(key: string): void {
    const counter = this.#counters.get(key)
    if (counter === undefined) return
    counter.mustReport = true
    this.#active.add(counter)
    this.#needed.add(counter)
  }

  /** Returns what is known of a counter after an exchange. */
  stateOf(key: string): Pick<LeaseCounter, 'mayGrantMore' | 'closedSinceMs'> | undefined {
    return this.#counters.get(key)
  }

  /** Returns the message to send now, if any. Its reply or its loss must be reported before the next call. */
  next(now: NodeMoment): LeaseMessage | null {
    if (this.#underWay !== null) return null
    if (this.#membership.hasOwnClockStepped(now)) this.#distrustClocks(now)
    const { journal } = this.#options
    const moment = this.#toLeaseMoment(now)
    const counters = this.#sweep.pick(this.#active, this.#needed, now.monotonicMs)
    for (const counter of counters) {
      if (this.epoch > 0) counter.roll(moment, journal)
      if (!counter.maintain(now)) this.#drop(counter)
    }
    const reserves = [...counters].filter(({ openable }) => openable > 0)
    openReserves(reserves, journal, now)
    claimOverdrafts(counters, journal, now)
    const message = this.#membership.isServing ? this.#request(counters, moment) : this.#membership.next(now)
    if (message !== null && message.type !== 'request') this.#underWay = { message, sent: moment, counters: [] }
    return message
  }

  #drop(counter: LeaseCounter): void {
    this.#active.delete(counter)
    this.#needed.delete(counter)
    // Another one may have its key, if it was removed.
    if (this.#counters.get(counter.key) === counter) this.#counters.delete(counter.key)
  }

  /** Notes that the message was refused, or its reply did not arrive in time. It may have been executed. */
  lose(): void {
    this.#underWay = null
  }

  /**
   * Accepts the reply to the latest message, and returns whether it granted the leases that were asked for, or said how many it could.
   * Throws if the journal cannot be written; then nothing was granted.
   */
  receive(reply: LeaseReply, now: NodeMoment): boolean {
    const underWay = this.#underWay
    this.#underWay = null
    if (underWay === null || now.monotonicMs - underWay.sent.monotonicMs > this.#options.timings.replyMs) return false
    const { message, sent } = underWay
    if (reply.type === 'generation') {
      if (this.#membership.acceptGeneration(reply, sent, now)) this.#join()
      return false
    }
    if (!this.#membership.acceptClock(reply, sent, now)) {
      this.#distrustClocks(now)
      return false
    }
    if (reply.type !== 'granted' || message.type !== 'request') return false
    this.#apply(message, underWay, reply, now)
    return true
  }

  /** Ends all leases that end by time, and measures the grantor's clock anew. */
  #distrustClocks(now: NodeMoment): void {
    this.#expireTimed()
    this.#membership.rejoin(now)
  }

  /** Joins a generation: a rate begins anew in it, and everything else is reported before it is used further. */
  #join(): void {
    this.#expireTimed()
    this.#sync.begin([...this.#active].filter(({ kind }) => kind === 'concurrent'))
  }

  #expireTimed(): void {
    for (const counter of this.#active) if (counter.kind !== 'total') counter.expire()
  }

  #request(among: ReadonlySet<LeaseCounter>, moment: LeaseMoment): LeaseRequest | null {
    const { identity, session, timings, journal } = this.#options
    if (moment.monotonicMs - this.#discardedMs >= DISCARD_MS) {
      this.#discardedMs = moment.monotonicMs
      journal.discardEnded(moment.monotonicMs, timings.windowMarginMs)
    }
    const { items, counters } = this.#items(among, moment)
    const isHeartbeatDue = moment.monotonicMs - this.#sentMs >= timings.heartbeatMs
    if (items.length === 0 && !isHeartbeatDue && !this.#sync.isNew) return null
    const message: LeaseRequest = {
      type: 'request',
      node: identity,
      session,
      sequence: ++this.#sequence,
      ...this.#boundsAt(moment),
      isSynced: this.#sync.isDone,
      items,
    }
    this.#sentMs = moment.monotonicMs
    this.#underWay = { message, sent: moment, counters }
    return message
  }

  #items(
    among: ReadonlySet<LeaseCounter>,
    moment: LeaseMoment,
  ): Pick<UnderWay, 'counters'> & Pick<LeaseRequest, 'items'> {
    const items: LeaseItem[] = []
    const counters: UnderWay['counters'][number][] = []
    if (!this.#sync.isDone) {
      for (const { item, counter } of this.#sync.next(ITEMS_MAX, moment)) {
        items.push(item)
        counters.push(counter === null ? null : { counter, version: counter.version })
      }
      return { items, counters }
    }
    const { returnMs, refreshMsEach } = this.#options.timings
    const refreshMs = Math.max(returnMs, this.#active.size * refreshMsEach)
    for (const counter of [...among]) {
      const item = counter.due(moment, refreshMs)
      if (item === null) {
        this.#needed.delete(counter)
        continue
      }
      items.push(item)
      counters.push({ counter, version: counter.version })
      // The next request begins with the others.
      this.#active.delete(counter)
      this.#active.add(counter)
      if (items.length === ITEMS_MAX) break
    }
    if (among === this.#active) this.#sweep.isPartial = items.length === ITEMS_MAX
    return { items, counters }
  }

  #apply({ items, isSynced }: LeaseRequest, underWay: UnderWay, reply: GrantedReply, now: NodeMoment): void {
    const granted = applyGrants(items, underWay, reply, now)
    for (const counter of granted) this.#needed.delete(counter)
    this.#sync.confirm(isSynced)
    this.waiting = reply.waiting
    openReserves(granted, this.#options.journal, now)
  }

  /** Returns the bounds of a request in the place of another node; null while this node must not send any. */
  bounds(now: NodeMoment): LeaseBounds | null {
    return this.isServing ? this.#boundsAt(this.#toLeaseMoment(now)) : null
  }

  /** Returns what was admitted in windows. No call may be admitted afterwards. */
  handOver(): HandOver {
    const { identity, session, journal } = this.#options
    // The journal also claims what was returned.
    const claimOf = ({ key, startMs, claim }: JournalEntry) => this.#counters.get(key)?.inWindow(startMs)?.used ?? claim
    return { identity, session, windows: journal.all().map((entry) => ({ ...entry, claim: claimOf(entry) })) }
  }

  #boundsAt({ earliestMs, latestMs }: LeaseMoment): LeaseBounds {
    const { toleranceMs, requestMs } = this.#options.timings
    return { epoch: this.epoch, notBeforeMs: earliestMs - toleranceMs, notAfterMs: latestMs + requestMs }
  }

  #toLeaseMoment(now: NodeMoment): LeaseMoment {
    const { clock } = this.#membership
    return { ...now, earliestMs: clock.earliestMs(now.monotonicMs), latestMs: clock.latestMs(now.monotonicMs) }
  }
}
