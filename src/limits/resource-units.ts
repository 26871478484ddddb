/** Resource units as text. */

import { MICRO } from '../foundation/domain/decimal.ts'

const ZERO = 48

/** Formats millionths of a unit as the shortest decimal. */
export function toUnits(micro: number): string {
  const fraction = micro % MICRO
  const whole = (micro - fraction) / MICRO
  if (fraction === 0) return String(whole)
  const digits = String(MICRO + fraction)
  let end = digits.length
  while (digits.charCodeAt(end - 1) === ZERO) end--
  return `${whole}.${digits.slice(1, end)}`
}
