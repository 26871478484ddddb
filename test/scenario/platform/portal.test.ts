/** The portal of a tenant: its brand, who changes it, and the documents that its people read. */

import { describe, expect, it } from 'vitest'
import { createPortals } from '../../../src/control/access/portals.ts'
import { createKeyedMutex } from '../../../src/control/command/keyed-mutex.ts'
import { OWN_SCOPES } from '../../fixtures/three-consumers.ts'
import { pixels, png } from '../../fixtures/images.ts'
import { publishApi } from '../../fixtures/published-api.ts'
import { openTestPlatform, type TestPlatform } from '../../fixtures/test-platform.ts'

const AUTHOR = { tenant: 'system', consumer: 'system' }

async function open(): Promise<{ platform: TestPlatform; patch: Patch; portals: ReturnType<typeof createPortals> }> {
  const platform = await openTestPlatform()
  const { registry } = platform
  for (const tenant of ['acme', 'rival']) {
    const write = {
      kind: 'tenant',
      id: tenant,
      tenant,
      expected: 0,
      body: { name: `${tenant} inc` },
      keys: { name: `${tenant} inc` },
    }
    if ((await registry.get('tenant' as never, tenant)) === null) await registry.commit(AUTHOR, 'test', [write])
  }
  const patch: Patch = (body, token = platform.token('acme')) => platform.send('PATCH', '/v1/portal', { token, body })
  return { platform, patch, portals: createPortals({ registry, mutex: createKeyedMutex() }) }
}
type Patch = (body: object, token?: string) => ReturnType<TestPlatform['send']>

