/** Line items and ranges for tests of the usage store. */

import { toDecimal } from '../../../src/foundation/domain/decimal.ts'
import type { LineItem } from '../../../src/storage/store/usage-store.ts'

export const NOON = Date.UTC(2026, 2, 31, 12)
export const HOUR = 3_600_000
export const ALL = { fromMs: 0, toMs: NOON + 100 * 24 * HOUR }
export const item = (changes: Partial<LineItem> & { tenant: string }): LineItem => ({
  windowStartMs: NOON,
  api: 'payments-v1',
  operation: 'createPayment',
  consumer: 'con_1',
  consumerName: 'Acme',
  subscription: 'sub_1',
  agent: '',
  variant: '',
  currency: 'EUR',
  priceMicro: 250_000,
  calls: 1,
  unitsMicro: 1_000_000n,
  ...changes,
})

/** Returns the sums of calls, value and amount. */
export function addUp(rows: readonly { calls: number; value: string; amount: string }[]) {
  return {
    calls: rows.reduce((sum, { calls }) => sum + calls, 0),
    value: toDecimal(
      rows.reduce((sum, { value }) => sum + whole(value, 6), 0n),
      6,
    ),
    amount: toDecimal(
      rows.reduce((sum, { amount }) => sum + whole(amount, 12), 0n),
      12,
    ),
  }
}

/** Returns the decimal as an integer number of units of 10^-`places`. */
function whole(decimal: string, places: number): bigint {
  const [integer = '', fraction = ''] = decimal.split('.')
  return BigInt(integer + fraction.padEnd(places, '0'))
}
