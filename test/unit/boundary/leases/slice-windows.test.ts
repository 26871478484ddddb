import { describe, expect, it } from 'vitest'
import { calendarTotal, isSlice } from '../../../../src/boundary/leases/slice-windows.ts'

describe('The windows of slices', () => {
  it.each([
    ['day', '2028-02-29T23:59:59.999Z', '2028-02-29', '2028-03-01'],
    ['week', '2026-11-22T23:59:59.999Z', '2026-11-16', '2026-11-23'],
    ['month', '2028-02-29T23:59:59.999Z', '2028-02-01', '2028-03-01'],
    ['month', '2026-12-31T12:00:00.000Z', '2026-12-01', '2027-01-01'],
    ['quarter', '2026-11-23T00:00:00.000Z', '2026-10-01', '2027-01-01'],
    ['year', '2028-12-31T23:59:59.999Z', '2028-01-01', '2029-01-01'],
  ] as const)('of a %s at %s are from %s to %s', (unit, at, start, end) => {
    const window = calendarTotal(unit, 1, 1).windowAt(Date.parse(at))
    expect(window).toEqual({ startMs: Date.parse(start), endMs: Date.parse(end) })
  })

  it('do not overlap, and leave no gap', () => {
    const { windowAt } = calendarTotal('month', 1, 1)
    let { endMs } = windowAt(Date.UTC(2026, 0, 1))
    for (let month = 0; month < 60; month++) {
      const next = windowAt(endMs)
      expect(windowAt(endMs - 1).endMs).toBe(endMs)
      expect(next.startMs).toBe(endMs)
      endMs = next.endMs
    }
    expect(endMs).toBe(Date.UTC(2031, 1, 1))
  })

  it('are those of totals longer than an hour', () => {
    expect((['minute', 'hour', 'period', 'day', 'week', 'month'] as const).map(isSlice)).toEqual([
      false,
      false,
      true,
      true,
      true,
      true,
    ])
  })
})
