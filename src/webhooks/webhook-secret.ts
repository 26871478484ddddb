/**
 * Secrets of Standard Webhooks: `whsec_` and the base64 of 24 to 64 bytes.
 *
 * While one is rotated the one before signs as well, for a day.
 */

import { invalidAt } from '../command/commands.ts'

const PREFIX = 'whsec_'
const MADE_BYTES = 32
const BYTES_MIN = 24
const BYTES_MAX = 64

export function makeSecret(randomBytes: (size: number) => Buffer): string {
  return PREFIX + randomBytes(MADE_BYTES).toString('base64')
}

/** Throws `Problem('payload_invalid')` at `/secret`. */
export function refuseSecret(secret: string): void {
  const bytes = secretBytes(secret)
  const isWhole = secret.startsWith(PREFIX) && bytes.toString('base64') === secret.slice(PREFIX.length)
  if (isWhole && bytes.length >= BYTES_MIN && bytes.length <= BYTES_MAX) return
  throw invalidAt(
    '/secret',
    `The secret must be ${PREFIX} followed by the base64 of ${BYTES_MIN} to ${BYTES_MAX} random bytes.`,
  )
}

export function secretBytes(secret: string): Buffer {
  return Buffer.from(secret.slice(PREFIX.length), 'base64')
}
