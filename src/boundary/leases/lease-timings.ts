/** Times of the lease protocol. The grantor and all nodes must use the same ones: the keys of the grantor carry their version. */

export interface LeaseTimings {
  /** A lease of a rate or of slots ends this long after the request that renewed it was sent. */
  readonly leaseMs: number
  /** The grantor treats a lease as ended this much later than its node, for differences between their clocks. */
  readonly marginMs: number
  /** The grantor refuses a request that arrives later, and an exchange that takes longer measures no clock. */
  readonly requestMs: number
  /** A node waits this long for a reply: longer than `requestMs`, because its event loop may be late, and not the grantor. */
  readonly replyMs: number
  /** Smaller steps of a clock are tolerated; a larger one begins a new generation. */
  readonly toleranceMs: number
  /**
   * A node that no other node could confirm the grantor's clock to within this time opens a new generation. Null if only totals are
   * granted: a clock that was set changes nothing in them, so that none is needed.
   */
  readonly vouchMs: number | null
  /** Largest time between two requests of an idle node. */
  readonly heartbeatMs: number
  /** A node asks for the demand of this time in advance. */
  readonly aheadMs: number
  /**
   * A node holds at most what is free, but always the demand of this time, so that leases shrink as the budget ends. Null: it holds the
   * demand of `aheadMs` in any case.
   */
  readonly leastAheadMs: number | null
  /**
   * An active node holds as many calls as this in advance, but not more than this share of the budget, before it knows its demand and as
   * long as the budget is not scarce. Null: one.
   */
  readonly leastAhead: { readonly calls: number; readonly shareMax: number } | null
  /** Time in which the estimate of the demand follows a change. */
  readonly memoryMs: number
  /**
   * A node opens this much of its demand at a time for calls, after a line in its journal, so that a crash loses no more. Null: all that
   * it holds.
   */
  readonly openMs: number | null
  /** While nothing is free, a node asks once in this time. */
  readonly retryMs: number
  /** An idle lease is returned after this time once the budget is scarce. */
  readonly returnMs: number
  /** An idle lease is returned after this time in any case. A version of a declaration is dropped if no request carries it for as long. */
  readonly keepMs: number
  /** A lease is reported again after `returnMs`, or after this time for each active counter if that is longer. */
  readonly refreshMsEach: number
  /**
   * Windows that begin within this time after a generation did may have been granted from before. For slices, nodes that the list
   * lacks have this time to report.
   */
  readonly windowMarginMs: number
  /**
   * A new generation does not wait for a node that was silent for so long in the one before, because whatever it held has ended. More
   * than the longest window and the longest call, by as much as clocks may be set back. Null: windows are too long for that.
   */
  readonly silentMs: number | null
}

export const LEASE_TIMINGS: LeaseTimings = {
  leaseMs: 10_000,
  marginMs: 1_000,
  requestMs: 250,
  replyMs: 1_000,
  toleranceMs: 250,
  vouchMs: 2_000,
  heartbeatMs: 500,
  aheadMs: 500,
  leastAheadMs: null,
  leastAhead: null,
  memoryMs: 1_000,
  openMs: null,
  retryMs: 100,
  returnMs: 1_000,
  keepMs: 60_000,
  refreshMsEach: 0,
  windowMarginMs: 10_000,
  silentMs: 7_200_000,
}

/**
 * For totals of a day or longer and quotas, which PostgreSQL grants. A node asks again when it holds half of what it needs, so that it
 * always holds the demand of more than 5 minutes, also while its estimate lags behind.
 */
export const SLICE_TIMINGS: LeaseTimings = {
  leaseMs: 10_000,
  marginMs: 1_000,
  requestMs: 1_000,
  replyMs: 2_000,
  toleranceMs: 250,
  vouchMs: null,
  heartbeatMs: 5_000,
  aheadMs: 900_000,
  leastAheadMs: 500,
  leastAhead: { calls: 100, shareMax: 0.001 },
  memoryMs: 60_000,
  openMs: 2_000,
  retryMs: 500,
  returnMs: 1_000,
  keepMs: 900_000,
  refreshMsEach: 5,
  windowMarginMs: 10_000,
  silentMs: null,
}
