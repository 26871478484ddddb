/**
 * Attribution of a call: the parties and the terms of its billing, which many calls share.
 *
 * All calls with the same values share one object, so that the spool writes it once per segment and the pipeline sums by one
 * number instead of by eleven strings. An unknown value is `''`, never null.
 */

export interface Attribution {
  readonly tenant: string
  readonly api: string
  /** The operationId; `''` if the call was refused before it was routed. */
  readonly operation: string
  /** The consumer's id; `''` is an anonymous caller. */
  readonly consumer: string
  readonly consumerName: string
  readonly subscription: string
  /** The id of the agent that called: itself the consumer, or the one in `act.sub`. */
  readonly agent: string
  /** The person on whose behalf the call was made, as named in the token; `''` if a consumer called for itself. */
  readonly person: string
  /** The OpenSLA variant whose units and price applied. */
  readonly variant: string
  /** ISO 4217 code, `''` if no price is declared. */
  readonly currency: string
  /** Price of one resource unit in millionths of the currency. */
  readonly priceMicro: number
  /** Method and path template of the operation, `GET /payments/{paymentId}`; missing while no telemetry is exported. */
  readonly route?: string
  /** Set if the call was a tool call over MCP; missing for a plain HTTP call. */
  readonly channel?: 'mcp'
  /** The revision of the API that the call was for; missing in records of earlier versions and of the platform API. */
  readonly revision?: number
}

export type Channel = 'http' | 'mcp'

/** Stands for the revision of a call whose record names none. */
export const UNKNOWN_REVISION = 0

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
