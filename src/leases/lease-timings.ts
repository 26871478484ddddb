/** Times of the lease protocol. The grantor and all nodes must use the same ones: the keys of the grantor carry their version. */

export interface LeaseTimings {
  /** A lease of a rate or of slots ends this long after the request that renewed it was sent. */
  readonly leaseMs: number
  /** The grantor treats a lease as ended this much later than its node, for differences between their clocks. */
  readonly marginMs: number
  /** A reply that takes longer is worth nothing, and the grantor refuses a request that arrives later. */
  readonly requestMs: number
  /** Smaller steps of a clock are tolerated; a larger one begins a new generation. */
  readonly toleranceMs: number
  /** A node that no other node could confirm the grantor's clock to within this time opens a new generation. */
  readonly vouchMs: number
  /** Largest time between two requests of an idle node. */
  readonly heartbeatMs: number
  /** A node asks for the demand of this time in advance. */
  readonly aheadMs: number
  /** An idle lease is returned after this time once the budget is scarce. */
  readonly returnMs: number
  /** An idle lease is returned after this time in any case. */
  readonly keepMs: number
  /** Windows that begin within this time after a generation did may have been granted from before. */
  readonly windowMarginMs: number
}

export const LEASE_TIMINGS: LeaseTimings = {
  leaseMs: 10_000,
  marginMs: 1_000,
  requestMs: 250,
  toleranceMs: 250,
  vouchMs: 2_000,
  heartbeatMs: 500,
  aheadMs: 500,
  returnMs: 1_000,
  keepMs: 60_000,
  windowMarginMs: 10_000,
}
