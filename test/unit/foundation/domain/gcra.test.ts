import { expect, it } from 'vitest'
import { isExactRate, leakTimeMs, levelAt, toBucket } from '../../../../src/foundation/domain/gcra.ts'

it.each([
  [100, 60_000, { step: 600, leak: 1, capacity: 60_000 }],
  [3, 1_000, { step: 1_000, leak: 3, capacity: 3_000 }],
  [5_000, 1_000, { step: 1, leak: 5, capacity: 5_000 }],
  [1, 604_800_000, { step: 604_800_000, leak: 1, capacity: 604_800_000 }],
])('reduces %i calls in %i ms to lowest terms', (value, spanMs, bucket) => {
  expect(toBucket(value, spanMs)).toEqual(bucket)
})

it('leaks down to zero, and not while the clock stands still or is set back', () => {
  expect(levelAt(1_000, 50, 50, 3)).toBe(1_000)
  expect(levelAt(1_000, 50, 40, 3)).toBe(1_000)
  expect(levelAt(1_000, 50, 51, 3)).toBe(997)
  expect(levelAt(1_000, 50, 383, 3)).toBe(1)
  expect(levelAt(1_000, 50, 384, 3)).toBe(0)
  expect(levelAt(1_000, 0, Number.MAX_SAFE_INTEGER, 1_000_000)).toBe(0)
})

it('rounds the wait up to whole milliseconds', () => {
  expect([leakTimeMs(0, 3), leakTimeMs(-5, 3), leakTimeMs(1, 3), leakTimeMs(3, 3), leakTimeMs(4, 3)]).toEqual([
    0, 0, 1, 1, 2,
  ])
})

it('recognises the rates that it can count exactly', () => {
  expect([isExactRate(0, 1_000), isExactRate(14_000_000, 604_800_000), isExactRate(1_000_000_000, 1_000)]).toEqual([
    true,
    true,
    true,
  ])
  expect(isExactRate(900_000_011, 604_800_000)).toBe(false)
})
