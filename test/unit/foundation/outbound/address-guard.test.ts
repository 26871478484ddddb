import { describe, expect, it } from 'vitest'
import { isPublicAddress } from '../../../../src/foundation/outbound/address-guard.ts'
import { refuseUrl } from '../../../../src/foundation/outbound/url-guard.ts'

const PUBLIC = ['1.1.1.1', '8.8.8.8', '93.184.216.34', '172.15.255.255', '172.32.0.0', '100.63.255.255', '100.128.0.0']
const PUBLIC_V6 = [
  '2606:4700:4700::1111',
  '2a00:1450:4001:81b::200e',
  '2400::1',
  '2002:0000:1::'.replace('2002', '2003'),
]

const REFUSED = {
  unspecified: ['0.0.0.0', '0.1.2.3', '::'],
  loopback: ['127.0.0.1', '127.255.255.254', '::1'],
  private: ['10.0.0.1', '10.255.255.255', '172.16.0.1', '172.31.255.255', '192.168.0.1'],
  'unique-local': ['fc00::1', 'fd12:3456::1', 'fd00:ec2::254'],
  'link-local': ['169.254.0.1', '169.254.169.254', 'fe80::1', 'fe80::1%eth0', 'febf::1'],
  'site-local': ['fec0::1'],
  shared: ['100.64.0.1', '100.127.255.255', '100.100.100.200'],
  multicast: ['224.0.0.1', '239.255.255.255', 'ff02::1', 'ff0e::1'],
  reserved: ['240.0.0.1', '255.255.255.255', '192.0.0.192', '4000::1', '0100::1', '5f00::1'],
  documentation: ['192.0.2.1', '198.51.100.1', '203.0.113.1', '2001:db8::1', '3fff::1'],
  benchmarking: ['198.18.0.1', '198.19.255.255', '2001:2::1'],
  'metadata service': ['168.63.129.16'],
  mapped: ['::ffff:127.0.0.1', '::ffff:7f00:1', '::ffff:10.0.0.1', '0:0:0:0:0:ffff:a9fe:a9fe', '::FFFF:192.168.1.1'],
  compatible: ['::127.0.0.1', '::7f00:1', '::10.0.0.1', '::8.8.8.8'],
  translated: [
    '64:ff9b::127.0.0.1',
    '64:ff9b::a00:1',
    '64:ff9b::169.254.169.254',
    '64:ff9b:1::1',
    '::ffff:0:127.0.0.1',
  ],
  '6to4 and Teredo': ['2002:7f00:1::', '2002:a00:1::1', '2002:808:808::1', '2001::1', '192.88.99.1'],
  'not an address': [
    '',
    'localhost',
    '127.1',
    '0x7f000001',
    '2130706433',
    '1.1.1.1 ',
    '[::1]',
    '1.1.1.1:80',
    ':::',
    '010.0.0.1',
  ],
} as const

describe('the address guard', () => {
  it.each(PUBLIC)('accepts the public address %s, also mapped and by NAT64', (address) => {
    expect(isPublicAddress(address)).toBe(true)
    expect(isPublicAddress(`::ffff:${address}`)).toBe(true)
    expect(isPublicAddress(`64:ff9b::${address}`)).toBe(true)
  })

  it.each(PUBLIC_V6)('accepts the public address %s', (address) => {
    expect(isPublicAddress(address)).toBe(true)
  })
})

describe.each(Object.entries(REFUSED))('the address guard, for the range "%s",', (_, addresses) => {
  it.each(addresses)('refuses "%s"', (address) => {
    expect(isPublicAddress(address)).toBe(false)
  })
})

describe('the URL guard', () => {
  const guarded = (url: string) => refuseUrl(url, { allowPrivate: false })

  it('accepts a host name or a public address by https on the ports 443 and 8443', () => {
    for (const url of [
      'https://login.example',
      'https://login.example:8443/a?b',
      'https://1.1.1.1/',
      'https://[2400::1]/',
    ])
      expect(guarded(url), url).toBeNull()
  })

  it('refuses other schemes and ports, credentials, relative and too long URLs', () => {
    for (const url of [
      'http://login.example',
      'https://login.example:80',
      'https://login.example:8080',
      'https://user@login.example',
      'https://user:secret@login.example',
      'ftp://login.example',
      'file:///etc/passwd',
      'javascript:alert(1)',
      '//login.example',
      'login.example',
      '',
      `https://login.example/${'x'.repeat(2_048)}`,
    ])
      expect(guarded(url), url).not.toBeNull()
  })

  it('refuses a private address in any spelling', () => {
    for (const host of [
      '127.0.0.1',
      '127.1',
      '2130706433',
      '0x7f000001',
      '0177.0.0.1',
      '[::1]',
      '[::ffff:127.0.0.1]',
      '[::ffff:7f00:1]',
      '169.254.169.254',
      '１２７.0.0.1',
      '127.0.0.1.',
      '0',
    ])
      expect(guarded(`https://${host}/`), host).not.toBeNull()
  })

  it('accepts http and private addresses if the deployment allows them, but never credentials', () => {
    const open = (url: string) => refuseUrl(url, { allowPrivate: true })
    expect(open('http://127.0.0.1:4711/a')).toBeNull()
    for (const url of ['http://user@127.0.0.1', 'ftp://127.0.0.1', 'file:///etc/passwd'])
      expect(open(url)).not.toBeNull()
  })
})
