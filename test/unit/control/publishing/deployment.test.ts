/** Secrets and transformations of staged revisions, from the request to the plan that the gateway gets. */

import { X509Certificate } from 'node:crypto'
import { afterAll, describe, expect, it } from 'vitest'
import { Problem } from '../../../../src/foundation/domain/problem.ts'
import type { StageInput } from '../../../../src/control/publishing/deployment.ts'
import { openSecrets } from '../../../../src/control/publishing/backend-secrets.ts'
import { PROXY_KIND } from '../../../../src/control/publishing/proxy-document.ts'
import { ACME, base64, openTestCatalogue, orders } from '../../../fixtures/test-catalogue.ts'
import { createTestAuthority } from '../../../fixtures/test-certificates.ts'

const API = 'orders-v1'
const OWNER = { tenant: 'acme', api: API }
const BACKEND_URL = 'https://backend.example/base'
const authority = createTestAuthority()
afterAll(() => authority.remove())
const pair = authority.sign('gateway', 3_650)
const [certificate, key] = [pair.cert.toString(), pair.key.toString()]
const expiresMs = new X509Certificate(certificate).validToDate.getTime()
const another = authority.sign('gateway', 3_650).cert.toString()
const secret = (value?: string) => ({ name: 'X-Secret', ...(value !== undefined && { value }) })

function open() {
  const catalogue = openTestCatalogue()
  // Certificates are valid from the time at which they are made.
  catalogue.clock.nowMs = Date.now()
  const { proxies, registry, gateway, vault } = catalogue
  const stage = (more: Partial<StageInput>) =>
    proxies.stage(ACME, { api: API, specification: base64(orders()), ...more })
  const idOf = async () => (await registry.find(PROXY_KIND, 'api', API))!.id

  async function activate(more: Partial<StageInput>) {
    await stage(more)
    const shown = await proxies.activate(ACME, await idOf())
    return { shown, plan: gateway.prepared.at(-1)!.plan }
  }

  /** What a gateway thread gets of the active revision. */
  const openedBackend = () => openSecrets(vault, OWNER, gateway.prepared.at(-1)!.plan.backend!)

  async function faultOf(more: Partial<StageInput>) {
    try {
      await stage(more)
      return null
    } catch (cause) {
      return (cause as Problem).errors[0] ?? null
    }
  }
  const expire = (): void => void (catalogue.clock.nowMs = expiresMs)
  return { ...catalogue, expire, stage, activate, openedBackend, faultOf, idOf }
}

