/** Random line items of six weeks in three months, and random queries of their summaries. */

import { GROUP_FIELDS, type LineItem, type SummaryQuery } from '../../../src/storage/store/usage-store.ts'
import type { Random } from '../../random.ts'
import { item } from './usage-items.ts'

export const DAY = 86_400_000
export const FIRST = Date.UTC(2026, 1, 20)
/** Noon of the last day: the day before it is closed. */
export const NOW = Date.UTC(2026, 3, 2, 12)

export function randomItems(random: Random, count: number): LineItem[] {
  return Array.from({ length: count }, () =>
    item({
      tenant: random.below(8) === 0 ? 'other' : 'own',
      windowStartMs: FIRST + random.below((NOW - FIRST) / 10_000) * 10_000,
      api: `api${random.below(3)}-v1`,
      consumer: `con_${random.below(12)}`,
      operation: `op${random.below(2)}`,
      subscription: `sub_${random.below(4)}`,
      agent: random.below(3) === 0 ? 'agt_1' : '',
      currency: random.below(4) === 0 ? 'USD' : 'EUR',
      priceMicro: [0, 1, 333_333, 999_999_999][random.below(4)]!,
      unitsMicro: BigInt(random.below(1_000_000)) * BigInt(random.below(1_000_000)),
      calls: random.below(1_000),
      ...(random.below(3) > 0 && { revision: 9 + random.below(3) }),
    }),
  )
}

export function randomQuery(random: Random): SummaryQuery {
  const at = (): number => FIRST - DAY + random.below((NOW - FIRST) / 1_000 + 2 * 86_400) * 1_000
  const step = [1, 10_000, 3_600_000, DAY][random.below(4)]!
  const [one, other] = [at(), at()].map((timeMs) => Math.floor(timeMs / step) * step)
  const interval = [undefined, undefined, 'minute', 'hour', 'day', 'month'][random.below(6)] as SummaryQuery['interval']
  const [fromMs, last] = [Math.min(one!, other!), Math.max(one!, other!)]
  // The API answers minutes for a day at most.
  const range = { tenant: 'own', fromMs, toMs: interval === 'minute' ? Math.min(last, fromMs + DAY) : last }
  if (random.below(5) === 0) return { ...range, groupBy: ['customer'], limit: [3, 7, 1_000][random.below(3)]! }
  return {
    ...range,
    groupBy: GROUP_FIELDS.filter((field) => random.below(field === 'revision' ? 5 : 2) === 0),
    limit: [19, 60, 1_000][random.below(3)]!,
    ...(interval !== undefined && { interval }),
    ...(random.below(4) === 0 && { api: `api${random.below(3)}-v1` }),
    ...(random.below(4) === 0 && { excludeApi: 'api0-v1' }),
    ...(random.below(4) === 0 && { customer: `con_${random.below(12)}` }),
    ...(random.below(6) === 0 && { subscription: `sub_${random.below(4)}` }),
    ...(random.below(6) === 0 && { operation: `op${random.below(2)}` }),
    ...(random.below(10) === 0 && { revision: [0, 9, 10][random.below(3)]! }),
  }
}
