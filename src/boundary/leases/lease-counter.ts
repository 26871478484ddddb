/**
 * The lease of one counter on one node: renews it ahead of need, and returns what is idle.
 *
 * Every change of the cell runs under its lock. A lease is lowered in the cell before the grantor learns of it, and raised after, so
 * that the grantor's number is never below that of the node. A grant of a total is a reserve until the journal has been written.
 */

import type { NodeMoment } from './lease-cell.ts'
import { isScarce, LeaseDemand } from './lease-demand.ts'
import { isSameLimit, type LeaseDeclaration } from './lease-declaration.ts'
import type { JournalEntry, LeaseJournal } from './lease-journal.ts'
import type { LeaseBudget, LeaseGrant, LeaseItem } from './lease-messages.ts'
import { LeaseNeed } from './lease-need.ts'
import { PlacedLease, type LeasePlace } from './lease-place.ts'
import type { LeaseTimings } from './lease-timings.ts'
import type { LeaseMoment } from './server-clock.ts'

const REPORT_MS = 100

export class LeaseCounter {
  readonly key: string
  readonly #cell: PlacedLease
  readonly #timings: LeaseTimings
  readonly #demand: LeaseDemand
  #declaration: LeaseDeclaration
  #endMs = 0
  readonly #need = new LeaseNeed()
  /** Shortage of the latest item. */
  #missing = 0
  /** Granted, and not opened. */
  #reserve = 0
  /** Corrections by calls until the latest item was made, and until the latest confirmed one was. */
  #itemCorrected = 0
  #reportedCorrected = 0
  #free = Infinity
  #isScarce = false
  /** The grant was too small for a call that waited. */
  #isStranded = false
  /** Whether the next message must report the lease. */
  mustReport = false
  /** The declaration is new, and slots that are held were granted under the one before. */
  #isUnconfirmed = false
  #isReleased = false
  #reportedUsed = 0
  #reportedMs = 0
  /** Increases when the lease is lowered, so that the grant of an earlier request is not added to it. */
  version = 0

  constructor(key: string, declaration: LeaseDeclaration, place: LeasePlace, timings: LeaseTimings, nowMs: number) {
    this.key = key
    this.#declaration = declaration
    this.#cell = new PlacedLease(place)
    this.#timings = timings
    this.#demand = new LeaseDemand(timings, nowMs)
  }

  get kind(): LeaseDeclaration['kind'] {
    return this.#declaration.kind
  }

  /** The declared value of a total. */
  get limit(): { readonly value: number; readonly version: number } | null {
    const declared = this.#declaration
    return declared.kind === 'total' ? { value: declared.value, version: declared.version } : null
  }

