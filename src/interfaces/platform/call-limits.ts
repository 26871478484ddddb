/** Port through which the guard applies limits and resource units to platform calls. */

import type { Caller } from '../../boundary/plan/caller.ts'
import type { LimitState } from '../../foundation/domain/explanation.ts'

export interface CallLimits {
  /**
   * Takes a call's share of the limits and units of its subscription, or returns the refusal. A call that has to wait is admitted anew,
   * with what its wait resolved with, and after its credential was checked again.
   */
  admit(caller: Caller, operationId: string, attempt?: Attempt): AdmittedCall | RefusedCall | WaitingCall
}

/** The node holds no lease of a limit that nodes share. */
export interface WaitingCall {
  readonly wait: Promise<Attempt>
}

export interface Attempt {
  /** How often the call has waited. */
  readonly waits: number
  /** Whether the leases could be asked for. */
  readonly isReached: boolean
}

export interface AdmittedCall {
  /** Name, value, … of `RateLimit-Policy`, `RateLimit` and `X-RU-*`. */
  readonly headers: readonly string[]
  readonly terms: CallTerms
  /** Returns the units of a call that was not served. Idempotent. */
  giveBack(): void
  /** Ends the call, which then no longer counts as concurrent. Idempotent. */
  end(): void
  /** Calls `close` if the call runs so long that other nodes may be granted its slot. */
  onSlotLost(close: () => void): void
}

/** Limit and price data in the record of an admitted call. */
export interface CallTerms {
  readonly admittedMs: number
  readonly unitsMicro: number
  /** The declaration counts the call; false for one that repairs a declaration that refuses it. */
  readonly isCounted: boolean
  readonly isApproaching: boolean
  readonly variant: string
  readonly currency: string
  readonly priceMicro: number
}

export interface RefusedCall {
  readonly code: 'rate_limited' | 'quota_exhausted' | 'limits_unavailable'
  readonly detail: string
  readonly headers: readonly string[]
  readonly extensions: Readonly<Record<string, unknown>>
  /** The limit that refused the call, with its state at that moment; none if it cannot be counted. */
  readonly limit?: LimitState
}

/** Calls `set` with each name and value of `headers`. */
export function eachHeader(headers: readonly string[], set: (name: string, value: string) => unknown): void {
  for (let index = 0; index < headers.length; index += 2) set(headers[index]!, headers[index + 1]!)
}
