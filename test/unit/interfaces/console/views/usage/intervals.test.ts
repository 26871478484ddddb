import { describe, expect, it } from 'vitest'
import { bucketsOf, intervalOf, startOf } from '../../../../../../src/interfaces/console/views/usage/intervals.ts'

const rangeOf = (from: string, to: string) => ({ from: new Date(from).toISOString(), to: new Date(to).toISOString() })

describe('the intervals of a time', () => {
  it.each([
    ['2026-11-20', '2026-11-23', 'hour', 72],
    ['2026-11-20', '2026-11-24', 'day', 4],
    ['2026-01-01', '2026-05-01', 'day', 120],
    ['2026-01-01', '2026-05-02', 'month', 5],
  ] as const)('from %s to %s are of one %s: %i', (from, to, interval, count) => {
    const range = rangeOf(from, to)
    expect(intervalOf(range)).toBe(interval)
    expect(bucketsOf(range, interval)).toHaveLength(count)
  })

  it('begin where the API begins them, in UTC, and the last ones of a long time are shown', () => {
    expect(startOf(Date.parse('2026-11-23T13:59:59.999Z'), 'hour')).toBe(Date.parse('2026-11-23T13:00:00Z'))
    expect(startOf(Date.parse('2026-11-23T13:59:59Z'), 'month')).toBe(Date.parse('2026-11-01T00:00:00Z'))
    const all = bucketsOf(rangeOf('-000100-01-01', '2026-11-23'), 'month')
    expect(all).toHaveLength(500)
    expect(all.at(-1)).toBe(Date.parse('2026-11-01T00:00:00Z'))
    expect(bucketsOf(rangeOf('2026-11-23', '2026-11-22'), 'day')).toEqual([])
  })
})
