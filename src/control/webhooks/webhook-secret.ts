/**
 * Secrets of Standard Webhooks: `whsec_` and the base64 of 24 to 64 bytes.
 *
 * After a rotation the previous secret keeps signing for a day.
 */

import { invalidAt } from '../command/commands.ts'

const PREFIX = 'whsec_'
const NEW_BYTES = 32
const BYTES_MIN = 24
const BYTES_MAX = 64

export function makeSecret(randomBytes: (size: number) => Buffer): string {
  return PREFIX + randomBytes(NEW_BYTES).toString('base64')
}

/** Throws `Problem('payload_invalid')` at `/secret`. */
export function checkSecret(secret: string): void {
  const bytes = secretBytes(secret)
  const isWellFormed = secret.startsWith(PREFIX) && bytes.toString('base64') === secret.slice(PREFIX.length)
  if (isWellFormed && bytes.length >= BYTES_MIN && bytes.length <= BYTES_MAX) return
  throw invalidAt(
    '/secret',
    `The secret must be ${PREFIX} followed by the base64 of ${BYTES_MIN} to ${BYTES_MAX} random bytes.`,
  )
}

export function secretBytes(secret: string): Buffer {
  return Buffer.from(secret.slice(PREFIX.length), 'base64')
}
