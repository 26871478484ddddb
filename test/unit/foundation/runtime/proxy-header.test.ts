import { expect, it } from 'vitest'
import { readProxyHeader } from '../../../../src/foundation/runtime/proxy-header.ts'
import { header, tcp4, tcp6 } from '../../../fixtures/proxy-header.ts'
import { createRandom } from '../../../random.ts'

const request = Buffer.from('GET / HTTP/1.1\r\n')

it('reads the client of a connection over IPv4 and over IPv6', () => {
  expect(readProxyHeader(Buffer.concat([header(), request]))).toEqual({ bytes: 28, address: '203.0.113.9' })
  const v6 = header({ family: 0x21, rest: tcp6('20010db8000000000000000000000009') })
  expect(readProxyHeader(v6)).toEqual({ bytes: 52, address: '2001:db8:0:0:0:0:0:9' })
})

it('skips extensions', () => {
  const rest = tcp4([203, 0, 113, 9], Buffer.alloc(300, 7))
  expect(readProxyHeader(header({ rest }))).toEqual({ bytes: 328, address: '203.0.113.9' })
})

it.each([
  ['a health check', { command: 0x20 }, 28],
  ['an unknown family', { family: 0x00, rest: Buffer.alloc(0) }, 16],
  ['a local socket', { family: 0x31, rest: Buffer.alloc(216) }, 232],
])('leaves the address in place for %s', (_, parts, bytes) => {
  expect(readProxyHeader(header(parts))).toEqual({ bytes, address: null })
})

it.each([
  ['another version', { command: 0x11 }],
  ['another command', { command: 0x22 }],
  ['datagrams', { family: 0x12 }],
  ['too few bytes for IPv4', { rest: Buffer.alloc(11) }],
  ['too few bytes for IPv6', { family: 0x21, rest: Buffer.alloc(35) }],
  ['more than a kilobyte', { length: 1_025 }],
])('refuses %s', (_, parts) => {
  expect(readProxyHeader(header(parts))).toBe('invalid')
})

it('waits for each byte', () => {
  const whole = header()
  for (let length = 0; length < whole.length; length++) {
    expect(readProxyHeader(whole.subarray(0, length))).toBe('partial')
  }
})

it('recognises other bytes at the first that differs', () => {
  expect(readProxyHeader(request)).toBe('none')
  expect(readProxyHeader(Buffer.from('PROXY TCP4 203.0.113.9 10.0.0.1 1 2\r\n'))).toBe('none')
  for (let at = 0; at < 12; at++) {
    const other = Buffer.from(header().subarray(0, at + 1))
    other[at]! ^= 1
    expect(readProxyHeader(other)).toBe('none')
  }
})

it('never reads beyond its bytes, whatever they are', () => {
  const random = createRandom(7)
  for (let round = 0; round < 20_000; round++) {
    const bytes = Buffer.concat([header(), Buffer.alloc(40)])
    for (let change = 0; change < 4; change++) bytes[12 + random.below(40)] = random.below(256)
    const result = readProxyHeader(bytes)
    if (typeof result === 'object') expect(result.bytes).toBeLessThanOrEqual(bytes.length)
  }
})
