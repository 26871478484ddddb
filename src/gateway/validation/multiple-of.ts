/**
 * Divides numbers as they are written in JSON, in decimal.
 *
 * A double cannot hold 19.99 or 0.01, so their quotient is not a whole number although 19.99 is a multiple of 0.01.
 * Whole numbers that a double holds exactly need no more than the remainder.
 */

export function isMultipleOf(value: number, divisor: number): boolean {
  if (Number.isSafeInteger(value) && Number.isSafeInteger(divisor)) return value % divisor === 0
  const dividend = toDecimal(value)
  const by = toDecimal(divisor)
  if (dividend === null || by === null || by.digits === 0n) return false
  const exponent = Math.min(dividend.exponent, by.exponent)
  return scale(dividend, exponent) % scale(by, exponent) === 0n
}

/** digits × 10 ^ exponent */
interface Decimal {
  readonly digits: bigint
  readonly exponent: number
}

/** As ECMA-262 writes a number; null if it is not finite. */
const DECIMAL = /^(-?\d+)(?:\.(\d+))?(?:e([+-]\d+))?$/

function toDecimal(value: number): Decimal | null {
  const match = DECIMAL.exec(String(value))
  if (match === null) return null
  const [, whole = '', fraction = '', exponent = '0'] = match
  return { digits: BigInt(whole + fraction), exponent: Number(exponent) - fraction.length }
}

function scale({ digits, exponent }: Decimal, to: number): bigint {
  return digits * 10n ** BigInt(exponent - to)
}
