import { expect, it } from 'vitest'
import { forThousandCalls } from '../../../../../../src/interfaces/console/views/apis/price.ts'

it.each([
  ['0.004', 1, '4'],
  ['0.000001', 0.333333, '0.000333333'],
  ['0.1', 0.3, '30'],
  ['999999999.999999', 1_000, '999999999999999'],
  ['5', 0, '0'],
])('A unit at %s and calls of %d units cost %s in all for a thousand calls, exactly', (perUnit, units, amount) => {
  expect(forThousandCalls(perUnit, units)).toBe(amount)
})
