import { describe, expect, it } from 'vitest'
import {
  planSources,
  type PricedUsage,
  type RolledUsage,
  type SummaryRange,
} from '../../../../../src/storage/store/clickhouse/summary-plan.ts'
import { createRandom } from '../../../../random.ts'

type Rolled = RolledUsage & PricedUsage

const NOTHING: Rolled = { isDayRolled: () => false, isMonthRolled: () => false, isDayPriced: () => false }
const ALL: Rolled = { isDayRolled: () => true, isMonthRolled: () => true, isDayPriced: () => true }
const at = (text: string): number => Date.parse(`${text}Z`)

function plan(from: string, to: string, options: Partial<SummaryRange> = {}, rolled = ALL): string[] {
  const range = { fromMs: at(from), toMs: at(to), isByConsumer: true, ...options }
  return planSources(range, rolled).flatMap(({ table, spans }) =>
    spans.map(({ fromS, toS }) => `${table} ${show(fromS)} ${show(toS)}`),
  )
}

function show(second: number): string {
  return new Date(second * 1_000).toISOString().slice(5, 19)
}

describe('the sources of a summary', () => {
  it('are the line items for parts of hours, and larger totals in between', () => {
    expect(plan('2026-01-30T22:59:50', '2026-04-02T01:00:10')).toEqual([
      'line_items 01-30T22:59:50 01-30T23:00:00',
      'line_items 04-02T01:00:00 04-02T01:00:10',
      'line_items_hourly 01-30T23:00:00 01-31T00:00:00',
      'line_items_hourly 04-02T00:00:00 04-02T01:00:00',
      'usage_daily 01-31T00:00:00 02-01T00:00:00',
      'usage_daily 04-01T00:00:00 04-02T00:00:00',
      'usage_monthly 02-01T00:00:00 04-01T00:00:00',
    ])
  })

  it('are the line items alone within an hour', () => {
    expect(plan('2026-01-30T22:10:00', '2026-01-30T22:50:00')).toEqual(['line_items 01-30T22:10:00 01-30T22:50:00'])
    expect(plan('2026-01-30T22:10:00', '2026-01-30T23:00:10')).toEqual(['line_items 01-30T22:10:00 01-30T23:00:10'])
    expect(plan('2026-01-30T22:10:00', '2026-01-30T22:10:00')).toEqual([])
  })

  it('are the line items alone for a summary by revision, which no total has', () => {
    const options = { isByRevision: true }
    expect(plan('2026-01-30T22:59:50', '2026-04-02T01:00:10', options)).toEqual([
      'line_items 01-30T22:59:50 04-02T01:00:10',
    ])
    expect(plan('2026-01-30T22:10:00', '2026-01-30T22:10:00', options)).toEqual([])
  })

  it('leave out what is not rolled up', () => {
    const rolled = { ...NOTHING, isDayRolled: (dayS: number) => show(dayS) !== '03-02T00:00:00' }
    expect(plan('2026-03-01T00:00:00', '2026-03-05T00:00:00', {}, rolled)).toEqual([
      'line_items_hourly 03-02T00:00:00 03-03T00:00:00',
      'usage_daily 03-01T00:00:00 03-02T00:00:00',
      'usage_daily 03-03T00:00:00 03-05T00:00:00',
    ])
  })

  it('are in the order of consumers if the query prefers that, as far as days are rolled up by price', () => {
    const rolled = { ...ALL, isDayPriced: (dayS: number) => show(dayS) >= '04-01T00:00:00' }
    const range = ['2026-02-01T00:00:00', '2026-04-02T01:00:00'] as const
    expect(plan(...range, { isByPrice: true }, rolled)).toEqual([
      'line_items_hourly 04-02T00:00:00 04-02T01:00:00',
      'usage_daily_by_price 04-01T00:00:00 04-02T00:00:00',
      'usage_monthly 02-01T00:00:00 04-01T00:00:00',
    ])
    expect(plan(...range, { isByPrice: true, interval: 'hour' }, rolled)).toEqual([
      'line_items_hourly 02-01T00:00:00 04-02T01:00:00',
    ])
  })

  it('are totals without consumers if the query names none', () => {
    expect(plan('2026-03-01T05:00:00', '2026-04-01T00:00:00', { isByConsumer: false })).toEqual([
      'usage_hourly_by_api 03-01T05:00:00 04-01T00:00:00',
    ])
  })

  it('are no larger than the interval', () => {
    const [from, to] = ['2026-03-01T00:00:00', '2026-04-01T00:00:00'] as const
    expect(plan(from, to, { interval: 'hour' })).toEqual(['line_items_hourly 03-01T00:00:00 04-01T00:00:00'])
    expect(plan(from, to, { interval: 'day' })).toEqual(['usage_daily 03-01T00:00:00 04-01T00:00:00'])
    expect(plan(from, to, { interval: 'month' })).toEqual(['usage_monthly 03-01T00:00:00 04-01T00:00:00'])
  })

  it('cover each second of any range once', () => {
    const random = createRandom(5)
    for (let round = 0; round < 300; round++) {
      const fromMs = Date.UTC(2026, 0, 1) + random.below(90 * 86_400) * 1_000
      const toMs = fromMs + random.below(70 * 86_400) * 1_000
      const rolled: Rolled = {
        isDayRolled: (dayS) => (dayS / 86_400) % 3 !== 0,
        isMonthRolled: () => random.below(2) === 0,
        isDayPriced: () => random.below(2) === 0,
      }
      const sources = planSources(
        { fromMs, toMs, isByConsumer: random.below(2) === 0, isByPrice: random.below(2) === 0 },
        random.below(3) === 0 ? NOTHING : rolled,
      )
      const spans = sources.flatMap((source) => source.spans).toSorted((a, b) => a.fromS - b.fromS)
      let end = fromMs / 1_000
      for (const { fromS, toS } of spans) {
        expect([fromS, toS > fromS]).toEqual([end, true])
        end = toS
      }
      expect(end).toBe(toMs / 1_000)
    }
  })
})
