/**
 * Limits guessing of user codes (RFC 8628, 5.1): ten wrong codes in 15 minutes for a browser, and 100,000 in 10 minutes in total, on
 * all nodes together.
 *
 * A user code has 43 bits, so that 100,000 guesses find one of 10,000 sign-ins in progress with a probability of 1 in 10,000. Who
 * finds one can only sign a device of someone else in, as themselves. The total is the limit for guesses without a cookie, and above
 * what a stranger needs to enter to keep others from entering theirs.
 */

import { createLoginThrottle, type LoginThrottle, type LoginThrottleOptions } from '../access/people/login-throttle.ts'
import type { AttemptLimit } from '../../storage/store/attempts.ts'

/** Counts the codes that a browser enters. */
export type DeviceThrottle = LoginThrottle

const TOTAL: AttemptLimit = { max: 100_000, windowMs: 10 * 60_000, isSliding: false }

export function createDeviceThrottle(options: LoginThrottleOptions): DeviceThrottle {
  const { attempts, keyedHash } = options
  const ofBrowser = createLoginThrottle(options)
  const total = keyedHash('device code attempts')
  const keyOf = (browser: string): string => `device ${browser}`

  return {
    async begin(browser) {
      const waitSeconds = await ofBrowser.begin(keyOf(browser))
      if (waitSeconds > 0) return waitSeconds
      const waitMs = await attempts.take(total, TOTAL)
      if (waitMs > 0) await ofBrowser.succeed(keyOf(browser))
      return Math.ceil(waitMs / 1_000)
    },
    async succeed(browser) {
      await ofBrowser.succeed(keyOf(browser))
      await attempts.giveBack(total, TOTAL)
    },
  }
}
