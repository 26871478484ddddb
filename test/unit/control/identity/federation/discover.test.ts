/** Discovery documents and key sets of providers, over real HTTP. */

import { generateKeyPairSync } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { makeKey, openTestFederation, openTestProvider, record } from '../../../../fixtures/test-federation.ts'

describe('the document of a provider', () => {
  const faults = async (
    change: (provider: Awaited<ReturnType<typeof openTestProvider>>) => void,
    allowPrivate = true,
  ) => {
    const provider = await openTestProvider()
    change(provider)
    return openTestFederation({ allowPrivate }).probe(provider.issuer)
  }
  const aFault = expect.any(String)

  it('is checked before the registration', async () => {
    expect(await faults(() => {})).toBeNull()
  })

  it('must name the issuer exactly', async () => {
    for (const more of ['/', '/other', 'x'])
      expect(await faults((one) => (one.discovery = { issuer: `${one.issuer}${more}` })), more).toEqual(aFault)
    for (const issuer of [undefined, null, 1, ['a']])
      expect(await faults((one) => (one.discovery = { issuer }))).toEqual(aFault)
  })

  it('must name an allowed address for its keys', async () => {
    for (const uri of [undefined, 1, '', 'file:///etc/passwd', 'ftp://a.example/', 'x'.repeat(9_999)])
      expect(await faults((one) => (one.discovery = { jwks_uri: uri })), String(uri)).toEqual(aFault)
  })

  it('is not fetched from a private address unless the deployment allows it', async () => {
    expect(await faults(() => {}, false)).toEqual(aFault)
  })

  it('is limited in bytes and in keys', async () => {
    expect(await faults((one) => (one.keys = [{ filler: 'x'.repeat(70_000) }]))).toEqual(aFault)
    expect(await faults((one) => (one.keys = Array.from({ length: 101 }, () => ({}))))).toEqual(aFault)
  })

  it('must refer to a key set', async () => {
    for (const keys of ['none', null, { a: 1 }, 7]) expect(await faults((one) => (one.keys = keys))).toEqual(aFault)
    expect(await faults((one) => (one.status = 301))).toEqual(aFault)
  })

  it('contributes only keys that verify signatures, without private parts', async () => {
    const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
    const leaked = { ...privateKey.export({ format: 'jwk' }), kid: 'k9', extra: 'x' }
    const provider = await openTestProvider()
    provider.keys = [leaked, { kty: 'oct', k: 'AA' }, { ...makeKey('e'), use: 'enc' }, null, 'key', 7]
    const { changed, records, published } = openTestFederation()
    records.push(record(provider.issuer))
    await changed()

    expect(published.at(-1)?.[0]?.keys.map((key) => Object.keys(key).sort())).toEqual([['crv', 'kid', 'kty', 'x', 'y']])
    expect(await faults((one) => (one.keys = [{ kty: 'oct', k: 'AA' }]))).toEqual(aFault)
  })
})
