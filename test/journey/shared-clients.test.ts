/** Clients without a subscription of their own, with real gateway threads: the subscription is the person's. */

import { request } from 'undici'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createPlatformClient } from '../../src/interfaces/cli/platform-client.ts'
import { createBrowser } from './browser.ts'
import { ledgerDocument, startLedgerBackend, type LedgerBackend } from './ledger-backend.ts'
import { getCode, logIn, setPassword } from './person.ts'
import {
  authorizeUrl,
  call,
  callLedger,
  claimsOf,
  CLIENT,
  createConsumer,
  invite,
  LOOPBACK,
  PASSWORD,
  subscribe,
} from './shared-client.ts'
import { createService, publish, type Service, TWO_THREADS } from './service.ts'

let service: Service
let backend: LedgerBackend

beforeAll(async () => {
  backend = await startLedgerBackend()
  service = await createService({ args: ['--empty'], env: TWO_THREADS })
  await service.start()
  await publish(service, 'ledger-v1', ledgerDocument(), backend.url)
})

afterAll(async () => {
  await service.remove()
  await backend.close()
})

async function ownConsumer(): Promise<string> {
  const { items } = await service.platform.get<{ items: { id: string; name: string }[] }>('/v1/consumers')
  return items.find(({ name }) => name === 'People of the tenant')?.id ?? ''
}

const callPlatform = (path: string, token: string) => call(service.baseUrl + path, token)

describe('a person without a consumer', () => {
  it('uses the platform with the scopes of their roles, under the own consumer of the tenant', async () => {
    const person = { ...(await invite(service, { role: 'auditor' })), api: 'platform-v1' }
    const { token, scope } = await logIn(service, person)
    expect(scope.split(' ').filter((each) => !each.endsWith(':read'))).toEqual(['me:write'])
    expect(await callPlatform('/v1/users', token)).toMatchObject({ status: 200 })
    expect(await callPlatform('/v1/me', token)).toMatchObject({ status: 200 })
    expect(claimsOf(token)).toMatchObject({ sub: person.id, client_id: CLIENT, tenant: 'default' })
    const { items } = await service.platform.get<{ items: { id: string }[] }>(
      `/v1/subscriptions?consumer=${await ownConsumer()}`,
    )
    expect(items.map(({ id }) => id)).toEqual([claimsOf(token)['subscription']])
  })

  it('has only the own account at the platform if the person has no role', async () => {
    const person = { ...(await invite(service)), api: 'platform-v1' }
    const { token, scope } = await logIn(service, person)
    expect(scope.split(' ').toSorted()).toEqual(['me:read', 'me:write'])
    expect(await callPlatform('/v1/apis', token)).toMatchObject({ status: 403 })
  })

  it('is sent back without a code while the tenant has no subscription, and then shares its life', async () => {
    const person = await invite(service)
    const browser = createBrowser()
    const url = authorizeUrl(service, CLIENT, { resource: `${service.gatewayUrl}/ledger-v1`, state: 'xyz' })
    const { headers } = await browser.submit(await browser.open(url), {
      username: person.username,
      password: PASSWORD,
    })
    const back = new URL(String(headers['location']))
    expect(back.origin + back.pathname).toBe(LOOPBACK)
    expect(Object.fromEntries(back.searchParams)).toMatchObject({ error: 'access_denied', state: 'xyz' })

    const consumer = await ownConsumer()
    const subscription = await subscribe(service, consumer)
    const { token } = await logIn(service, person)
    expect(claimsOf(token)).toMatchObject({ subscription, sub: person.id })
    expect(await callLedger(service, token)).toMatchObject({ status: 200 })
    const command = (name: string) => service.platform.post(`/v1/subscriptions/${subscription}/${name}`)
    await command('suspend')
    expect(await callLedger(service, token)).toEqual({ status: 403, code: 'subscription_required' })
    await command('resume')
    expect(await callLedger(service, token)).toMatchObject({ status: 200 })
    await service.platform.put(`/v1/subscriptions/${subscription}/scopes`, { scopes: [] })
    expect(await callLedger(service, token)).toEqual({ status: 403, code: 'operation_forbidden' })
    await command('cancel')
    expect(await callLedger(service, token)).toEqual({ status: 401, code: 'credential_invalid' })
    expect((await callPlatform('/v1/me', (await logIn(service, { ...person, api: 'platform-v1' })).token)).status).toBe(
      200,
    )
  })
})

describe('a person of a consumer', () => {
  it('acts under the first consumer that is subscribed, directly or by a product', async () => {
    const [other, shop] = [await createConsumer(service), await createConsumer(service)]
    const person = await invite(service, { role: 'consumer', consumers: [other, shop] })
    const product = { name: 'Books', apis: ['ledger-v1'] }
    const { id } = await service.platform.post<{ id: string }>('/v1/products', product)
    const subscription = await subscribe(service, shop, { product: id })
    const { token } = await logIn(service, person)
    expect(claimsOf(token)).toMatchObject({ subscription, ApiProductId: id, sub: person.id })
    expect(await callLedger(service, token)).toMatchObject({ status: 200 })

    const first = await subscribe(service, other)
    const { token: second } = await logIn(service, person)
    expect(claimsOf(second)).toMatchObject({ subscription: first })
    await service.platform.post(`/v1/consumers/${other}/disable`)
    expect(await callLedger(service, second)).toEqual({ status: 403, code: 'subscription_required' })
    expect(await callLedger(service, token)).toMatchObject({ status: 200 })
  })

  it('reads only what belongs to the consumer at the platform', async () => {
    const shop = await createConsumer(service)
    const person = { ...(await invite(service, { role: 'consumer', consumers: [shop] })), api: 'platform-v1' }
    const { token, scope } = await logIn(service, person)
    expect(scope.split(' ').filter((each) => !each.endsWith(':own'))).toEqual(['me:read', 'me:write'])
    const { body } = await request(`${service.baseUrl}/v1/subscriptions`, {
      headers: { authorization: `Bearer ${token}` },
    })
    const { items } = (await body.json()) as { items: { consumer: string }[] }
    expect(items.map(({ consumer }) => consumer)).toEqual([shop])
  })

  it('loses the token when the person is disabled', async () => {
    const person = { ...(await invite(service, { role: 'auditor' })), api: 'platform-v1' }
    const { token } = await logIn(service, person)
    await service.platform.post(`/v1/users/${person.id}/disable`)
    expect(await callPlatform('/v1/me', token)).toEqual({ status: 401, code: 'credential_invalid' })
  })
})

