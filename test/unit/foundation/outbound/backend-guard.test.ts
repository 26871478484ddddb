/** The addresses that backends of tenants may have. */

import { describe, expect, it } from 'vitest'
import { createBackendGuard, endpointOf } from '../../../../src/foundation/outbound/backend-guard.ts'
import { createBackendRule } from '../../../../src/foundation/outbound/backend-rule.ts'
import type { Resolve } from '../../../../src/foundation/outbound/guarded-lookup.ts'
import { createFakeClock } from '../../../fixtures/fake-clock.ts'

const PUBLIC = '93.184.216.34'
const OWN_PUBLIC = '93.184.216.99'

function open({ names = {}, allowPrivate = false }: { names?: Record<string, string[]>; allowPrivate?: boolean } = {}) {
  const clock = createFakeClock(0)
  const known: Record<string, string[]> = { 'gateway.example': [OWN_PUBLIC], localhost: ['127.0.0.1'], ...names }
  const resolve: Resolve = async (hostname) => {
    const addresses = known[hostname]
    if (addresses === undefined) throw new Error('NXDOMAIN')
    return addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }))
  }
  const own = {
    urls: ['https://gateway.example', 'http://platform.example:8081'],
    ports: [8080, 8081],
  }
  const guard = createBackendGuard({ own, clock, resolve, localAddresses: () => ['10.0.0.7', '2606:4700::7'] })
  const loops: string[] = []
  const rule = createBackendRule({
    operator: 'default',
    allowPrivate,
    guard,
    clock,
    resolve,
    onOwnLoop: (url) => void loops.push(url),
  })
  return { rule, loops, names: known }
}

describe('a backend of a tenant', () => {
  it.each([
    'http://127.0.0.1:9000',
    'http://127.1',
    'http://2130706433',
    'http://0x7f.0.0.1',
    'http://0177.0.0.1',
    'http://0/',
    'http://0.0.0.0:9000',
    'http://10.1.2.3',
    'http://172.16.0.1',
    'http://192.168.1.1',
    'http://169.254.169.254/latest',
    'http://100.100.100.200',
    'http://168.63.129.16',
    'http://[::1]:9000',
    'http://[::]',
    'http://[::ffff:127.0.0.1]',
    'http://[::ffff:a9fe:a9fe]',
    'http://[64:ff9b::7f00:1]',
    'http://[fe80::1]',
    'http://[fd00:ec2::254]',
    'http://localhost:9000',
    'http://LOCALHOST.:9000',
    'https://inside.example',
    'https://half-inside.example',
  ])('is refused at %s, which is not public', async (url) => {
    const names = { 'inside.example': ['192.168.1.1'], 'half-inside.example': [PUBLIC, '::ffff:10.0.0.1'] }
    expect(await open({ names }).rule.refuse('acme', url)).toMatch(/private, loopback or link-local/)
  })

  it.each([
    'https://gateway.example',
    'https://GATEWAY.example.:443/base',
    'http://platform.example:8081',
    `https://${OWN_PUBLIC}`,
    `https://[::ffff:${OWN_PUBLIC}]`,
    'https://alias.example',
    'http://127.0.0.1:8080',
    'http://10.0.0.7:8081',
    'http://[2606:4700::7]:8080',
  ])('is refused at %s, which is this service itself', async (url) => {
    const { rule } = open({ names: { 'alias.example': [OWN_PUBLIC] } })
    expect(await rule.refuse('acme', url)).toMatch(/leads back to this service/)
  })

  it.each([
    'https://backend.example',
    'http://backend.example:8080',
    `http://${PUBLIC}:1234`,
    'http://[2606:4700::1111]:8081',
    `http://${OWN_PUBLIC}:9999`,
    'http://gateway.example:9999',
    'https://not-resolved-now.example',
  ])('is accepted at %s, over plain http and on any port', async (url) => {
    expect(await open({ names: { 'backend.example': [PUBLIC] } }).rule.refuse('acme', url)).toBeNull()
  })

  it('is accepted anywhere if the deployment allows private addresses to backends', async () => {
    const { rule } = open({ allowPrivate: true })
    expect(await rule.refuse('acme', 'http://127.0.0.1:9000')).toBeNull()
    expect(rule.mayBePrivate('acme')).toBe(true)
  })

  it('is refused again 30 seconds after the name of this service has moved to its address', async () => {
    const clock = createFakeClock(0)
    let address = OWN_PUBLIC
    const resolve: Resolve = async () => [{ address, family: 4 }]
    const own = { urls: ['https://gateway.example'], ports: [] }
    const guard = createBackendGuard({ own, clock, resolve, localAddresses: () => [] })
    const endpoint = endpointOf(`https://${PUBLIC}`)
    expect(await guard(endpoint, [PUBLIC])).toBeNull()
    address = PUBLIC
    expect(await guard(endpoint, [PUBLIC])).toBeNull()
    clock.advanceSync(30_000)
    expect(await guard(endpoint, [PUBLIC])).toBe('own')
  })
})

describe('a backend of the operator', () => {
  it('may have a private address', async () => {
    const { rule, loops } = open()
    expect(await rule.refuse('default', 'http://127.0.0.1:9000')).toBeNull()
    expect(rule.mayBePrivate('default')).toBe(true)
    expect(rule.mayBePrivate('acme')).toBe(false)
    expect(loops).toEqual([])
  })

  it('may lead back to this service, which is logged', async () => {
    const { rule, loops } = open()
    expect(await rule.refuse('default', 'http://127.0.0.1:8080')).toBeNull()
    await expect.poll(() => loops).toEqual(['http://127.0.0.1:8080'])
  })
})
