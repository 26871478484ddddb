/** Time-based one-time passwords (RFC 6238): SHA-1, 6 digits, 30 seconds, the parameters that every authenticator app supports. */

import { Secret, TOTP } from 'otpauth'

const STEP_SECONDS = 30
/** Steps before and after the present one that are accepted, for clocks that differ (RFC 6238, 5.2). */
const WINDOW = 1
const CODE = /^\d{6}$/
/** As RFC 4226, 4 recommends. */
const SECRET_BYTES = 20

/** Returns a new secret in base 32. */
export function createTotpSecret(randomBytes: (size: number) => Buffer): string {
  return new Secret({ buffer: Uint8Array.from(randomBytes(SECRET_BYTES)).buffer }).base32
}

/** Returns the `otpauth:` address that an authenticator app reads. */
export function totpUri(secret: string, username: string): string {
  return totpOf(secret, username).toString()
}

/** Returns the step of a right code; null if the code is wrong, or its step is not after `lastStep`. */
export function totpStep(secret: string, code: string, nowMs: number, lastStep: number): number | null {
  if (!CODE.test(code)) return null
  const delta = totpOf(secret, '').validate({ token: code, timestamp: nowMs, window: WINDOW })
  if (delta === null) return null
  const step = Math.floor(nowMs / 1_000 / STEP_SECONDS) + delta
  return step > lastStep ? step : null
}

function totpOf(secret: string, label: string): TOTP {
  return new TOTP({ issuer: 'tollgate', label, secret: Secret.fromBase32(secret), period: STEP_SECONDS })
}