describe('the client of a tenant', () => {
  const withoutSeals = (html: string) => html.replaceAll(/value="[^"]{64,}"/g, 'value=""')

  it('has the same pages for an unknown organisation, for another tenant and for a wrong password', async () => {
    const { username } = await invite(service)
    const { id, credential } = await service.platform.post<{ id: string; credential: Record<string, string> }>(
      '/v1/tenants',
      { name: 'rival' },
    )
    const { clientId = '', clientSecret = '' } = credential
    const { gatewayUrl, baseUrl } = service
    const rival = createPlatformClient({ gatewayUrl, baseUrl, clientId, clientSecret })
    const invited = await rival.post<{ invitation: { url: string } }>('/v1/users', { username: 'mallory', name: 'M' })
    expect(await setPassword(invited.invitation.url, PASSWORD)).toBe(200)

    const pages: unknown[] = []
    for (const [organisation, name, password] of [
      ['default', username, 'a wrong password'],
      ['nobody', username, PASSWORD],
      [id, username, PASSWORD],
      ['rival', username, PASSWORD],
      ['default', 'mallory', PASSWORD],
    ] as const) {
      const browser = createBrowser()
      const first = await browser.open(authorizeUrl(service, `tollgate-cli.${organisation}`))
      const second = await browser.submit(first, { username: name, password })
      pages.push([first, second].map(({ status, html }) => [status, withoutSeals(html).replaceAll(name, 'NAME')]))
      expect([first.status, second.status]).toEqual([200, 401])
    }
    expect(new Set(pages.map((page) => JSON.stringify(page))).size).toBe(1)
    const login = { username: 'mallory', password: PASSWORD, api: 'platform-v1', redirectUri: LOOPBACK }
    expect(await logIn(service, { ...login, clientId: 'tollgate-cli.rival' })).toMatchObject({ status: 200 })
    expect(await logIn(service, { ...login, clientId: `tollgate-cli.${id}` })).toMatchObject({ status: 200 })
    expect(await getCode(service, { ...login, clientId: 'tollgate-cli.rival', api: 'ledger-v1' })).toMatchObject({
      code: '',
    })

    await service.platform.post(`/v1/tenants/${id}/disable`)
    expect(await logIn(service, { ...login, clientId: 'tollgate-cli.rival' })).toMatchObject({ status: 401 })
  })

  it('returns only to the computer of the browser', async () => {
    const statusOf = async (uri: string) =>
      (await createBrowser().open(authorizeUrl(service, CLIENT, { redirect_uri: uri }))).status
    for (const uri of [LOOPBACK, 'http://127.0.0.1/', 'http://[::1]:9/x?y=z']) expect(await statusOf(uri)).toBe(200)
    for (const uri of [
      'https://app.example/back',
      'http://127.0.0.1.evil.example/',
      'http://127.0.0.1:80@evil.example/',
      'http://localhost:80/',
      'http://127.0.0.1:99999/',
      'http://127.0.0.1:1/#x',
      'javascript:alert(1)',
      'com.example.app:/back',
    ]) {
      expect(await statusOf(uri)).toBe(400)
    }
  })

  it('has no access of its own', async () => {
    const { statusCode, body } = await request(`${service.gatewayUrl}/platform-v1/oauth2/v2/token`, {
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: `grant_type=client_credentials&client_id=${CLIENT}`,
    })
    await body.dump()
    expect(statusCode).toBe(400)
  })
})

describe('the own consumer of a tenant', () => {
  it('cannot be removed or disabled, nor lose its access to the platform', async () => {
    const consumer = await ownConsumer()
    const { items } = await service.platform.get<{ items: { id: string; ApiId: string }[] }>(
      `/v1/subscriptions?consumer=${consumer}`,
    )
    const access = items.find(({ ApiId }) => ApiId === 'platform-v1')?.id ?? ''
    const refused = /409: .*state_conflict/
    await expect(service.platform.delete(`/v1/consumers/${consumer}`)).rejects.toThrow(refused)
    await expect(service.platform.post(`/v1/consumers/${consumer}/disable`)).rejects.toThrow(refused)
    await expect(service.platform.post(`/v1/subscriptions/${access}/cancel`)).rejects.toThrow(refused)
    await expect(service.platform.post(`/v1/subscriptions/${access}/suspend`)).rejects.toThrow(refused)
    await expect(service.platform.put(`/v1/subscriptions/${access}/scopes`, { scopes: [] })).rejects.toThrow(refused)
  })
})
