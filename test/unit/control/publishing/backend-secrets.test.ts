import { describe, expect, it } from 'vitest'
import { Problem } from '../../../../src/foundation/domain/problem.ts'
import {
  checkSecrets,
  openSecrets,
  sealSecrets,
  SecretsUnreadable,
  type SealOptions,
  type SecretsInput,
} from '../../../../src/control/publishing/backend-secrets.ts'
import { createVault } from '../../../../src/foundation/runtime/vault.ts'

const vault = createVault(Buffer.alloc(32, 1))
const ORIGIN = 'https://a.example'
const OWNER = { tenant: 'acme', api: 'things-v1' }
const options: SealOptions = { ...OWNER, vault, nowMs: 0, origins: [ORIGIN], ca: undefined, earlier: [] }
const withHeader = (name: string, value?: string): SecretsInput => ({
  secretHeaders: [{ name, ...(value !== undefined && { value }) }],
})

function faultOf(work: () => unknown) {
  try {
    work()
    return null
  } catch (cause) {
    if (!(cause instanceof Problem)) throw cause
    return cause.errors[0]
  }
}

const stored = (value: string, origin = ORIGIN) => ({
  origin,
  ...sealSecrets(withHeader('X-Secret', value), { ...options, origins: [origin] }),
})
const opened = (input: SecretsInput, earlier: SealOptions['earlier']) =>
  openSecrets(vault, OWNER, sealSecrets(input, { ...options, earlier })).secretHeaders

describe('secrets of a backend', () => {
  it('are stored as ciphertexts and can be decrypted', () => {
    const sealed = sealSecrets(withHeader('X-Secret', 'marker'), options)
    expect(JSON.stringify(sealed)).not.toContain('marker')
    expect(openSecrets(vault, OWNER, sealed)).toEqual({ secretHeaders: [{ name: 'X-Secret', value: 'marker' }] })
  })

  it('cannot be decrypted for another tenant, API or header, or with another key', () => {
    const sealed = sealSecrets(withHeader('X-Secret', 'marker'), options)
    const renamed = { secretHeaders: [{ name: 'X-Other', value: sealed.secretHeaders![0]!.value }] }
    const asKey = { tls: { key: sealed.secretHeaders![0]!.value } }
    for (const open of [
      () => openSecrets(vault, { ...OWNER, tenant: 'other' }, sealed),
      () => openSecrets(vault, { ...OWNER, api: 'other-v1' }, sealed),
      () => openSecrets(vault, OWNER, renamed),
      () => openSecrets(vault, OWNER, asKey),
      () => openSecrets(createVault(Buffer.alloc(32, 2)), OWNER, sealed),
    ]) {
      expect(open).toThrow(SecretsUnreadable)
      expect(open).toThrow(/-v1 cannot be decrypted/)
    }
  })

  it('that a request leaves out are those of the first earlier revision that has them', () => {
    expect(opened(withHeader('x_secret'), [{ origin: ORIGIN }, stored('one'), stored('two')])).toEqual([
      { name: 'x_secret', value: 'one' },
    ])
  })

  it('must be sent if none are stored', () => {
    expect(faultOf(() => sealSecrets(withHeader('X-New'), { ...options, earlier: [stored('one')] }))).toEqual({
      pointer: '/backend/secretHeaders/0/value',
      detail: 'No value is stored: send one.',
    })
  })

  it.each(['http://a.example', 'https://b.example', 'https://a.example:8443', 'https://a.example.b'])(
    'must be sent again for a backend at another origin: %s',
    (origin) => {
      const fault = faultOf(() =>
        sealSecrets(withHeader('X-Secret'), { ...options, origins: [origin], earlier: [stored('one')] }),
      )
      expect(fault?.pointer).toBe('/backend/secretHeaders/0/value')
      expect(fault?.detail).toContain('send the value again')
    },
  )

  it('must be sent again after a change of the master key', () => {
    const changed = { ...options, vault: createVault(Buffer.alloc(32, 2)), earlier: [stored('one')] }
    expect(() => sealSecrets(withHeader('X-Secret'), changed)).toThrow(SecretsUnreadable)
    expect(faultOf(() => sealSecrets(withHeader('X-Secret', 'two'), changed))).toBeNull()
  })

  it('must be sent again if a further target has another origin, and stay if targets go', () => {
    const targets = [ORIGIN, 'https://b.example'].map((origin) => ({ origin, basePath: '' }))
    const earlier = [{ ...stored('one'), targets }]
    const keep = (origins: readonly string[]) => () =>
      sealSecrets(withHeader('X-Secret'), { ...options, origins, earlier })
    expect(faultOf(keep([ORIGIN, 'https://c.example']))?.detail).toContain('send the value again')
    expect(faultOf(keep([ORIGIN, 'https://b.example']))).toBeNull()
    expect(faultOf(keep(['https://b.example']))).toBeNull()
  })

  it('must be sent again if the backend is verified by other authorities', () => {
    const verified = { ...stored('one'), tls: { ca: 'ours' } }
    const keep = (ca: string | undefined, earlier: SealOptions['earlier']) => () =>
      sealSecrets(withHeader('X-Secret'), { ...options, ca, earlier })
    for (const ca of ['theirs', undefined]) expect(faultOf(keep(ca, [verified]))?.detail).toContain('send the value')
    expect(faultOf(keep('theirs', [stored('one')]))?.detail).toContain('send the value')
    expect(faultOf(keep('ours', [verified]))).toBeNull()
  })

  it('come from the revision with the same origin, if another one has them as well', () => {
    expect(opened(withHeader('X-Secret'), [stored('one', 'https://b.example'), stored('two')])).toEqual([
      { name: 'X-Secret', value: 'two' },
    ])
  })
})

describe('a request', () => {
  it.each(['Host', 'X-Consumer-Id', 'content_length', 'Connection'])('must not inject %s', (name) => {
    expect(faultOf(() => checkSecrets(withHeader(name, '1'), [ORIGIN], 0))?.pointer).toBe(
      '/backend/secretHeaders/0/name',
    )
  })

  it('must not name a header twice', () => {
    const input = {
      secretHeaders: [
        { name: 'X-A', value: '1' },
        { name: 'x_a', value: '2' },
      ],
    }
    expect(faultOf(() => checkSecrets(input, [ORIGIN], 0))?.pointer).toBe('/backend/secretHeaders/1/name')
  })

  it('has TLS for https only', () => {
    for (const origins of [['http://a.example'], ['https://a.example', 'http://b.example']]) {
      expect(faultOf(() => checkSecrets({ tls: { ca: '' } }, origins, 0))?.pointer).toBe('/backend/tls')
    }
  })

  it('may inject credentials', () => {
    expect(faultOf(() => checkSecrets(withHeader('Authorization', 'Basic x'), [ORIGIN], 0))).toBeNull()
  })
})
