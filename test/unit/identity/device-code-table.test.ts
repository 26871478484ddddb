import { randomBytes } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { CODES_MAX } from '../../../src/identity/device-code-table.ts'
import { createDeviceCodes, type NewDeviceCode } from '../../../src/identity/device-codes.ts'
import { createIdFactory } from '../../../src/runtime/ids.ts'
import { NOW_MS } from '../../fixtures/token-endpoints.ts'

const REQUEST = { clientId: 'cli_1', api: 'a-v1', scope: null, wantsIdToken: false, wantsProfile: false }

function openCodes() {
  const clock = { nowMs: () => NOW_MS }
  const keyedHash = (text: string): string => text
  const codes = createDeviceCodes({ clock, randomBytes, keyedHash, createId: createIdFactory(clock.nowMs) })
  const begin = (address: string): NewDeviceCode => codes.create(REQUEST, address)
  const isKnown = ({ deviceCode }: NewDeviceCode): boolean =>
    codes.poll(deviceCode, 'cli_1', 'a-v1').state !== 'unknown'
  return { codes, begin, isKnown }
}

describe('a full table of device codes', () => {
  it.each([
    ['an IPv4 address', (count: number) => (count < 0 ? '' : '192.0.2.1')],
    ['an IPv6 network', (count: number) => `2001:db8:0:1::${count.toString(16)}`],
  ])('replaces codes of %s that has begun most logins', (_, addressOf) => {
    const { begin, isKnown } = openCodes()
    const others = ['192.0.2.2', '2001:db8:0:2::1', '2001:db8::1', '::1', '::ffff:192.0.2.1'].map(begin)
    const own = Array.from({ length: CODES_MAX + 50 }, (__, count) => begin(addressOf(count)))
    expect(others.map(isKnown)).toEqual(others.map(() => true))
    expect(own.filter(isKnown)).toHaveLength(CODES_MAX - others.length)
  })

  it('replaces the code whose last request is oldest if all have one address', () => {
    const { codes, begin, isKnown } = openCodes()
    const [first, second, third] = [begin(''), begin(''), begin('')]
    for (let count = 3; count < CODES_MAX; count++) begin('')
    expect(isKnown(first)).toBe(true)
    codes.enter(third.userCode)
    for (let count = 0; count < 10; count++) begin('')
    expect([first, second, third].map(isKnown)).toEqual([true, false, true])
  })
})
