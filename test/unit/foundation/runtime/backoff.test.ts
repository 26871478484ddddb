import { describe, expect, it } from 'vitest'
import { exponentialDelayMs, scheduledDelayMs, withJitter } from '../../../../src/foundation/runtime/backoff.ts'

describe('an exponential delay', () => {
  const backoff = { firstMs: 5_000, maxMs: 600_000 }

  it('starts at the first delay and doubles with every failure', () => {
    expect([1, 2, 3, 4].map((failures) => exponentialDelayMs(failures, backoff))).toEqual([
      5_000, 10_000, 20_000, 40_000,
    ])
  })

  it('never exceeds the maximum, however many failures there are', () => {
    for (const failures of [8, 9, 100, 1_100, 1_000_000]) expect(exponentialDelayMs(failures, backoff)).toBe(600_000)
  })
})

describe('a scheduled delay', () => {
  it('follows the schedule and repeats its last entry', () => {
    const delays = [1, 2, 3, 4, 1_000].map((failures) => scheduledDelayMs(failures, [100, 300, 3_000]))
    expect(delays).toEqual([100, 300, 3_000, 3_000, 3_000])
  })

  it('is the first entry before any failure', () => {
    expect(scheduledDelayMs(0, [100, 300])).toBe(100)
  })
})

describe('jitter', () => {
  it('spreads a delay over the given fraction on both sides', () => {
    expect([0, 0.5, 1].map((random) => withJitter(1_000, 0.2, random))).toEqual([800, 1_000, 1_200])
  })

  it('of zero leaves a delay unchanged', () => {
    expect(withJitter(1_000, 0, 0.9)).toBe(1_000)
  })
})
