import { describe, expect, it } from 'vitest'
import { decodeHuffman } from '../../../../../src/gateway/connection/http2/hpack-huffman.ts'

/** Decodes bytes in hex; null if they are none. */
function decode(hex: string): string | null {
  const bytes = Buffer.from(hex, 'hex')
  const into = Buffer.alloc(bytes.length * 2)
  const length = decodeHuffman(bytes, 0, bytes.length, into)
  return length < 0 ? null : into.toString('latin1', 0, length)
}

describe('decodeHuffman', () => {
  // RFC 7541, C.4 and C.6.
  it.each([
    ['f1e3c2e5f23a6ba0ab90f4ff', 'www.example.com'],
    ['a8eb10649cbf', 'no-cache'],
    ['25a849e95ba97d7f', 'custom-key'],
    ['25a849e95bb8e8b4bf', 'custom-value'],
    ['d07abe941054d444a8200595040b8166e082a62d1bff', 'Mon, 21 Oct 2013 20:13:21 GMT'],
    ['9d29ad171863c78f0b97c8e9ae82ae43d3', 'https://www.example.com'],
    [
      '94e7821dd7f2e6c7b335dfdfcd5b3960d5af27087f3672c1ab270fb5291f9587316065c003ed4ee5b1063d5007',
      'foo=ASDJKHQKBZXOQWEOPIUAXQWEOIU; max-age=3600; version=1',
    ],
    ['', ''],
  ])('reads %s', (hex, text) => {
    expect(decode(hex)).toBe(text)
  })

  it.each([
    // 13 bits, then 30.
    ['ffc7', '\0'],
    ['fffffff3', '\n'],
    ['fffffff7', '\r'],
    ['fffffffb', '\x16'],
  ])('reads the long code %s', (hex, text) => {
    expect(decode(hex)).toBe(text)
  })

  it.each([
    ['padding of eight bits', '07ff'],
    ['padding of zeros', '1f00'],
    ['an incomplete code', 'ff'.repeat(3)],
    ['the code for the end', 'fffffffc'],
    ['the code for the end within a text', '1ffffffffc'],
  ])('refuses %s', (_, hex) => {
    expect(decode(hex)).toBe(null)
  })
})
