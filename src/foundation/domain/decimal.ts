/**
 * Decimal numbers as whole millionths: resource units and prices, never a float.
 *
 * Values are parsed from text, so that 0.1 is exactly a tenth and not the nearest binary fraction.
 */

export const MICRO = 1_000_000
const DECIMAL = /^(\d*)(?:\.(\d+))?(?:[eE]([+-]?\d{1,2}))?$/
const PLACES = 6
const WHOLE_MAX = 9

/** Returns the millionths of a decimal with up to 9 digits before the point and 6 after it; null for any other text. */
export function toMicro(text: string): number | null {
  const match = text.length <= 64 && /^\.?\d/.test(text) ? DECIMAL.exec(text) : null
  if (match === null) return null
  const [, whole = '', fraction = '', exponent = '0'] = match
  if (exponent === '0' && fraction.length > PLACES) return null
  // Some serializers write small numbers as 5e-05, so the point is moved in the text.
  const shift = PLACES + Number(exponent) - fraction.length
  const digits = `${whole}${fraction}`.replace(/^0+/, '')
  if (digits === '') return 0
  const kept = shift >= 0 ? digits.padEnd(digits.length + shift, '0') : digits.slice(0, shift)
  const isExact = shift >= 0 || /^0+$/.test(digits.slice(shift))
  return isExact && kept !== '' && kept.length <= WHOLE_MAX + PLACES ? Number(kept) : null
}

/** Returns the shortest decimal for `units` whole units of 10^-`places`. */
export function toDecimal(units: bigint, places: number): string {
  const isNegative = units < 0n
  const digits = (isNegative ? -units : units).toString().padStart(places + 1, '0')
  const whole = digits.slice(0, digits.length - places)
  const fraction = digits.slice(digits.length - places).replace(/0+$/, '')
  return `${isNegative ? '-' : ''}${whole}${fraction === '' ? '' : `.${fraction}`}`
}

/** Returns the exact sum of decimals with up to 12 digits after the point. */
export function addDecimals(texts: readonly string[]): string {
  return toDecimal(
    texts.reduce((sum, text) => sum + toUnits(text), 0n),
    SUM_PLACES,
  )
}

const SUM_PLACES = 12

function toUnits(text: string): bigint {
  const [whole = '', fraction = ''] = text.split('.')
  return BigInt(whole + fraction.padEnd(SUM_PLACES, '0'))
}
