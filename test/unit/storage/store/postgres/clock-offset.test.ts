import { expect, it } from 'vitest'
import { clockOffset } from '../../../../../src/storage/store/postgres/clock-offset.ts'

it.each([
  ['both may agree', 1_000, 1_000.5, 1_001, 0],
  ['both may agree, though the answer took an hour', 1_000, 5_000, 3_601_000, 0],
  ['this clock is ahead', 3_000, 1_000.4, 3_010, 1_999],
  ['this clock is behind', 1_000, 4_000.6, 1_500, -2_500],
])('%s', (_, sentMs, serverMs, receivedMs, expected) => {
  expect(clockOffset(sentMs, serverMs, receivedMs)).toBe(expected)
})
