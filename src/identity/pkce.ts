/** Proof Key for Code Exchange (RFC 7636): whoever redeems a code is who asked for it. Only S256. */

import { createHash, timingSafeEqual } from 'node:crypto'

const VERIFIER = /^[A-Za-z0-9\-._~]{43,128}$/
const CHALLENGE = /^[A-Za-z0-9_-]{43}$/

/** Whether `text` has the form of an S256 challenge: 32 bytes as base64url. */
export function isChallenge(text: string): boolean {
  return CHALLENGE.test(text)
}

/** Whether the challenge was made from this verifier of 43 to 128 characters. */
export function answers(challenge: string, verifier: string): boolean {
  if (!VERIFIER.test(verifier)) return false
  const made = createHash('sha256').update(verifier).digest('base64url')
  return made.length === challenge.length && timingSafeEqual(Buffer.from(made), Buffer.from(challenge))
}
