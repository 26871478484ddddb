import { describe, expect, it } from 'vitest'
import { HpackDecoder } from '../../../../../src/gateway/connection/http2/hpack-decoder.ts'
import { HpackEncoder } from '../../../../../src/gateway/connection/http2/hpack-encoder.ts'
import { createRandom } from '../../../../random.ts'

const BOUNDS = { bytesMax: 1_000_000, fieldsMax: 10_000 }
const toLines = (pairs: readonly (readonly [string, string])[]): string =>
  pairs.map(([name, value]) => `${name}: ${value}\r\n`).join('')

function decode(block: Buffer, decoder = new HpackDecoder(BOUNDS)): readonly string[] | undefined {
  return decoder.decode(block)?.received
}

describe('HpackEncoder', () => {
  it('writes names in lower case, and keeps repeated ones', () => {
    const lines = 'Set-Cookie: a=1\r\nSet-Cookie: b=2\r\nX-A:  b: c \r\nX-Empty: \r\n'
    const head = [':status', '200', 'set-cookie', 'a=1', 'set-cookie', 'b=2', 'x-a', 'b: c', 'x-empty', '']
    expect(decode(new HpackEncoder().encode(200, lines))).toEqual(head)
  })

  it('strips spaces and tabs around a value, and no other character', () => {
    const lines = 'X-A: \t voil\xc3\xa0 \t\r\n'
    expect(decode(new HpackEncoder().encode(200, lines))).toEqual([':status', '200', 'x-a', 'voil\xc3\xa0'])
  })

  it('drops the headers of a connection, however they are spelled', () => {
    const names = ['Connection', 'Keep-Alive', 'PROXY-CONNECTION', 'Transfer-Encoding', 'Upgrade', 'TE']
    const lines = names.map((name) => `${name}: a\r\n`).join('')
    expect(decode(new HpackEncoder().encode(404, lines))).toEqual([':status', '404'])
  })

  it.each([200, 204, 304, 401, 599, 100])('writes the status %i', (status) => {
    expect(decode(new HpackEncoder().encode(status, ''))).toEqual([':status', String(status)])
  })

  it('writes what is repeated in a byte, but for secrets', () => {
    const [encoder, decoder] = [new HpackEncoder(), new HpackDecoder(BOUNDS)]
    const lines = 'X-Policy: same for all\r\nSet-Cookie: secret=1\r\n'
    const blocks = Array.from({ length: 4 }, () => Buffer.from(encoder.encode(200, lines)))
    for (const block of blocks)
      expect(decode(block, decoder)).toEqual([':status', '200', 'x-policy', 'same for all', 'set-cookie', 'secret=1'])
    expect(blocks[3]!.includes('secret=1')).toBe(true)
    expect(blocks[3]!.includes('same')).toBe(false)
  })

  it.each([0, 40, 100, 1_000])('stays within a table of %i bytes, and says so first', (bytes) => {
    const [encoder, decoder] = [new HpackEncoder(), new HpackDecoder(BOUNDS)]
    const lines = 'X-One: 1\r\nX-Two: 2\r\nX-Three: 3\r\n'
    const expected = [':status', '200', 'x-one', '1', 'x-two', '2', 'x-three', '3']
    for (let round = 0; round < 4; round++) expect(decode(encoder.encode(200, lines), decoder)).toEqual(expected)
    encoder.resize(bytes)
    const block = Buffer.from(encoder.encode(200, lines))
    expect(block[0]! >> 5).toBe(1)
    expect(decode(block, decoder)).toEqual(expected)
    encoder.resize(10)
    encoder.resize(4_096)
    for (let round = 0; round < 4; round++) expect(decode(encoder.encode(200, lines), decoder)).toEqual(expected)
  })

  it('is read as it was written, whatever is repeated, removed and resized', () => {
    for (let seed = 1; seed <= 40; seed++) {
      const random = createRandom(seed)
      const [encoder, decoder] = [new HpackEncoder(), new HpackDecoder(BOUNDS)]
      for (let round = 0; round < 60; round++) {
        if (random.next() < 0.05) encoder.resize(random.below(6_000))
        const pairs = Array.from({ length: random.below(12) }, () => {
          const length = random.next() < 0.1 ? random.below(20_000) : random.below(200)
          const value = random.next() < 0.5 ? `v${random.below(20)}` : 'x'.repeat(length)
          return [`x-${seed}-${random.below(30)}`, value] as const
        })
        const received = decode(encoder.encode(200, toLines(pairs)), decoder)
        expect({ seed, round, received }).toEqual({ seed, round, received: [':status', '200', ...pairs.flat()] })
      }
    }
  })
})
