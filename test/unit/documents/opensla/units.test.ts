import { describe, expect, it } from 'vitest'
import { faultsOf, readPlan } from '../../../fixtures/test-declaration.ts'

describe('the reader of units and prices', () => {
  const price = (perUnit: string) => readPlan(`price: { currency: EUR, perUnit: ${perUnit} }`).priceMicro

  it.each([
    ['0', 0],
    ['0.1', 100_000],
    ['"0.3"', 300_000],
    ['1.1', 1_100_000],
    ['0.000001', 1],
    ['5e-05', 50],
    ['1e-6', 1],
    ['1.5E2', 150_000_000],
    ['999999999.999999', 999_999_999_999_999],
    ['4.35', 4_350_000],
    ['.5', 500_000],
    ['12', 12_000_000],
  ])('reads %s exactly', (text, micro) => {
    expect(price(text)).toBe(micro)
  })

  it.each([
    '0.0000001',
    '1e-7',
    '0.30000000000000004',
    '0.1000000000000000055',
    '-1',
    '.inf',
    '1000000000',
    '1e9',
    '""',
    'true',
    '"1,5"',
  ])('refuses %s', (text) => {
    expect(faultsOf(`price: { currency: EUR, perUnit: ${text} }`)).toEqual(['/price/perUnit'])
  })
})
