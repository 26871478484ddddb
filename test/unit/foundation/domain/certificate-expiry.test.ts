import { expect, it } from 'vitest'
import { expiryOutcome, toDay } from '../../../../src/foundation/domain/certificate-expiry.ts'

const NOW_MS = Date.parse('2026-11-01T12:00:00Z')
const inDays = (days: number): number => NOW_MS + days * 86_400_000

it.each([
  [21, undefined, null],
  [20.99, undefined, 'certificate_expiring'],
  [0.001, undefined, 'certificate_expiring'],
  [0, undefined, 'certificate_expired'],
  [-400, undefined, 'certificate_expired'],
  [-1, 30, 'certificate_expiring'],
  [-1, 0, 'certificate_expired'],
  [30, 60, null],
] as const)('A certificate that expires in %s days, the last one of several in %s, is: %s', (first, last, outcome) => {
  const ends = { expiresMs: inDays(first), ...(last !== undefined && { uselessMs: inDays(last) }) }
  expect(expiryOutcome(ends, NOW_MS)).toBe(outcome)
})

it('A day is named without its time', () => {
  expect(toDay(NOW_MS)).toBe('2026-11-01')
})
