import { describe, expect, it } from 'vitest'
import { HpackDecoder } from '../../../../../src/gateway/connection/http2/hpack-decoder.ts'
import * as h2 from './frames.ts'

const BOUNDS = { bytesMax: 16_384, fieldsMax: 1_000 }

function readers(...blocks: readonly string[]): readonly (readonly string[] | null)[] {
  const decoder = new HpackDecoder(BOUNDS)
  return blocks.map((hex) => decoder.decode(Buffer.from(hex.replaceAll(' ', ''), 'hex'))?.received ?? null)
}

/** A field that is added to the table. */
const added = (name: string, value: string): Buffer => {
  const [, ...rest] = h2.block([[name, value]])
  return Buffer.from([0x40, ...rest])
}

describe('HpackDecoder', () => {
  const GET = [':method', 'GET', ':scheme', 'http', ':path', '/', ':authority', 'www.example.com']

  it('reads requests that refer to what earlier ones have added (RFC 7541, C.3)', () => {
    expect(
      readers(
        '8286 8441 0f77 7777 2e65 7861 6d70 6c65 2e63 6f6d',
        '8286 84be 5808 6e6f 2d63 6163 6865',
        '8287 85bf 400a 6375 7374 6f6d 2d6b 6579 0c63 7573 746f 6d2d 7661 6c75 65',
      ),
    ).toEqual([
      GET,
      [...GET, 'cache-control', 'no-cache'],
      [':method', 'GET', ':scheme', 'https', ':path', '/index.html', ':authority', 'www.example.com'].concat([
        'custom-key',
        'custom-value',
      ]),
    ])
  })

  it('reads the same requests in the Huffman code (RFC 7541, C.4)', () => {
    expect(readers('8286 8441 8cf1 e3c2 e5f2 3a6b a0ab 90f4 ff', '8286 84be 5886 a8eb 1064 9cbf')).toEqual([
      GET,
      [...GET, 'cache-control', 'no-cache'],
    ])
  })

  it('removes the oldest fields from a table that is full', () => {
    const decoder = new HpackDecoder(BOUNDS)
    // Each needs 1,000 + 1 + 32 bytes of 4,096.
    for (const name of ['a', 'b', 'c', 'd']) decoder.decode(added(name, 'x'.repeat(1_000)))
    const indexed = (index: number) => decoder.decode(Buffer.from([0x80 | (61 + index)]))?.received[0] ?? null
    expect([1, 2, 3, 4].map(indexed)).toEqual(['d', 'c', 'b', null])
  })

  it('is empty after a field that is larger than the table, and goes on', () => {
    const decoder = new HpackDecoder(BOUNDS)
    decoder.decode(added('a', 'x'))
    expect(decoder.decode(added('b', 'x'.repeat(5_000)))?.received[0]).toBe('b')
    expect(decoder.decode(Buffer.from([0xbe]))).toBe(null)
    decoder.decode(added('c', 'x'))
    expect(decoder.decode(Buffer.from([0xbe]))?.received).toEqual(['c', 'x'])
  })

  it('heeds the size of the table, at the beginning of a block only', () => {
    const decoder = new HpackDecoder(BOUNDS)
    decoder.decode(added('a', 'x'))
    expect(decoder.decode(Buffer.from([0x20, 0x3f, 0xe1, 0x1f, 0x82]))?.received).toEqual([':method', 'GET'])
    expect(decoder.decode(Buffer.from([0xbe]))).toBe(null)
    expect(decoder.decode(Buffer.from([0x82, 0x20]))).toBe(null)
    expect(decoder.decode(Buffer.from([0x3f, 0xe2, 0x1f]))).toBe(null)
  })

  it.each([
    ['an index of 0', '80'],
    ['an index behind the table', 'be'],
    ['a name that is not in the table', '7f 00 01 61'],
    ['a block that ends within an index', 'ff'],
    ['an index above any table', 'ff ff ff ff 7f'],
    ['a text without its end', '00 05 61 62'],
    ['a text without its length', '00 01 61'],
    ['a length without an end', '00 7f ff ff ff ff ff ff'],
    ['a name without anything', '40'],
  ])('refuses %s', (_, hex) => {
    expect(readers(hex)).toEqual([null])
  })

  it.each([
    ['upper case', 'X-A', 'b'],
    ['no name', '', 'b'],
    ['a space in a name', 'x a', 'b'],
    ['a colon within a name', 'x:a', 'b'],
    ['two colons', '::path', 'b'],
    ['a byte above 127 in a name', 'x\xe4', 'b'],
    ['a line break in a value', 'x-a', 'b\r\nc'],
    ['a zero byte in a value', 'x-a', '\0'],
    ['a delete character in a value', 'x-a', '\x7f'],
  ])('calls a block with %s malformed, also when it refers to the table', (_, name, value) => {
    const decoder = new HpackDecoder(BOUNDS)
    expect(decoder.decode(added(name, value))?.isMalformed).toBe(true)
    expect(decoder.decode(Buffer.from([0xbe]))?.isMalformed).toBe(true)
    expect(decoder.decode(Buffer.from([0x82]))?.isMalformed).toBe(false)
  })

  it('calls tabs, spaces and bytes above 127 in a value well-formed', () => {
    const [, ...rest] = h2.block([['x-a', 'b\t c\xe4\xff']])
    expect(new HpackDecoder(BOUNDS).decode(Buffer.from([0x00, ...rest]))).toEqual({
      received: ['x-a', 'b\t c\xe4\xff'],
      isMalformed: false,
      isTooLarge: false,
    })
  })

  it('keeps no more than a head may have, however small the block is', () => {
    const decoder = new HpackDecoder({ bytesMax: 10_000, fieldsMax: 100 })
    decoder.decode(added('a', 'x'.repeat(3_000)))
    const large = decoder.decode(Buffer.alloc(10_000, 0xbe))!
    expect([large.isTooLarge, large.received.length]).toEqual([true, 6])
    const many = decoder.decode(Buffer.alloc(101, 0x82))!
    expect([many.isTooLarge, many.received.length]).toEqual([true, 200])
    expect(decoder.decode(Buffer.from([0xbe]))?.isTooLarge).toBe(false)
  })
})
