import { expect, it } from 'vitest'
import { createTargetCheck } from '../../../../src/foundation/outbound/target-check.ts'
import { createFakeClock } from '../../../fixtures/fake-clock.ts'

const clock = createFakeClock(0)
const leadingTo = (...addresses: readonly string[]) =>
  createTargetCheck({
    clock,
    allowPrivate: false,
    resolve: async () => addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 })),
  })

it.each([
  '127.0.0.1',
  '10.1.2.3',
  '172.16.0.1',
  '192.168.1.1',
  '169.254.169.254',
  '100.100.100.200',
  '168.63.129.16',
  '0.0.0.0',
  '224.0.0.1',
  '::1',
  '::ffff:127.0.0.1',
  '::ffff:a9fe:a9fe',
  'fe80::1',
  'fd00:ec2::254',
  'ff02::1',
  '64:ff9b::7f00:1',
])('the target check refuses a host that resolves to %s, also together with a public address', async (address) => {
  expect(await leadingTo(address)('https://receiver.example/')).toBe('The host must resolve to public addresses only.')
  expect(await leadingTo('93.184.216.34', address)('https://receiver.example/')).not.toBeNull()
})

it.each([
  'http://receiver.example/',
  'https://receiver.example:444/',
  'https://user:pass@receiver.example/',
  'https://127.0.0.1/',
  'https://[::1]/',
  'https://0x7f.1/',
  'https://2130706433/',
  'javascript:alert(1)',
  'no address',
])('the target check refuses the URL %s', async (url) => {
  expect(await leadingTo('93.184.216.34')(url)).not.toBeNull()
})

it('the target check accepts public addresses, also on port 8443, and a host that does not resolve', async () => {
  expect(await leadingTo('93.184.216.34', '2606:4700::1111')('https://receiver.example/')).toBeNull()
  expect(await leadingTo('93.184.216.34')('https://receiver.example:8443/hook')).toBeNull()
  expect(await leadingTo()('https://receiver.example/')).toBeNull()
  const check = createTargetCheck({ clock, allowPrivate: false, resolve: () => Promise.reject(new Error('NXDOMAIN')) })
  expect(await check('https://receiver.example/')).toBeNull()
})

it('the target check waits two seconds for a resolver that does not answer', async () => {
  const check = createTargetCheck({ clock, allowPrivate: false, resolve: () => new Promise(() => {}) })
  const answer = check('https://receiver.example/')
  clock.advanceSync(2_000)
  expect(await answer).toBeNull()
  expect(clock.pending).toBe(0)
})

it('the target check accepts private addresses if the deployment allows them', async () => {
  const check = createTargetCheck({ clock, allowPrivate: true })
  expect(await check('http://127.0.0.1:9999/')).toBeNull()
  expect(await check('http://user:pass@127.0.0.1/')).not.toBeNull()
})
