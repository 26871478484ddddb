import { expect, it } from 'vitest'
import { parseExactly } from '../../../../src/foundation/json/exact-numbers.ts'

it.each([
  '12345678901234567890',
  '-9007199254740993',
  '9007199254740992',
  '1e999',
  '1e-999',
  '0.10000000000000000555',
  '123456789.123456789',
])('a number that a double does not hold keeps its text: %s', (source) => {
  const value = parseExactly(`{"n":[${source}]}`)
  expect(JSON.stringify(value)).toBe(`{"n":[${source}]}`)
  expect(JSON.isRawJSON((value as { n: readonly unknown[] }).n[0])).toBe(true)
})

it.each([
  ['9007199254740991', 9_007_199_254_740_991],
  ['-9007199254740991', -9_007_199_254_740_991],
  ['1e3', 1_000],
  ['0e999', 0],
  ['0.000000000000000001', 1e-18],
])('a number that a double holds is a number: %s', (source, expected) => {
  expect(parseExactly(source)).toBe(expected)
})

it('a text is not a number', () => {
  expect(parseExactly('["12345678901234567890", "1e999"]')).toEqual(['12345678901234567890', '1e999'])
})

it('all numbers of a text with more than 10,000 values are plain ones, at any depth', () => {
  const flat = `[${'1e999,'.repeat(10_000)}1]`
  const nested = `[${`${'['.repeat(50)}1e999${']'.repeat(50)},`.repeat(201)}1]`
  for (const text of [flat, nested]) expect(JSON.stringify(parseExactly(text))).not.toContain('1e999')
  expect(JSON.stringify(parseExactly(`[${'1e999,'.repeat(9_990)}1]`))).toContain('1e999')
})
