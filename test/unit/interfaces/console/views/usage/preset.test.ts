import { describe, expect, it } from 'vitest'
import { presetFor } from '../../../../../../src/interfaces/console/views/usage/preset.ts'

const NOW = Date.UTC(2026, 10, 29, 13, 10)
const at = (day: number, hour = 0, minute = 0) => Date.UTC(2026, 10, day, hour, minute)

describe('the time of a chart', () => {
  it.each([
    ['an hour without any use', { dayMs: null }, '1h'],
    ['an hour if all use is of the last hour', { dayMs: at(29), hourMs: at(29, 12), minuteMs: at(29, 12, 10) }, '1h'],
    ['a day if the first use is older', { dayMs: at(29), hourMs: at(29, 12), minuteMs: at(29, 12, 9) }, '1d'],
    ['a day if it was in an earlier hour', { dayMs: at(28), hourMs: at(28, 14) }, '1d'],
    ['a week if it was more than a day ago', { dayMs: at(28), hourMs: at(28, 12) }, '7d'],
    ['a week if it was in this week', { dayMs: at(23) }, '7d'],
    ['30 days otherwise', { dayMs: at(22) }, '30d'],
  ])('is %s', (_, first, preset) => {
    expect(presetFor(first, NOW)).toBe(preset)
  })

  it('is not known while the first use is read', () => {
    expect(presetFor({}, NOW)).toBeNull()
    expect(presetFor({ dayMs: at(29) }, NOW)).toBeNull()
    expect(presetFor({ dayMs: at(29), hourMs: at(29, 13) }, NOW)).toBeNull()
  })
})
