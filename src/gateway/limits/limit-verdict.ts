/** The result of one limit decision: one object per thread, overwritten by each decision. */

/** Position of the limit that refused, or one of these. */
export const ADMITTED = -1
export const QUOTA = -2

export interface Verdict {
  /** `ADMITTED`, `QUOTA`, or the position of the limit that refused; of several that with the longest wait. */
  refusedBy: number
  /** When the refusing limit opens again; 0 where it does so when a call ends. */
  retryAfterMs: number
  /** A limit passed its alert threshold with this call: said before the first refusal, or with it. */
  approaching: boolean
  /** The tightest limit that applied, or -1: position, what is left of it in calls, and when it is whole again. */
  tightest: number
  remaining: number
  resetMs: number
  /** Quota: used after this call. */
  quotaUsedMicro: number
  /** Start of the period in which units were taken, for `giveBack`. */
  quotaStartMs: number
  /** The gauge that counts this call, or 0, for `release`. */
  gauge: number
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
  }
}

/** Nothing of the call before, which may have been another party's, is left to read. */
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
}
