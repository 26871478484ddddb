/**
 * Limits guessing of user codes (RFC 8628, 5.1): ten wrong codes in 15 minutes for a browser, and 100,000 in 10 minutes in total.
 *
 * A user code has 43 bits, so that 100,000 guesses find one of 10,000 logins in progress with a probability of 1 in 10,000. Who
 * finds one can only log in a device of someone else, as themselves. The total is the limit for guesses without a cookie, and above
 * what a stranger needs to enter to keep others from entering theirs.
 */

import { createLoginThrottle } from '../access/people/login-throttle.ts'
import type { Clock } from '../runtime/clock.ts'

export interface DeviceThrottle {
  /** Returns the seconds until the browser may enter a code; 0: now. */
  waitSeconds(browser: string): number
  addFailure(browser: string): void
}

const WINDOW_MS = 10 * 60_000
const FAILURES_MAX = 100_000

export function createDeviceThrottle(clock: Pick<Clock, 'nowMs'>): DeviceThrottle {
  const ofBrowser = createLoginThrottle(clock)
  let window = { endsAtMs: 0, failures: 0 }

  return {
    waitSeconds(browser) {
      const leftMs = window.endsAtMs - clock.nowMs()
      if (leftMs > 0 && window.failures >= FAILURES_MAX) return Math.ceil(leftMs / 1_000)
      return ofBrowser.waitSeconds(browser)
    },
    addFailure(browser) {
      const nowMs = clock.nowMs()
      if (window.endsAtMs <= nowMs) window = { endsAtMs: nowMs + WINDOW_MS, failures: 0 }
      window.failures++
      ofBrowser.addFailure(browser)
    },
  }
}
