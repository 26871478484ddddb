/** Prices as exact decimals: a number of JavaScript would round them. */

const PLACES = 12

/** Returns the price of a thousand calls that cost `units` resource units each. */
export function forThousandCalls(perUnit: string, units: number): string {
  // Both have at most 6 decimal places.
  const product = toMicro(perUnit) * toMicro(units.toFixed(6)) * 1_000n
  const digits = product.toString().padStart(PLACES + 1, '0')
  const fraction = digits.slice(-PLACES).replace(/0+$/, '')
  return digits.slice(0, -PLACES) + (fraction === '' ? '' : `.${fraction}`)
}

function toMicro(decimal: string): bigint {
  const [whole = '0', fraction = ''] = decimal.split('.')
  return BigInt(whole + fraction.slice(0, 6).padEnd(6, '0'))
}
