import { expect, it } from 'vitest'
import { toDecimal, toMicro } from '../../../../src/foundation/domain/decimal.ts'

it.each([
  ['0', 0],
  ['00', 0],
  ['0.0', 0],
  ['7', 7_000_000],
  ['007.50', 7_500_000],
  ['.25', 250_000],
  ['0.000001', 1],
  ['999999999.999999', 999_999_999_999_999],
  ['1e0', 1_000_000],
  ['12.5e-5', 125],
  ['1.2e3', 1_200_000_000],
  ['100e-8', 1],
])('reads %s', (text, micro) => {
  expect(toMicro(text)).toBe(micro)
})

it.each([
  '',
  '.',
  '1.',
  '-1',
  '+1',
  ' 1',
  '1 ',
  '0x1',
  '1_0',
  'e1',
  '1e',
  '0.0000001',
  '1e-7',
  '15e-7',
  '1e9',
  '1234567890',
  '1e99',
  'NaN',
])('refuses %s', (text) => {
  expect(toMicro(text)).toBeNull()
})

it('formats a parsed decimal in its shortest form', () => {
  for (const text of ['0', '1', '0.1', '0.000001', '12.345', '999999999.999999']) {
    expect(toDecimal(BigInt(toMicro(text) ?? -1), 6)).toBe(text)
  }
  expect(toDecimal(-1_500_000n, 6)).toBe('-1.5')
})
