/** Generates line items of one tenant inside the store: 20 APIs, 10,000 consumers, 30 days. */

import type { ClickHouse } from '../src/storage/store/clickhouse/client.ts'

export const DAY = 86_400_000
export const DAYS = 30
export const FIRST = Date.UTC(2026, 9, 5)
export const APIS = 20
export const CONSUMERS = 10_000

export function consumerOf(index: number): string {
  return `con_${String(index).padStart(16, '0')}`
}

const COLUMNS = `window_start, tenant, api, operation, consumer, consumer_name, subscription, agent, variant, currency, price, calls,
  units, amount, channel`

/** Of 100 cells of an hour, an API and a consumer, 66 have a line item, and a few a second one. */
export async function generateUsage(
  client: ClickHouse,
  { tenant, items, days = DAYS }: { readonly tenant: string; readonly items: number; readonly days?: number },
): Promise<void> {
  const cells = APIS * CONSUMERS * 24
  const share = items / days / cells
  if (share > 1.05) throw new Error('at most 151 million line items')
  for (let day = 0; day < days; day++) {
    const select = (where: string): string => `
      SELECT toDateTime(${FIRST / 1_000 + day * 86_400} + intDiv(number, ${APIS * CONSUMERS}) * 3600 + hash % 360 * 10, 'UTC'),
        '${tenant}', concat('api-', toString(number % ${APIS}), '-v1'), concat('operation', toString(number % ${APIS} % 3)),
        concat('con_', leftPad(toString(intDiv(number, ${APIS}) % ${CONSUMERS}), 16, '0')), 'A consumer',
        concat('sub_', leftPad(toString(number % ${APIS * CONSUMERS}), 16, '0')), '', '', 'EUR',
        toDecimal64('0.002500', 6), 1 + hash % 7 AS calls, toDecimal128(calls, 6) * 3 AS units,
        toDecimal128(units, 6) * toDecimal128('0.002500', 6), 'http'
      FROM (SELECT number, cityHash64(number, ${day}) AS hash FROM numbers(${cells})) WHERE ${where}`
    const seldom = 'hash % 10000 < 526'
    const often = `intDiv(hash, 10000) % 10000 < ${Math.round(share * 10_000 * 0.95)}`
    await client.command({
      query: `INSERT INTO line_items (${COLUMNS}) ${select(often)} UNION ALL ${select(`${often} AND ${seldom}`)}`,
    })
  }
}
