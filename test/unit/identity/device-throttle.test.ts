import { expect, it } from 'vitest'
import { createDeviceThrottle } from '../../../src/identity/device-throttle.ts'

const WINDOW_MS = 10 * 60_000

it('All browsers together may enter 100,000 wrong codes in ten minutes', () => {
  let nowMs = 1_000_000
  const throttle = createDeviceThrottle({ nowMs: () => nowMs })
  for (let browser = 1; browser < 100_000; browser++) throttle.addFailure(`browser ${browser}`)
  expect(throttle.waitSeconds('another')).toBe(0)
  throttle.addFailure('the last')
  expect(throttle.waitSeconds('another')).toBe(WINDOW_MS / 1_000)
  nowMs += WINDOW_MS
  expect(throttle.waitSeconds('another')).toBe(0)
})