  /** Calls of a total that were admitted in the window, and that were granted and are not open; null for another window. */
  inWindow(startMs: number): { readonly used: number; readonly reserve: number } | null {
    if (this.kind !== 'total' || this.#cell.get('window') !== startMs) return null
    return { used: this.#cell.used, reserve: this.#reserve }
  }

  need(calls: number, least: number, monotonicMs: number): void {
    this.#need.add(calls, least)
    this.#demand.touch(monotonicMs)
  }

  /** Whether calls that wait could be admitted now. */
  serves(calls: number, { monotonicMs }: NodeMoment): boolean {
    return this.#cell.allowed - this.#cell.used >= calls && monotonicMs < this.#cell.get('untilMs')
  }

  /** Whether less than `calls` is leased, and the grantor has not refused more. */
  mayGrantMore(calls: number, { monotonicMs }: NodeMoment): boolean {
    return this.#held > 0 && this.#held < calls && monotonicMs >= this.#cell.get('exhaustedUntilMs')
  }

  /** Since when the grantor cannot grant because it does not know all leases; null if it does. */
  get closedSinceMs(): number | null {
    return this.#cell.get('closedSinceMs') || null
  }

  /** Replaces the declaration. If its limit is another, the unused part of the lease is void, and a refusal no longer counts. */
  redeclare(declaration: LeaseDeclaration): void {
    const before = this.#declaration
    this.#declaration = declaration
    if (isSameLimit(before, declaration)) return
    this.expire()
    this.#cell.exclusively(() => this.#cell.set('exhaustedUntilMs', 0))
    this.#isUnconfirmed = this.kind === 'concurrent'
  }

  /** Returns what is not used, for good. */
  release(): void {
    this.#isReleased = true
    this.lowerTo(0)
  }

  /** Keeps at most `calls` that are not used. */
  lowerTo(calls: number): void {
    this.#cell.exclusively(() => {
      const remaining = this.#cell.allowed - this.#cell.used
      if (remaining + this.#reserve <= calls) return
      const open = Math.min(remaining, calls)
      this.#reserve = Math.max(0, calls - open)
      this.#cell.setAllowed(this.#cell.used + open)
      this.mustReport = true
    })
    this.version++
  }

  /** Ends the lease. Running calls keep their slots. */
  expire(): void {
    this.#cell.exclusively(() => this.#cell.set('untilMs', 0))
    this.lowerTo(0)
  }

  /** Begins the current window of a total, with the calls that the node may have admitted in it before. */
  roll(moment: LeaseMoment, journal: Pick<LeaseJournal, 'claimIn'>): void {
    if (this.#declaration.kind !== 'total') return
    const { startMs, endMs } = this.#declaration.windowAt(moment.earliestMs)
    if (this.#cell.get('window') === startMs && this.#endMs === endMs) return
    const used = journal.claimIn(this.key, startMs)
    this.#cell.exclusively(() => {
      this.#cell.set('used', used)
      this.#cell.set('window', startMs)
      this.#cell.setRefused(0, { isOpen: true }, moment)
      this.#cell.set('free', 0)
      this.#cell.setAllowed(used)
    })
    this.#endMs = endMs
    this.#reserve = 0
    this.#reportedCorrected = this.#cell.corrected
    this.#free = Infinity
    this.#isScarce = false
    this.#demand.restart(used + this.#cell.corrected)
    this.version++
  }

  /** Ends what has expired, and returns what is idle. Returns false if the counter needs no further attention. */
  maintain({ monotonicMs, wallMs }: NodeMoment): boolean {
    const { returnMs, keepMs } = this.#timings
    const hasExpired = monotonicMs >= this.#cell.get('untilMs') || wallMs >= this.#cell.get('untilWallMs')
    if (hasExpired && this.#held > 0) this.lowerTo(0)
    this.#demand.observe(this.#cell.used + this.#cell.corrected, monotonicMs)
    const idleMs = this.#demand.idleMs(monotonicMs)
    if (this.#held > 0) {
      const ahead = this.#ahead()
      // The parts of several nodes may together be enough for the call.
      const isUseless = this.#held < this.#need.unit && (this.#isStranded || idleMs > returnMs)
      if (isUseless || idleMs > (this.#isScarce ? returnMs : keepMs)) this.lowerTo(0)
      else if (this.#isScarce && this.#held > 2 * ahead + this.#need.most) this.lowerTo(ahead + this.#need.most)
    }
    const isBusy = this.#held > 0 || (this.kind === 'concurrent' && this.#cell.used > 0)
    return isBusy || this.mustReport || this.#isUnreported() || this.#hasCorrected || idleMs <= keepMs
  }

  /** Returns what to send now; null if there is nothing to ask for or to report. A lease is reported again after `refreshMs`. */
  due(moment: NodeMoment, refreshMs: number): LeaseItem | null {
    const item = this.item(moment)
    const isExhausted = moment.monotonicMs < this.#cell.get('exhaustedUntilMs')
    if (isExhausted && !this.mustReport && !this.#mustRenew(moment)) return null
    const mustReportUse = this.#isUnreported() && moment.monotonicMs - this.#reportedMs >= REPORT_MS
    const isDue = item.want > 0 || this.mustReport || this.#mustRenew(moment) || mustReportUse
    return isDue || this.#mustRefresh(moment, refreshMs) ? item : null
  }

  /** Returns the state of the lease, read under the lock of the cell. */
  item({ monotonicMs }: NodeMoment): LeaseItem {
    this.#itemCorrected = this.#cell.corrected
    const { allowed, used } = this.#cell.read()
    const [remaining, ahead] = [allowed - used + this.#reserve, this.#ahead()]
    const isLow =
      !this.#isReleased &&
      (this.#need.most > remaining || (remaining * 2 < ahead && this.#demand.idleMs(monotonicMs) < 1_000))
    const want = isLow ? Math.max(ahead, this.#need.most) - remaining : 0
    const least = (this.#need.most > 0 ? this.#need.least : this.#need.unit) - remaining
    this.#missing = Math.max(this.#need.most, this.#need.unit) - remaining
    return {
      key: this.key,
      budget: this.#budget(),
      ...(this.kind === 'concurrent' ? { held: Math.max(allowed, used), used: 0 } : { held: remaining, used }),
      want: Math.max(0, want),
      ...(this.kind === 'total' && this.#timings.openMs !== null && want > 0 && least > 1 ? { least } : {}),
    }
  }

  /** Notes that the grantor has executed a request with `item`. */
  confirm(item: LeaseItem, sent: NodeMoment, { monotonicMs }: NodeMoment): void {
    if (item.budget.kind === 'concurrent') this.#cell.keepSlots(sent, item.budget.callMsMax)
    this.#reportedUsed = item.used
    this.#reportedMs = monotonicMs
    this.mustReport = false
    this.#reportedCorrected = this.#itemCorrected
  }

  /** Adds a grant. `sent` is the time of the request. */
  apply(item: LeaseItem, grant: LeaseGrant, sent: LeaseMoment, now: NodeMoment): void {
    const { granted, free, isOpen } = grant
    if (isOpen) this.#isUnconfirmed = false
    if (this.#isUnconfirmed) return
    const { leaseMs, retryMs, leastAheadMs } = this.#timings
    const isTotal = item.budget.kind === 'total'
    const isRefused = item.want > 0 && granted < (item.least === undefined ? 1 : this.#missing)
    this.#cell.exclusively(() => {
      const allowed = item.used + item.held + granted
      if (isTotal) this.#reserve += Math.max(0, granted)
      // A grantor that does not know all leases cannot say that running calls, which may be too many now, keep their slots.
      else this.#cell.setAllowed(isOpen ? allowed : Math.min(this.#cell.allowed, allowed))
      this.#cell.set('untilMs', sent.monotonicMs + (isTotal ? this.#endMs - sent.latestMs : leaseMs))
      this.#cell.set('untilWallMs', isTotal ? Infinity : sent.wallMs + leaseMs)
      this.#cell.setRefused(isRefused ? now.monotonicMs + retryMs : 0, grant, now)
      this.#cell.set('free', free + this.#reserve)
    })
    const value = item.budget.kind === 'rate' ? item.budget.capacity / item.budget.step : item.budget.value
    this.#isStranded = isRefused && isTotal
    this.#free = free
    this.#isScarce = isScarce(free, value) && (leastAheadMs === null || this.#held >= 2 * free)
    if (!isTotal) this.#need.most = 0
  }

  /** How much of the reserve calls need. */
  get openable(): number {
    const { openMs } = this.#timings
    if (openMs === null || this.#reserve === 0) return this.#reserve
    const remaining = this.#cell.allowed - this.#cell.used
    const ahead = Math.max(this.#need.unit, this.#need.most, this.#demand.callsIn(openMs))
    const isLow = remaining * 2 < ahead || remaining < this.#need.most
    return isLow ? Math.min(this.#reserve, ahead - remaining) : 0
  }

  /** Returns what to write to the journal before `calls` more are opened; null for kinds that need nothing there. */
  claimWith(calls: number): JournalEntry | null {
    if (this.kind !== 'total') return null
    return { key: this.key, startMs: this.#cell.get('window'), endMs: this.#endMs, claim: this.#cell.allowed + calls }
  }

  /** Opens a part of the reserve for calls. Those that waited have been served as far as possible. */
  open(calls: number): void {
    this.#need.most = 0
    if (calls === 0) return
    this.#reserve -= calls
    this.#cell.exclusively(() => {
      this.#cell.set('free', this.#cell.get('free') - calls)
      this.#cell.setAllowed(this.#cell.allowed + calls)
    })
  }

  #budget(): LeaseBudget {
    if (this.#declaration.kind !== 'total') return this.#declaration
    const { value, version } = this.#declaration
    return { kind: 'total', version, value, startMs: this.#cell.get('window'), endMs: this.#endMs }
  }

  #ahead(): number {
    if (this.kind === 'concurrent') return Math.max(this.#isScarce ? 0 : 1, Math.ceil(this.#cell.used / 4))
    return this.#demand.callsAhead(this.#isScarce, this.#free, this.limit?.value ?? 0, this.#need.unit)
  }

  /** A lease is reported to learn whether the budget has become scarce: an idle one, or one that lasts long. */
  #mustRefresh({ monotonicMs }: NodeMoment, refreshMs: number): boolean {
    const { returnMs, leastAheadMs } = this.#timings
    const isOld = leastAheadMs !== null || this.#demand.idleMs(monotonicMs) > returnMs
    return (this.#hasCorrected || (this.#held > 0 && isOld)) && monotonicMs - this.#reportedMs >= refreshMs
  }

  /** Renews at half of the time, so that one lost request ends no lease. */
  #mustRenew({ monotonicMs }: NodeMoment): boolean {
    if (this.kind === 'total') return false
    const isUsed = this.#held > 0 || (this.kind === 'concurrent' && this.#cell.used > 0)
    return isUsed && monotonicMs > this.#cell.get('untilMs') - this.#timings.leaseMs / 2
  }

  /** A rate leaks only what was reported. */
  #isUnreported(): boolean {
    return this.kind === 'rate' && this.#cell.used !== this.#reportedUsed
  }

  get #hasCorrected(): boolean {
    return this.#cell.corrected !== this.#reportedCorrected
  }

  get #held(): number {
    return this.#cell.allowed - this.#cell.used + this.#reserve
  }
}
