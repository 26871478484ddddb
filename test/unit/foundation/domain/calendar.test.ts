import { describe, expect, it } from 'vitest'
import { createCalendar, endOf, startOf, type CalendarUnit } from '../../../../src/foundation/domain/calendar.ts'

const WINDOWS: readonly (readonly [CalendarUnit, string, string])[] = [
  ['minute', '2026-03-04T10:15', '2026-03-04T10:16'],
  ['hour', '2026-03-04T10:00', '2026-03-04T11:00'],
  ['day', '2028-02-29T00:00', '2028-03-01T00:00'],
  ['week', '2026-03-02T00:00', '2026-03-09T00:00'],
  ['week', '2025-12-29T00:00', '2026-01-05T00:00'],
  ['month', '2026-02-01T00:00', '2026-03-01T00:00'],
  ['month', '2028-02-01T00:00', '2028-03-01T00:00'],
  ['month', '2026-12-01T00:00', '2027-01-01T00:00'],
  ['quarter', '2026-01-01T00:00', '2026-04-01T00:00'],
  ['quarter', '2026-10-01T00:00', '2027-01-01T00:00'],
  ['year', '2028-01-01T00:00', '2029-01-01T00:00'],
]

describe.each(WINDOWS)('the %s from %s to %s', (unit, from, to) => {
  const fromMs = Date.parse(`${from}Z`)
  const toMs = Date.parse(`${to}Z`)

  it('contains its start and not its end', () => {
    for (const timeMs of [fromMs, fromMs + 1, Math.floor((fromMs + toMs) / 2), toMs - 1]) {
      expect([startOf(unit, timeMs), endOf(unit, timeMs)]).toEqual([fromMs, toMs])
    }
    expect(endOf(unit, fromMs - 1)).toBe(fromMs)
    expect(startOf(unit, toMs)).toBe(toMs)
  })

  it('is the same from a caching calendar, for times in any order', () => {
    const calendar = createCalendar()
    for (const timeMs of [fromMs, toMs - 1, toMs, fromMs - 1, fromMs + 1]) {
      expect(calendar.start(unit, timeMs)).toBe(startOf(unit, timeMs))
    }
  })
})
