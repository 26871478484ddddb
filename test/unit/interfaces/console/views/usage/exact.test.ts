import { expect, it } from 'vitest'
import { differenceOf, sumOf } from '../../../../../../src/interfaces/console/views/usage/exact.ts'

it.each([
  ['0.3', '0.1', '0.2'],
  ['9007199254740993.000001', '9007199254740992', '1.000001'],
  ['1.50', '1.5', '0'],
  ['0.1', '0.3', '-0.2'],
  ['1', '-1', '2'],
  ['-0.000000000001', '0', '-0.000000000001'],
])('%s without %s is %s, exactly', (one, other, difference) => {
  expect(differenceOf(one, other)).toBe(difference)
})

it('adds up ten tenths to one', () => {
  expect(sumOf(Array.from({ length: 10 }, () => '0.1'))).toBe('1')
})
