import { describe, expect, it } from 'vitest'
import { bindParams } from '../../../../../src/storage/store/clickhouse/bind-params.ts'

describe('bindParams', () => {
  it('writes text as digits and numbers with their type', () => {
    const params = { name: "o'x", at: -5, some: [1, 2], many: ['a'], none: [], rate: 0.5 }
    expect(
      bindParams(
        'SELECT {name:String}, {at:Int64}, {some:Array(UInt32)}, {many:Array(String)}, {none:Array(String)}, {rate: Float64}',
        params,
      ),
    ).toBe(
      "SELECT unhex('6f2778'), CAST(-5, 'Int64'), CAST([CAST(1, 'UInt32'),CAST(2, 'UInt32')], 'Array(UInt32)'), CAST([unhex('61')], 'Array(String)'), CAST([], 'Array(String)'), CAST(0.5, 'Float64')",
    )
  })

  it('does not read a value again', () => {
    const bound = bindParams('SELECT {a:String}, {b:UInt8}', { a: '{b:UInt8}', b: 1 })
    expect(bound).toBe(`SELECT unhex('${Buffer.from('{b:UInt8}').toString('hex')}'), CAST(1, 'UInt8')`)
  })

  it.each([
    ['UInt32', '1, 2'],
    ['UInt32', "1') OR (1"],
    ['UInt32', 1.5],
    ['UInt32', Number.NaN],
    ['UInt32', 1e21],
    ['UInt32', null],
    ['Float64', '1'],
    ['Float64', Number.POSITIVE_INFINITY],
    ['Array(UInt32)', ['1)']],
    ['Array(UInt32)', '1'],
    ['Map(String)', []],
    ['Identifier', 'line_items'],
  ])('refuses for %s the value %j', (type, value) => {
    expect(() => bindParams(`SELECT {x:${type}}`, { x: value })).toThrow(/parameter/)
  })

  it.each(['missing', 'constructor', '__proto__'])('refuses a statement without its parameter %s', (name) => {
    expect(() => bindParams(`SELECT {${name}:String}`, { other: 1 })).toThrow(`${name} of a statement is missing`)
  })

  it('returns null for a statement that is longer than the parser reads', () => {
    expect(bindParams('SELECT {x:String}', { x: 'x'.repeat(125_000) })).toBeNull()
    expect(bindParams('SELECT {x:String}', { x: 'x'.repeat(124_000) })).toHaveLength(248_016)
  })
})
