/** Exact arithmetic of amounts, which are decimal texts. */

import { addDecimals } from '../../../../foundation/domain/decimal.ts'

export const sumOf = addDecimals

/** Returns the first without the second. */
export function differenceOf(one: string, other: string): string {
  return addDecimals([one, other.startsWith('-') ? other.slice(1) : `-${other}`])
}
