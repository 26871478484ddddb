/**
 * Decimal numbers as whole millionths: resource units and prices, never a float.
 *
 * A value is read from its text, so that 0.1 is a tenth and not what a binary fraction makes of it.
 */

export const MICRO = 1_000_000
const DECIMAL = /^(\d{1,9})(?:\.(\d{1,6}))?$/

/** Millionths of a decimal with up to 9 digits before the point and 6 behind it; null for anything else. */
export function toMicro(text: string): number | null {
  const match = DECIMAL.exec(text)
  if (match === null) return null
  return Number(match[1]) * MICRO + Number((match[2] ?? '').padEnd(6, '0'))
}

/** The shortest decimal for whole `units` of 10^-`places`. */
export function toDecimal(units: bigint, places: number): string {
  const isNegative = units < 0n
  const digits = (isNegative ? -units : units).toString().padStart(places + 1, '0')
  const whole = digits.slice(0, digits.length - places)
  const fraction = digits.slice(digits.length - places).replace(/0+$/, '')
  return `${isNegative ? '-' : ''}${whole}${fraction === '' ? '' : `.${fraction}`}`
}