describe('secrets of a backend', () => {
  it('are stored and passed on encrypted, and shown as names', async () => {
    const { activate, openedBackend, registry, proxies, idOf } = open()
    const tls = { certificate, key, ca: another }
    const { shown, plan } = await activate({ backend: { url: BACKEND_URL, tls, secretHeaders: [secret('marker')] } })
    const stored = JSON.stringify(await registry.find(PROXY_KIND, 'api', API))
    const seen = [
      stored,
      JSON.stringify(plan),
      JSON.stringify(shown),
      JSON.stringify(await proxies.list('acme', { limit: 9 })),
    ]
    for (const text of seen) expect(text).not.toMatch(/marker|PRIVATE KEY/)
    expect(openedBackend()).toMatchObject({ tls, secretHeaders: [secret('marker')] })
    expect((await proxies.get('acme', await idOf())).backend).toMatchObject({
      tls: { certificate, ca: another, hasKey: true },
      secretHeaders: [{ name: 'X-Secret' }],
    })
  })

  it('stay if a request names them without a value, and go if it does not name them', async () => {
    const { activate, openedBackend } = open()
    await activate({
      backend: {
        url: BACKEND_URL,
        tls: { certificate, key },
        secretHeaders: [secret('one'), { name: 'X-Gone', value: 'two' }],
      },
    })
    await activate({
      backend: { url: `${BACKEND_URL}/v2`, tls: { certificate }, secretHeaders: [{ name: 'x-secret' }] },
    })
    expect(openedBackend()).toMatchObject({
      basePath: '/base/v2',
      tls: { certificate, key },
      secretHeaders: [{ name: 'x-secret', value: 'one' }],
    })
    const { plan } = await activate({ backend: { url: BACKEND_URL } })
    expect(plan.backend).not.toHaveProperty('tls')
    expect(plan.backend).not.toHaveProperty('secretHeaders')
  })

  it('are kept from the staged revision if the active one has none', async () => {
    const { activate, stage, openedBackend } = open()
    await activate({ backend: { url: BACKEND_URL } })
    await stage({ backend: { url: BACKEND_URL, secretHeaders: [secret('staged')] } })
    await activate({ backend: { url: BACKEND_URL, secretHeaders: [secret()] } })
    expect(openedBackend().secretHeaders).toEqual([secret('staged')])
  })

  it.each(['http://backend.example/base', 'https://backend.example:8443/base', 'https://thief.example/base'])(
    'are never sent to another origin without being sent again: %s',
    async (url) => {
      const { activate, faultOf } = open()
      await activate({ backend: { url: BACKEND_URL, tls: { certificate, key }, secretHeaders: [secret('one')] } })
      const again = { detail: expect.stringContaining('send the value again') as string }
      const fromActive = { fromRevision: 1, specification: undefined as never }
      for (const more of [{}, fromActive]) {
        expect(await faultOf({ ...more, backend: { url, secretHeaders: [secret()] } })).toMatchObject({
          pointer: '/backend/secretHeaders/0/value',
          ...again,
        })
      }
      if (!url.startsWith('https:')) return
      expect(await faultOf({ backend: { url, tls: { certificate } } })).toMatchObject({
        pointer: '/backend/tls/key',
        ...again,
      })
    },
  )

  it('do not follow a document to its new server', async () => {
    const { activate, stage } = open()
    await activate({ backend: { url: BACKEND_URL, secretHeaders: [secret('one')] } })
    const specification = base64(orders({ servers: [{ url: 'https://thief.example' }] }))
    expect(await stage({ specification })).toMatchObject({
      warnings: [
        expect.stringContaining('is now https://thief.example'),
        expect.stringContaining('none of the secret'),
      ],
    })
    const { plan } = await activate({ specification })
    expect(plan.backend).toMatchObject({ origin: 'https://thief.example' })
    expect(plan.backend).not.toHaveProperty('secretHeaders')
  })

  it('stay with the backend that a new document or an earlier revision keeps', async () => {
    const { activate, openedBackend } = open()
    await activate({ backend: { url: BACKEND_URL, secretHeaders: [secret('one')] } })
    await activate({ specification: base64(orders({ version: '1.3.0' })) })
    expect(openedBackend().secretHeaders).toEqual([secret('one')])
    await activate({ backend: { url: 'https://other.example', secretHeaders: [secret('two')] } })
    await activate({ fromRevision: 1, specification: undefined as never })
    expect(openedBackend()).toMatchObject({ origin: 'https://backend.example', secretHeaders: [secret('one')] })
  })

  it('must match: a kept key belongs to the certificate, and a missing value is refused', async () => {
    const { activate, faultOf } = open()
    await activate({ backend: { url: BACKEND_URL, tls: { certificate, key } } })
    expect(await faultOf({ backend: { url: BACKEND_URL, tls: { certificate: another } } })).toMatchObject({
      pointer: '/backend/tls/key',
      detail: expect.stringContaining('does not match') as string,
    })
    expect(await faultOf({ backend: { url: BACKEND_URL, secretHeaders: [secret()] } })).toMatchObject({
      pointer: '/backend/secretHeaders/0/value',
    })
  })
})

describe('a certificate that has expired', () => {
  const backend = { url: BACKEND_URL, tls: { certificate, key } }

  it('is refused by whatever keeps it, until a request has another one or none', async () => {
    const { activate, expire, faultOf } = open()
    await activate({ backend })
    expire()
    const fault = { pointer: '/backend/tls/certificate', detail: expect.stringContaining('expired at') as string }
    const fromActive = { fromRevision: 1, specification: undefined as never }
    for (const more of [{}, fromActive, { backend }, { backend: { url: BACKEND_URL, tls: { certificate } } }])
      expect(await faultOf(more)).toMatchObject(fault)
    for (const more of [{}, fromActive]) expect(await faultOf({ ...more, backend: { url: BACKEND_URL } })).toBeNull()
  })

  it.each<[string, object]>([
    ['all callers', {}],
    ['a canary', { percent: 10 }],
  ])('is not activated for %s', async (_, input) => {
    const { activate, stage, expire, proxies, gateway, idOf } = open()
    await activate({ backend: { url: BACKEND_URL } })
    await stage({ backend })
    expire()
    await expect(proxies.activate(ACME, await idOf(), input)).rejects.toMatchObject({
      code: 'state_conflict',
      message: expect.stringContaining('expired at') as string,
    })
    expect(gateway.prepared).toHaveLength(1)
  })
})

describe('a transformation', () => {
  const transform = { request: { set: [{ name: 'X-Stage', value: 'live' }] }, basePath: { from: '/v1', to: '/' } }

  it('is shown, reaches the gateway, and stays until it is replaced or removed', async () => {
    const { activate, stage } = open()
    expect(await stage({ transform })).toMatchObject({ transform, staging: { transform } })
    expect(await activate({ transform })).toMatchObject({ shown: { transform }, plan: { transform } })
    expect(await activate({})).toMatchObject({ shown: { transform }, plan: { transform } })
    const { shown, plan } = await activate({ transform: null })
    expect(shown.transform).toBeNull()
    expect(plan).not.toHaveProperty('transform')
    expect(await activate({ fromRevision: 1, specification: undefined as never })).toMatchObject({
      plan: { transform },
    })
    expect(await activate({ transform: { request: { remove: [] } } })).toMatchObject({ shown: { transform: null } })
  })
})
