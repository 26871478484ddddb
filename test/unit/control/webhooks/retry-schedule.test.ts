import { expect, it } from 'vitest'
import { retryDelayMs } from '../../../../src/control/webhooks/retry-schedule.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DELAYS = [5_000, 5 * MINUTE, 30 * MINUTE, 2 * HOUR, 5 * HOUR, 10 * HOUR, 14 * HOUR, 20 * HOUR, 24 * HOUR]

it.each(DELAYS.map((delayMs, index) => [index + 1, delayMs]))(
  'retries a delivery after attempt %d in %d ms, ±20 %%',
  (attempts, delayMs) => {
    expect(retryDelayMs(attempts, 0.5, undefined, 0)).toBe(delayMs)
    expect(retryDelayMs(attempts, 0, undefined, 0)).toBe(delayMs * 0.8)
    expect(retryDelayMs(attempts, 1, undefined, 0)).toBe(delayMs * 1.2)
  },
)

it.each([
  ['60', 60_000],
  ['1', 5_000],
  ['Thu, 01 Jan 1970 00:01:40 GMT', 100_000],
  ['Wed, 31 Dec 1969 00:00:00 GMT', 5_000],
  ['999999999', 24 * HOUR],
  ['soon', 5_000],
  ['-5', 5_000],
])('retries a delivery to a receiver that sends Retry-After: %s in %d ms', (retryAfter, expected) => {
  expect(retryDelayMs(1, 0.5, retryAfter, 0)).toBe(expected)
})
