/**
 * Whom a call belongs to, and what it is billed by: everything about a call that many calls share.
 *
 * One object serves all calls with the same values, so that the spool can write it once per segment
 * and the pipeline can add up by a number instead of by eleven strings. Unknown is `''`, never null.
 */

export interface Attribution {
  readonly tenant: string
  readonly api: string
  /** The operationId; `''` when the call was refused before it was routed. */
  readonly operation: string
  /** The consumer's id; `''` is an anonymous caller. */
  readonly consumer: string
  readonly consumerName: string
  readonly subscription: string
  /** The id of the agent that called: itself the consumer, or the one in `act.sub`. */
  readonly agent: string
  /** The person in whose name the call was made, as the token names them; `''` where a consumer called for itself. */
  readonly person: string
  /** The OpenSLA variant whose units and price applied. */
  readonly variant: string
  /** ISO 4217 code, `''` where no price is declared. */
  readonly currency: string
  /** Price of one resource unit in millionths of the currency. */
  readonly priceMicro: number
}

export const ANONYMOUS = {
  consumer: '',
  consumerName: '',
  subscription: '',
  agent: '',
  person: '',
  variant: '',
  currency: '',
  priceMicro: 0,
} as const
