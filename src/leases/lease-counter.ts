/**
 * The lease of one counter on one node: renews it ahead of need, and returns what is idle.
 *
 * Every change of the cell runs under its lock. A lease is lowered in the cell before the grantor learns of it, and raised after, so
 * that the grantor's number is never below that of the node.
 */

import { isScarce, LeaseDemand } from './lease-demand.ts'
import { LEASE_CELL as SLOT, type Moment } from './lease-cell.ts'
import type { JournalEntry, LeaseJournal } from './lease-journal.ts'
import type { ConcurrentBudget, LeaseBudget, LeaseGrant, LeaseItem, RateBudget } from './lease-messages.ts'
import type { LeaseTimings } from './lease-timings.ts'

/** A declared total, whose window depends on the time of the grantor. */
export interface TotalDeclaration {
  readonly kind: 'total'
  readonly version: number
  readonly value: number
  windowAt(serverMs: number): { readonly startMs: number; readonly endMs: number }
}

export type LeaseDeclaration = TotalDeclaration | RateBudget | ConcurrentBudget

export interface LeasePlace {
  readonly cell: Float64Array
  /** First double of the lease. */
  readonly at: number
  /** Runs `task` under the lock of the cell; throws if the lock cannot be acquired. */
  exclusively(task: () => void): void
}

/** The time of a node, and the bounds of the grantor's clock at that time. */
export interface LeaseMoment extends Moment {
  readonly earliestMs: number
  readonly latestMs: number
}

const RETRY_MS = 100
const REPORT_MS = 100

export class LeaseCounter {
  readonly key: string
  readonly #place: LeasePlace
  readonly #timings: LeaseTimings
  readonly #demand: LeaseDemand
  #declaration: LeaseDeclaration
  #endMs = 0
  #needed = 0
  #isScarce = false
  #mustReport = false
  /** The declaration is new, and slots that are held were granted under the one before. */
  #isUnconfirmed = false
  #isReleased = false
  #reportedUsed = 0
  #reportedMs = 0
  /** Increases when the lease is lowered, so that the grant of an earlier request is not added to it. */
  version = 0

  constructor(
    key: string,
    declaration: LeaseDeclaration,
    place: LeasePlace,
    timings: LeaseTimings,
    monotonicMs: number,
  ) {
    this.key = key
    this.#declaration = declaration
    this.#place = place
    this.#timings = timings
    this.#demand = new LeaseDemand(monotonicMs)
  }

  get kind(): LeaseDeclaration['kind'] {
    return this.#declaration.kind
  }

  /** The declared value of a total. */
  get limit(): { readonly value: number; readonly version: number } | null {
    if (this.#declaration.kind !== 'total') return null
    const { value, version } = this.#declaration
    return { value, version }
  }

  need(calls: number, monotonicMs: number): void {
    this.#needed = Math.max(this.#needed, calls)
    this.#demand.touch(monotonicMs)
  }

  /** Whether less than `calls` is leased, and the grantor has not refused more. */
  mayGrantMore(calls: number, { monotonicMs }: Moment): boolean {
    return this.#held > 0 && this.#held < calls && monotonicMs >= this.#get('exhaustedUntilMs')
  }

  /** Replaces the declaration. All that was leased and not used under the one before is void when this returns. */
  redeclare(declaration: LeaseDeclaration): void {
    if (this.kind === 'total') this.lowerTo(0)
    else this.expire()
    this.#isUnconfirmed = this.kind === 'concurrent'
    this.#declaration = declaration
  }

  /** Returns what is not used, for good. */
  release(): void {
    this.#isReleased = true
    this.lowerTo(0)
  }

  /** Keeps at most `calls` that are not used. */
  lowerTo(calls: number): void {
    this.#place.exclusively(() => {
      const allowed = this.#used + calls
      if (this.#allowed <= allowed) return
      this.#set('allowed', allowed)
      this.#mustReport = true
    })
    this.version++
  }

  /** Ends the lease of a rate or of slots. Running calls keep their slots. */
  expire(): void {
    this.#place.exclusively(() => this.#set('untilMs', 0))
    this.lowerTo(0)
  }

  /** Begins the current window of a total, with the calls that the node may have admitted in it before. */
  roll(moment: LeaseMoment, journal: LeaseJournal): void {
    if (this.#declaration.kind !== 'total') return
    const { startMs, endMs } = this.#declaration.windowAt(moment.earliestMs)
    if (this.#get('window') === startMs && this.#endMs === endMs) return
    const used = journal.claimIn(this.key, startMs)
    this.#place.exclusively(() => {
      this.#set('allowed', used)
      this.#set('used', used)
      this.#set('window', startMs)
      this.#set('exhaustedUntilMs', 0)
      this.#set('free', 0)
    })
    this.#endMs = endMs
    this.#isScarce = false
    this.#demand.restart(used)
    this.version++
  }