describe('the portal of a tenant', () => {
  it('has a name, a colour and a logo, which strangers see for its organisation alone', async () => {
    const { platform, patch, portals } = await open()
    const logo = pixels(40, 30)
    const { status, body } = await patch({ name: 'Acme APIs', colour: '#AA0055', logo: logo.toString('base64') })
    expect([status, body]).toEqual([
      200,
      {
        enabled: true,
        name: 'Acme APIs',
        colour: '#aa0055',
        logoUrl: expect.stringMatching(/^\/console\/logo\/acme\?v=/),
      },
    ])
    const { enabled: _, ...brand } = body
    expect(await portals.brandOf('acme')).toEqual(brand)
    expect(await portals.brandOf('acme inc')).toEqual(brand)
    expect(await portals.logo('acme')).toEqual({ mediaType: 'image/png', bytes: logo })
    const none = await portals.brandOf('nobody')
    expect(await portals.brandOf('rival')).toEqual(none)
    expect(await portals.logo('rival')).toBeNull()
    const rival = await platform.send('GET', '/v1/portal', { token: platform.token('rival') })
    expect(rival.body).toEqual({ enabled: true, name: null, colour: null, logoUrl: null, consumers: [] })
    await patch({ enabled: false })
    expect([await portals.isEnabled('acme'), await portals.isEnabled('rival')]).toEqual([false, true])
    expect(await portals.brandOf('acme')).toEqual(none)
    expect(await portals.logo('acme')).toBeNull()
    await patch({ enabled: true, logo: null, name: null, colour: null })
    expect(await portals.brandOf('acme')).toEqual(none)
    expect(await portals.logo('acme')).toBeNull()
  })

  it('is changed only with its scope', async () => {
    const { platform, patch } = await open()
    for (const scopes of [['me:read', 'me:write'], OWN_SCOPES, ['roles:write']])
      expect((await patch({ name: 'Mine' }, platform.token('acme', scopes))).status).toBe(403)
    expect((await patch({ name: 'Ours' }, platform.token('acme', ['portal:write']))).status).toBe(200)
  })

  it.each([
    ['SVG', Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>'.padEnd(99))],
    ['an image of 65 KiB', Buffer.concat([pixels(9, 9), Buffer.alloc(65 * 1024)])],
    ['an image of 16 million pixels', png(4_096, 4_096)],
    ['an image without a size', png(0, 0)],
    ['a broken image', png(9, 9).subarray(0, 20)],
  ])('refuses %s as its logo, and stays as it was', async (_, logo) => {
    const { patch, portals } = await open()
    const before = await portals.brandOf('acme')
    const { status, body } = await patch({ name: 'Changed', logo: logo.toString('base64') })
    expect([status, body['code']]).toEqual([400, 'payload_invalid'])
    expect(await portals.brandOf('acme')).toEqual(before)
  })

  it.each([
    { colour: 'red' },
    { colour: '#12345' },
    { colour: '#1234567' },
    { colour: '#12345g' },
    { colour: '#123456;--x:1' },
    { colour: 'url(https://evil.example)' },
    { name: '' },
    { name: 'a\u0000b' },
    { name: 'x'.repeat(129) },
    { logo: 'https://evil.example/logo.png' },
    { logo: 'data:image/svg+xml;base64,AAAA' },
    { logo: '' },
    { logo: 'A'.repeat(88_001) },
    { logoUrl: '/console/logo/rival' },
    { enabled: 'no' },
  ])('refuses %o', async (body) => {
    const { patch } = await open()
    expect((await patch(body)).status).toBe(400)
  })
})

describe('the consumers of a person', () => {
  it('are those of the roles, with their names', async () => {
    const { platform } = await open()
    const token = platform.token('acme')
    const body = { name: 'Shop', kind: 'application' }
    const shop = String((await platform.send('POST', '/v1/consumers', { token, body })).body['id'])
    await platform.send('POST', '/v1/consumers', { token, body: { ...body, name: 'Other' } })
    const user = { username: 'ada', name: 'Ada', roles: [{ role: 'consumer', consumers: [shop] }] }
    const person = String((await platform.send('POST', '/v1/users', { token, body: user })).body['id'])
    const own = platform.token('acme', [...OWN_SCOPES, 'me:read'], undefined, { person })
    const { body: portal } = await platform.send('GET', '/v1/portal', { token: own })
    expect(portal['consumers']).toEqual([{ id: shop, name: 'Shop' }])
  })
})

describe('the document of an API that serves', () => {
  it('has neither servers nor extensions, and is shown to consumers that see the API', async () => {
    const { platform } = await open()
    const admin = platform.token('acme')
    await publishApi(platform, admin)
    const body = { name: 'Shop', kind: 'application' }
    const consumer = String((await platform.send('POST', '/v1/consumers', { token: admin, body })).body['id'])
    const token = platform.token('acme', OWN_SCOPES, undefined, { consumer })
    const read = (as: string) => platform.send('GET', '/v1/apis/payments-v1/document', { token: as })
    await platform.send('PUT', '/v1/apis/payments-v1/policy', { token: admin, body: { exposure: 'Internal' } })
    expect((await read(token)).status).toBe(404)
    expect((await read(platform.token('rival'))).status).toBe(404)
    await platform.send('PUT', '/v1/apis/payments-v1/policy', { token: admin, body: { exposure: 'Public' } })
    const { status, text, body: document } = await read(token)
    expect(status).toBe(200)
    expect(document['paths']).toBeDefined()
    expect(text).not.toContain('"servers"')
    expect(text).not.toContain('x-tollgate')
  })
})

describe('what a consumer reads of an API', () => {
  it('is nothing of an API that is not open to it, also if it names a product with it', async () => {
    const { platform } = await open()
    const admin = platform.token('acme')
    const { product, consumer: subscribed } = await publishApi(platform, admin)
    await platform.send('PUT', '/v1/apis/payments-v1/policy', { token: admin, body: { exposure: 'Internal' } })
    const body = { name: 'Stranger', kind: 'application' }
    const consumer = String((await platform.send('POST', '/v1/consumers', { token: admin, body })).body['id'])
    const stranger = platform.token('acme', OWN_SCOPES, undefined, { consumer })
    const paths = ['/v1/apis/payments-v1', '/v1/apis/payments-v1/document', `/v1/products/${product}`]
    const statuses = async (token: string) =>
      Promise.all(paths.map(async (path) => (await platform.send('GET', path, { token })).status))
    expect(await statuses(stranger)).toEqual([404, 404, 404])
    const own = platform.token('acme', OWN_SCOPES, undefined, { consumer: subscribed })
    expect((await statuses(own)).slice(0, 2)).toEqual([200, 200])
  })

  it('has no score and no programme, and neither policy nor revisions can be read', async () => {
    const { platform } = await open()
    const admin = platform.token('acme')
    const { consumer, proxy, openApi } = await publishApi(platform, admin)
    const entry = (await platform.registry.get('api' as never, 'payments-v1'))!
    const { revision, body } = entry as unknown as { revision: number; body: object }
    const graded = { ...body, complianceScore: 41, programme: 'pgm_1' }
    await platform.registry.commit(AUTHOR, 'test', [
      { kind: 'api', id: 'payments-v1', tenant: 'acme', expected: revision, body: graded, keys: { state: 'Active' } },
    ])
    const own = platform.token('acme', OWN_SCOPES, undefined, { consumer })
    const read = (path: string, token = own) => platform.send('GET', path, { token })
    expect((await read('/v1/apis/payments-v1', admin)).body).toMatchObject({ complianceScore: 41, programme: 'pgm_1' })
    const hidden = { id: 'payments-v1', complianceScore: null, programme: null }
    expect((await read('/v1/apis/payments-v1')).body).toMatchObject(hidden)
    expect((await read('/v1/apis')).body['items']).toMatchObject([hidden])
    for (const path of [
      '/v1/apis/payments-v1/policy',
      '/v1/proxies',
      `/v1/proxies/${proxy}/revisions`,
      `/v1/openapispecs/${openApi}/content`,
    ])
      expect([path, (await read(path)).status]).toEqual([path, 403])
  })
})
