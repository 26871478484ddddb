/** Call records for tests of the pipeline. */

import { ANONYMOUS, type Attribution } from '../../../src/domain/attribution.ts'
import { FLAG_FORWARDED, outcomeIndex, type CallRecord, type Outcome } from '../../../src/record/call-record.ts'
import type { Random } from '../../random.ts'

export const START_MS = Date.UTC(2026, 2, 1)

export const attribution = (changes: Partial<Attribution> = {}): Attribution => ({
  ...ANONYMOUS,
  tenant: 'acme',
  api: 'payments-v1',
  operation: 'createPayment',
  consumer: 'con_1',
  consumerName: 'Shop',
  subscription: 'sub_1',
  ...changes,
})

let sequence = 0

/** A served call of one unit, or one that was refused with `outcome`. */
export function call(
  by: Attribution,
  timeMs: number,
  outcome: Outcome = 'served',
  changes: Partial<CallRecord> = {},
): CallRecord {
  const isServed = outcome === 'served'
  return {
    attribution: by,
    timeMs,
    durationUs: 1_000,
    upstreamUs: isServed ? 500 : 0,
    admittedAgoMs: 0,
    status: isServed ? 200 : 401,
    outcome: outcomeIndex[outcome],
    flags: isServed ? FLAG_FORWARDED : 0,
    unitsMicro: isServed ? 1_000_000 : 0,
    requestBytes: 10,
    responseBytes: 10,
    sequence: sequence++ % 2 ** 32,
    ...changes,
  }
}

const OUTCOMES: readonly Outcome[] = [
  'served',
  'served',
  'served',
  'credential_invalid',
  'rate_limited',
  'payload_invalid',
]

/** Any mixture of calls of a few parties around `timeMs`. */
export function someCalls(
  random: Random,
  timeMs: number,
  count: number,
  parties: readonly Attribution[],
): CallRecord[] {
  return Array.from({ length: count }, () => {
    const outcome = OUTCOMES[random.below(OUTCOMES.length)]!
    const isServed = outcome === 'served'
    return call(parties[random.below(parties.length)]!, timeMs + random.below(3_000), outcome, {
      unitsMicro: isServed ? random.below(5) * 333_333 : 0,
    })
  })
}
