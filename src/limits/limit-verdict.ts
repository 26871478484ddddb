/** The result of one limit decision: one object per thread, overwritten by each decision. */

/** Position of the limit that refused, or one of these. */
export const ADMITTED = -1
export const QUOTA = -2
/** The node holds no lease for the call: it may be decided again after the leases were asked for. */
export const LACKING = -3
/** As `LACKING`, but asking may be in vain: the grantor does not know all leases yet. */
export const CLOSED = -4

/** A lease, and the calls or units that a call lacks of it. */
export type Lacking = readonly [id: number, amount: number]

export interface Verdict {
  /** `ADMITTED`, `QUOTA`, `LACKING`, `CLOSED`, or the position of the limit that refused; if several refused, the one with the longest wait. */
  refusedBy: number
  /** Time until the refusing limit admits a call; 0 if the end of a running call reopens it. */
  retryAfterMs: number
  /** Whether this call passed the alert threshold of a limit. Set before the first refusal, or with it. */
  approaching: boolean
  /** Position of the tightest limit that applied, or -1; then its remaining calls, and the time until it is fully available. */
  tightest: number
  remaining: number
  resetMs: number
  /** Used quota after this call. */
  quotaUsedMicro: number
  /** Start of the period in which units were charged, for `giveBack`. */
  quotaStartMs: number
  /** The gauge that counts this call, or 0, for `release`. */
  gauge: number
  /** Start of the period of the lease in which units were charged, for `giveBack`; 0 if they were charged on this node alone. */
  leaseStartMs: number
  /** The leases that the call lacks, if `refusedBy` is `LACKING` or `CLOSED`. */
  readonly lacking: Lacking[]
  /** Whether a grantor that does not know all leases yet would have to grant one of them, and for how long at the latest; 0: it knows soon. */
  isClosed: boolean
  closedForMs: number
}

export function createVerdict(): Verdict {
  return {
    refusedBy: ADMITTED,
    retryAfterMs: 0,
    approaching: false,
    tightest: -1,
    remaining: 0,
    resetMs: 0,
    quotaUsedMicro: 0,
    quotaStartMs: 0,
    gauge: 0,
    leaseStartMs: 0,
    lacking: [],
    isClosed: false,
    closedForMs: 0,
  }
}

/** Clears every field, so that no data of the previous call, which may be another party's, remains. */
export function clearVerdict(verdict: Verdict): void {
  verdict.refusedBy = ADMITTED
  verdict.retryAfterMs = 0
  verdict.approaching = false
  verdict.tightest = -1
  verdict.remaining = 0
  verdict.resetMs = 0
  verdict.quotaUsedMicro = 0
  verdict.quotaStartMs = 0
  verdict.gauge = 0
  verdict.leaseStartMs = 0
  verdict.isClosed = false
  verdict.closedForMs = 0
  if (verdict.lacking.length > 0) verdict.lacking.length = 0
}

/** Notes that a lease is lacking because the grantor may not know all leases yet. */
export function noteClosed(verdict: Verdict, forMs: number): void {
  verdict.isClosed = true
  verdict.closedForMs = Math.max(verdict.closedForMs, forMs)
}
