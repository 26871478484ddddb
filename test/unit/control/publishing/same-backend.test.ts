import { describe, expect, it } from 'vitest'
import { toBackend, type BackendInput } from '../../../../src/control/publishing/backend-address.ts'
import { convertSecrets } from '../../../../src/control/publishing/backend-secrets.ts'
import { isSameBackend } from '../../../../src/control/publishing/same-backend.ts'
import type { DeployedBackend } from '../../../../src/control/publishing/proxy-document.ts'
import { createVault } from '../../../../src/foundation/runtime/vault.ts'

const vault = createVault(Buffer.alloc(32, 1))
const OWNER = { tenant: 'acme', api: 'things-v1' }
const URL = 'https://a.example/base'
const tls = { certificate: 'C', key: 'K', ca: 'A' }
const secretHeaders = [
  { name: 'X-A', value: 'one' },
  { name: 'X-B', value: 'two' },
]
const full: BackendInput = { url: URL, timeoutMs: 500, health: '/up', tls, secretHeaders }
const targets: BackendInput = { targets: [{ url: URL, weight: 2 }, { url: 'https://b.example' }], balance: 'leastBusy' }

function stagedAs({ tls, secretHeaders, ...input }: BackendInput): DeployedBackend {
  const secrets = { ...(tls && { tls }), ...(secretHeaders && { secretHeaders }) } as Partial<DeployedBackend>
  return convertSecrets({ ...toBackend(input, null), ...secrets }, OWNER, vault.encrypt)
}

describe('the backend of a request', () => {
  it.each<[string, BackendInput, BackendInput]>([
    ['all members', full, full],
    ['targets', targets, targets],
    ['the default time-out', { url: URL, timeoutMs: 30_000 }, { url: URL }],
    ['no header', { url: URL }, { url: URL, secretHeaders: [] }],
    ['secrets that are left out', full, { ...full, secretHeaders: [{ name: 'X-A' }, { name: 'X-B' }] }],
    ['a key that is left out', full, { ...full, tls: { certificate: 'C', ca: 'A' } }],
  ])('is that of a revision: %s', (_, staged, input) => {
    expect(isSameBackend(vault, OWNER, input, stagedAs(staged))).toBe(true)
  })

  it.each<[string, BackendInput]>([
    ['another path', { ...full, url: 'https://a.example' }],
    ['a time-out', { ...full, timeoutMs: 501 }],
    ['no health path', { url: URL, timeoutMs: 500, tls, secretHeaders }],
    ['targets', { ...targets, timeoutMs: 500, health: '/up', tls, secretHeaders }],
    ['a key', { ...full, tls: { ...tls, key: 'L' } }],
    ['a certificate', { ...full, tls: { ...tls, certificate: 'D' } }],
    ['authorities', { ...full, tls: { certificate: 'C', key: 'K' } }],
    ['no TLS', { url: URL, timeoutMs: 500, health: '/up', secretHeaders }],
    ['a value', { ...full, secretHeaders: [secretHeaders[0]!, { name: 'X-B', value: 'three' }] }],
    ['a header less', { ...full, secretHeaders: [secretHeaders[0]!] }],
    ['a header more', { ...full, secretHeaders: [...secretHeaders, { name: 'X-C', value: 'three' }] }],
  ])('is another one by %s', (_, input) => {
    expect(isSameBackend(vault, OWNER, input, stagedAs(full))).toBe(false)
  })

  it('is another one by a weight', () => {
    const heavier = { ...targets, targets: [{ url: URL, weight: 3 }, { url: 'https://b.example' }] }
    expect(isSameBackend(vault, OWNER, heavier, stagedAs(targets))).toBe(false)
  })

  it('is another one if the stored secrets cannot be decrypted', () => {
    expect(isSameBackend(createVault(Buffer.alloc(32, 2)), OWNER, full, stagedAs(full))).toBe(false)
  })
})
