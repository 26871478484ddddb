import { describe, expect, it } from 'vitest'
import { createClientAddress, parseNetwork } from '../../../../src/foundation/runtime/client-address.ts'
import { createRandom } from '../../../random.ts'

const PROXIES = ['10.0.0.0/8', '192.0.2.7', 'fd00::/8']
const NAME = 'X-Forwarded-For'

function clientOf(peer: string | undefined, ...lists: readonly string[]): string | undefined {
  const rawHeaders = ['Host', 'gateway', ...lists.flatMap((list) => [NAME, list]), 'Accept', '*/*']
  return createClientAddress(PROXIES)!({ socket: { remoteAddress: peer }, rawHeaders })
}

describe('the address of the client', () => {
  it('is that of the connection if no proxies are trusted', () => {
    expect(createClientAddress([])).toBeNull()
  })

  it.each([
    ['a peer that is not trusted', '198.51.100.1', ['203.0.113.9'], '198.51.100.1'],
    ['a proxy without the header', '10.0.0.1', [], '10.0.0.1'],
    ['one proxy', '10.0.0.1', ['203.0.113.9'], '203.0.113.9'],
    ['a proxy that is a single address', '192.0.2.7', ['203.0.113.9'], '203.0.113.9'],
    ['the neighbour of a proxy', '192.0.2.8', ['203.0.113.9'], '192.0.2.8'],
    ['a proxy whose address has the form of IPv6', '::ffff:10.0.0.1', ['203.0.113.9'], '203.0.113.9'],
    ['a client that invents entries', '10.0.0.1', ['1.2.3.4, 10.0.0.9, 203.0.113.9'], '203.0.113.9'],
    ['two proxies', '10.0.0.1', ['1.2.3.4, 203.0.113.9, 10.0.0.2'], '203.0.113.9'],
    ['two headers, of which the proxy adds the second', '10.0.0.1', ['1.2.3.4', '203.0.113.9'], '203.0.113.9'],
    ['two headers, over which the proxies extend', '10.0.0.1', ['1.2.3.4, 203.0.113.9', '10.0.0.2'], '203.0.113.9'],
    ['only proxies', '10.0.0.1', ['10.0.0.3, 10.0.0.2'], '10.0.0.3'],
    ['no spaces, and tabs', '10.0.0.1', ['1.2.3.4,\t203.0.113.9 \t'], '203.0.113.9'],
    ['a port', '10.0.0.1', ['203.0.113.9:4711'], '203.0.113.9'],
    ['IPv6', 'fd00::1', ['2001:db8::9'], '2001:db8::9'],
    ['IPv6 in brackets', 'fd00::1', ['[2001:db8::9]'], '2001:db8::9'],
    ['IPv6 with a port', 'fd00::1', ['[2001:db8::9]:4711'], '2001:db8::9'],
    ['IPv6 that is not shortened', 'fd00::1', ['2001:0DB8:0:0:0:0:0:0009'], '2001:db8::9'],
    ['IPv4 in the form of IPv6', 'fd00::1', ['::ffff:203.0.113.9'], '203.0.113.9'],
    ['IPv4 in the form of IPv6, in hex', 'fd00::1', ['::ffff:cb00:7109'], '203.0.113.9'],
    ['a proxy in the form of IPv6', 'fd00::1', ['203.0.113.9, ::ffff:10.0.0.5'], '203.0.113.9'],
  ])('is right for %s', (_, peer, lists, client) => {
    expect(clientOf(peer, ...lists)).toBe(client)
  })

  it.each([
    ...['', ' ', ',', '203.0.113.9,', 'unknown', '_hidden', 'localhost', '203.0.113', '203.0.113.256', '0x7f.1'],
    ...['203.0.113.09', '203.0.113.9:', '203.0.113.9:123456', '203.0.113.9:x', '"203.0.113.9"', '203.0.113.9 x'],
    ...[
      'fe80::1%eth0',
      '[fe80::1%eth0]',
      '[203.0.113.9]',
      '[2001:db8::9',
      '2001:db8::9]',
      '[]',
      '[[::1]]',
      ':::',
      '1::2::3',
    ],
    ...['203.0.113.9\0', '203.0.113.9;', '2001:db8::9]:1', `${'1'.repeat(20_000)}`, ' '.repeat(9_000), 'é'],
  ])('is that of the proxy that reports %.40j', (entry) => {
    expect(clientOf('10.0.0.1', entry)).toBe('10.0.0.1')
    expect(clientOf('10.0.0.1', `${entry}, 10.0.0.2`)).toBe('10.0.0.2')
    expect(clientOf('10.0.0.1', `${entry},203.0.113.9`)).toBe('203.0.113.9')
  })

  it('is found from the right among any number of entries, and after 32 proxies at most', () => {
    const many = Array.from({ length: 10_000 }, (_, index) => `1.2.${index >> 8}.${index & 255}`).join(',')
    expect(clientOf('10.0.0.1', `${many},203.0.113.9`)).toBe('203.0.113.9')
    expect(clientOf('10.0.0.1', ','.repeat(10_000))).toBe('10.0.0.1')
    const own = Array.from({ length: 10_000 }, (_, index) => `10.0.${index >> 8}.${index & 255}`)
    expect(clientOf('10.0.0.1', own.join(','))).toBe(own.at(-32))
    expect(clientOf('10.0.0.1', ...own)).toBe(own.at(-32))
  })

  it('is undefined for a connection that has ended', () => {
    expect(clientOf(undefined, '203.0.113.9')).toBeUndefined()
  })

  it('is never one that an untrusted client has written, over 2,000 seeds', () => {
    for (let seed = 1; seed <= 2_000; seed++) {
      const random = createRandom(seed)
      const written = ['10.0.0.5', '203.0.113.66', 'x', '', 'fd00::1', '::1', '10.0.0.5:1', ',,', '[::ffff:10.0.0.1]']
      const any = (items: readonly string[]): string => items[random.below(items.length)]!
      const forged = Array.from({ length: random.below(6) }, () => any(written)).join(any([',', ', ', ' ,']))
      const proxies = Array.from({ length: random.below(4) }, () => `10.9.0.${random.below(256)}`)
      const added = ['198.51.100.7', ...proxies]
      const lists = random.below(2) === 0 ? [[forged, ...added].join(', ')] : [forged, added.join(','), '']
      const isSplit = lists.at(-1) === ''
      expect(clientOf('10.0.0.1', ...(isSplit ? lists.slice(0, -1) : lists)), `seed ${seed}`).toBe('198.51.100.7')
    }
  })
})

describe('a network', () => {
  it.each([
    ['10.0.0.0/8', { address: '10.0.0.0', prefix: 8, family: 'ipv4' }],
    ['192.0.2.1', { address: '192.0.2.1', prefix: 32, family: 'ipv4' }],
    ['fd00::/8', { address: 'fd00::', prefix: 8, family: 'ipv6' }],
    ['::1', { address: '::1', prefix: 128, family: 'ipv6' }],
  ])('is read from %s', (text, network) => expect(parseNetwork(text)).toEqual(network))

  it.each([
    ...['', '0.0.0.0/0', '::/0', '10.0.0.0/33', '::1/129', '10.0.0.0/', '10.0.0.0/-1', '10.0.0.0/8/8', '10.0.0/8'],
    ...[
      'example.com',
      'fe80::1%eth0',
      '[::1]',
      '::ffff:10.0.0.0/104',
      '::ffff:a00:0/104',
      '10.0.0.0/255.0.0.0',
      ' ::1',
    ],
  ])('is not read from %j', (text) => expect(parseNetwork(text)).toBeNull())
})
