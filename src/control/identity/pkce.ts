/** Proof Key for Code Exchange (RFC 7636), with S256 only: binds a code to the client that requested it. */

import { createHash, timingSafeEqual } from 'node:crypto'

const VERIFIER = /^[A-Za-z0-9\-._~]{43,128}$/
const CHALLENGE = /^[A-Za-z0-9_-]{43}$/

/** Returns whether `text` has the form of an S256 challenge: 32 bytes as base64url. */
export function isChallenge(text: string): boolean {
  return CHALLENGE.test(text)
}

/** Returns whether `verifier` has 43 to 128 characters and hashes to `challenge`. */
export function verifies(challenge: string, verifier: string): boolean {
  if (!VERIFIER.test(verifier)) return false
  const made = createHash('sha256').update(verifier).digest('base64url')
  return made.length === challenge.length && timingSafeEqual(Buffer.from(made), Buffer.from(challenge))
}
