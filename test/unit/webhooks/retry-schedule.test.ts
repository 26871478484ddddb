import { expect, it } from 'vitest'
import { retryDelayMs } from '../../../src/webhooks/retry-schedule.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const PAUSES = [5_000, 5 * MINUTE, 30 * MINUTE, 2 * HOUR, 5 * HOUR, 10 * HOUR, 14 * HOUR, 20 * HOUR, 24 * HOUR]

it.each(PAUSES.map((pauseMs, index) => [index + 1, pauseMs]))(
  'after attempt %d it waits %d ms, ±20 %%',
  (tries, pauseMs) => {
    expect(retryDelayMs(tries, 0.5, undefined, 0)).toBe(pauseMs)
    expect(retryDelayMs(tries, 0, undefined, 0)).toBe(pauseMs * 0.8)
    expect(retryDelayMs(tries, 1, undefined, 0)).toBe(pauseMs * 1.2)
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
])('a receiver that asks for %s is asked again in %d ms', (retryAfter, expected) => {
  expect(retryDelayMs(1, 0.5, retryAfter, 0)).toBe(expected)
})
