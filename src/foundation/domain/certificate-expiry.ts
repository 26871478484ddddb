/** How soon a certificate that expires is a risk: three weeks before. */

import type { Outcome } from './outcome.ts'

const WARNING_BEFORE_MS = 21 * 86_400_000

/** `uselessMs`: when nothing is left that is valid, if that is later. Returns null if there is time. */
export function expiryOutcome(
  { expiresMs, uselessMs = expiresMs }: { readonly expiresMs: number; readonly uselessMs?: number },
  nowMs: number,
): Extract<Outcome, 'certificate_expiring' | 'certificate_expired'> | null {
  if (uselessMs <= nowMs) return 'certificate_expired'
  return expiresMs - nowMs < WARNING_BEFORE_MS ? 'certificate_expiring' : null
}

/** Returns a time as the day that the evidence of a risk names. */
export function toDay(timeMs: number): string {
  return new Date(timeMs).toISOString().slice(0, 10)
}