  /** Ends what has expired, and returns what is idle. Returns false if the counter needs no further attention. */
  maintain({ monotonicMs, wallMs }: Moment): boolean {
    const { returnMs, keepMs } = this.#timings
    const hasExpired = monotonicMs >= this.#get('untilMs') || wallMs >= this.#get('untilWallMs')
    if (hasExpired && this.#held > 0) this.lowerTo(0)
    this.#demand.observe(this.#used, monotonicMs)
    const idleMs = this.#demand.idleMs(monotonicMs)
    if (this.#held > 0) {
      const ahead = this.#ahead()
      if (idleMs > (this.#isScarce ? returnMs : keepMs)) this.lowerTo(0)
      else if (this.#isScarce && this.#held > 2 * ahead + this.#needed) this.lowerTo(ahead + this.#needed)
    }
    const isBusy = this.#held > 0 || (this.kind === 'concurrent' && this.#used > 0)
    return isBusy || this.#mustReport || this.#isUnreported() || idleMs <= keepMs
  }

  /** Returns what to send now; null if there is nothing to ask for or to report. */
  due(moment: Moment): LeaseItem | null {
    const item = this.item(moment)
    const isExhausted = moment.monotonicMs < this.#get('exhaustedUntilMs')
    if (isExhausted && !this.#mustReport && !this.#mustRenew(moment)) return null
    const isDue = item.want > 0 || this.#mustReport || this.#mustRenew(moment) || this.#mustReportUse(moment)
    return isDue || this.#mustRefresh(moment) ? item : null
  }

  /** Returns the state of the lease, read under the lock of the cell. */
  item({ monotonicMs }: Moment): LeaseItem {
    let allowed = 0
    let used = 0
    this.#place.exclusively(() => {
      allowed = this.#allowed
      used = this.#used
    })
    const remaining = allowed - used
    const ahead = this.#ahead()
    const isLow =
      !this.#isReleased &&
      (this.#needed > remaining || (remaining * 2 < ahead && this.#demand.idleMs(monotonicMs) < 1_000))
    const want = isLow ? Math.max(ahead, this.#needed) - remaining : 0
    const isConcurrent = this.kind === 'concurrent'
    return {
      key: this.key,
      budget: this.#budget(),
      held: isConcurrent ? Math.max(allowed, used) : remaining,
      used: isConcurrent ? 0 : used,
      want: Math.max(0, want),
    }
  }

  /** Notes that the grantor has executed a request with `item`. */
  confirm(item: LeaseItem, { monotonicMs }: Moment): void {
    this.#reportedUsed = item.used
    this.#reportedMs = monotonicMs
    this.#mustReport = false
  }

  /** Returns the claim to write to the journal before `apply`; null for kinds that need none, and for a window that has ended. */
  claimOf({ budget, held, used }: LeaseItem, { granted }: LeaseGrant): JournalEntry | null {
    if (budget.kind !== 'total') return null
    return { key: this.key, startMs: budget.startMs, endMs: budget.endMs, claim: used + held + Math.max(0, granted) }
  }

  /** Adds a grant. `sent` is the time of the request. */
  apply(item: LeaseItem, { granted, free, isOpen }: LeaseGrant, sent: LeaseMoment, now: Moment): void {
    if (isOpen) this.#isUnconfirmed = false
    if (this.#isUnconfirmed) return
    const { leaseMs } = this.#timings
    const isTotal = item.budget.kind === 'total'
    this.#place.exclusively(() => {
      const allowed = item.used + item.held + granted
      // A grantor that does not know all leases cannot say that running calls, which may be too many now, keep their slots.
      this.#set('allowed', isOpen ? allowed : Math.min(this.#allowed, allowed))
      this.#set('untilMs', sent.monotonicMs + (isTotal ? this.#endMs - sent.latestMs : leaseMs))
      this.#set('untilWallMs', isTotal ? Infinity : sent.wallMs + leaseMs)
      this.#set('exhaustedUntilMs', item.want > 0 && granted <= 0 ? now.monotonicMs + RETRY_MS : 0)
      this.#set('free', free)
    })
    const value = item.budget.kind === 'rate' ? item.budget.capacity / item.budget.step : item.budget.value
    this.#isScarce = isScarce(free, value)
    this.#needed = 0
  }

  #budget(): LeaseBudget {
    if (this.#declaration.kind !== 'total') return this.#declaration
    const { value, version } = this.#declaration
    return { kind: 'total', version, value, startMs: this.#get('window'), endMs: this.#endMs }
  }

  #ahead(): number {
    const calls = this.#demand.callsAhead(this.#isScarce, this.#timings)
    return this.kind === 'concurrent' ? Math.max(this.#isScarce ? 0 : 1, Math.ceil(this.#used / 4)) : calls
  }

  /** An idle lease is reported to learn whether the budget has become scarce. */
  #mustRefresh({ monotonicMs }: Moment): boolean {
    const { returnMs } = this.#timings
    const isIdle = this.#held > 0 && this.#demand.idleMs(monotonicMs) > returnMs
    return isIdle && monotonicMs - this.#reportedMs >= returnMs
  }

  /** Renews at half of the time, so that one lost request ends no lease. */
  #mustRenew({ monotonicMs }: Moment): boolean {
    if (this.kind === 'total') return false
    const isUsed = this.#held > 0 || (this.kind === 'concurrent' && this.#used > 0)
    return isUsed && monotonicMs > this.#get('untilMs') - this.#timings.leaseMs / 2
  }

  #mustReportUse({ monotonicMs }: Moment): boolean {
    return this.#isUnreported() && monotonicMs - this.#reportedMs >= REPORT_MS
  }

  /** A rate leaks only what was reported. */
  #isUnreported(): boolean {
    return this.kind === 'rate' && this.#used !== this.#reportedUsed
  }

  get #used(): number {
    return this.#get('used')
  }

  get #allowed(): number {
    return this.#get('allowed')
  }

  get #held(): number {
    return this.#allowed - this.#used
  }

  #get(slot: keyof typeof SLOT): number {
    return this.#place.cell[this.#place.at + SLOT[slot]]!
  }

  #set(slot: keyof typeof SLOT, value: number): void {
    this.#place.cell[this.#place.at + SLOT[slot]] = value
  }
}
