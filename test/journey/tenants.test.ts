/** Two tenants of one gateway: each can work, and can neither see nor call resources of the other. */

import { request } from 'undici'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createPlatformClient, fetchToken, type PlatformClient } from '../../src/interfaces/cli/platform-client.ts'
import { ledgerDocument, startLedgerBackend, type LedgerBackend } from './ledger-backend.ts'
import { createService, enrol, publish, type Service, TWO_THREADS } from './service.ts'

interface NewTenant {
  readonly id: string
  readonly credential: { readonly clientId: string; readonly clientSecret: string }
}

let service: Service
let backend: LedgerBackend
let tenant: NewTenant
let other: PlatformClient

beforeAll(async () => {
  backend = await startLedgerBackend()
  // The second tenant's backend is on this machine.
  service = await createService({ args: ['--empty'], env: { ...TWO_THREADS, ALLOW_PRIVATE_ADDRESSES: 'backends' } })
  await service.start()
  tenant = await service.platform.post<NewTenant>('/v1/tenants', { name: 'Acme & Sons' })
  const { gatewayUrl, baseUrl } = service
  other = createPlatformClient({ gatewayUrl, baseUrl, ...tenant.credential })
})

afterAll(async () => {
  await service.remove()
  await backend.close()
})

const archive = { ...ledgerDocument(), info: { title: 'Archive', version: '1.0.0' } }

async function statusOf(api: string, token: string): Promise<number> {
  const headers = { authorization: `Bearer ${token}` }
  const { statusCode, body } = await request(`${service.gatewayUrl}/${api}/entries?n=1`, { headers })
  await body.dump()
  return statusCode
}

describe('a tenant', () => {
  it('is refused as soon as it is disabled, until it is enabled, and is removed after its export', async () => {
    const made = await service.platform.post<NewTenant>('/v1/tenants', { name: 'Guest' })
    const issue = () => fetchToken({ gatewayUrl: service.gatewayUrl, api: 'platform-v1', ...made.credential })
    const { accessToken } = await issue()
    const list = async () =>
      (await fetch(`${service.baseUrl}/v1/consumers`, { headers: { authorization: `Bearer ${accessToken}` } })).status
    expect(await list()).toBe(200)
    await service.platform.post(`/v1/tenants/${made.id}/disable`)
    expect(await list()).toBe(403)
    await expect(issue()).rejects.toThrow()
    await service.platform.post(`/v1/tenants/${made.id}/enable`)
    expect(await list()).toBe(200)

    await service.platform.post(`/v1/tenants/${made.id}/disable`)
    const { accessToken: operator } = await fetchToken({
      gatewayUrl: service.gatewayUrl,
      api: 'platform-v1',
      clientId: 'journey-admin',
      clientSecret: 'journey-admin-secret-0123456789',
    })
    await expect(service.platform.delete(`/v1/tenants/${made.id}`)).rejects.toThrow()
    const exported = await fetch(`${service.baseUrl}/v1/tenants/${made.id}/export`, {
      headers: { authorization: `Bearer ${operator}` },
    })
    const lines = (await exported.text()).trim().split('\n')
    expect(JSON.parse(lines.at(-1) ?? '')).toEqual({ end: true, tenant: made.id, documents: lines.length - 1 })
    await service.platform.delete(`/v1/tenants/${made.id}`)
    expect(await list()).toBe(401)
  })

  it('publishes, subscribes and is called like any other', async () => {
    const own = { ...service, platform: other }
    await publish(own, 'archive-v1', archive, backend.url)
    const caller = await enrol(own, 'archive-v1')
    expect(await statusOf('archive-v1', await caller.token())).toBe(200)
    const claims = JSON.parse(Buffer.from((await caller.token()).split('.')[1] ?? '', 'base64url').toString()) as object
    expect(claims).toMatchObject({ tenant: tenant.id })
  })

  it('sees no resource of another tenant, and refuses its tokens', async () => {
    await publish(service, 'ledger-v1', ledgerDocument(), backend.url)
    const caller = await enrol(service, 'ledger-v1')
    expect(await statusOf('ledger-v1', await caller.token())).toBe(200)
    expect(await statusOf('archive-v1', await caller.token())).toBe(401)
    const apisOf = async (platform: PlatformClient) =>
      (await platform.get<{ items: readonly { id: string }[] }>('/v1/apis')).items.map(({ id }) => id)
    expect(await apisOf(other)).toEqual(['archive-v1'])
    expect(await apisOf(service.platform)).toEqual(['ledger-v1', 'platform-v1'])
    await expect(other.get(`/v1/consumers/${caller.consumer}`)).rejects.toThrow('404')
    await expect(publish({ ...service, platform: other }, 'ledger-v1', ledgerDocument(), backend.url)).rejects.toThrow(
      'name_taken',
    )
  })

  it('can administer itself, but not the gateway', async () => {
    await expect(other.get('/v1/tenants')).rejects.toThrow('403')
    await expect(other.post('/v1/signingkeys/rotate')).rejects.toThrow('403')
    const { id: consumer } = await other.post<{ id: string }>('/v1/consumers', { name: 'CI', kind: 'application' })
    const own = { consumer, api: 'platform-v1', securityTypes: ['OAuth2'] }
    const scopes = ['apis:read', 'platform:admin']
    await expect(other.post('/v1/subscriptions', { ...own, scopes })).rejects.toThrow('operation_forbidden')

    const { id } = await other.post<{ id: string }>('/v1/subscriptions', { ...own, scopes: ['apis:read'] })
    const { items } = await other.get<{ items: readonly { clientId: string; clientSecret: string }[] }>(
      `/v1/subscriptions/${id}/credentials`,
    )
    const { clientId = '', clientSecret = '' } = items[0] ?? {}
    const { accessToken } = await fetchToken({ ...service, api: 'platform-v1', clientId, clientSecret })
    const read = await request(`${service.baseUrl}/v1/apis`, { headers: { authorization: `Bearer ${accessToken}` } })
    expect(((await read.body.json()) as { items: { id: string }[] }).items.map((api) => api.id)).toEqual(['archive-v1'])
    const forbidden = await request(`${service.baseUrl}/v1/consumers`, {
      headers: { authorization: `Bearer ${accessToken}` },
    })
    expect(forbidden.statusCode).toBe(403)
    await forbidden.body.dump()
  })

  it('exists after a restart, like the operator’s credential', async () => {
    await service.stop()
    await service.start()
    const { items } = await service.platform.get<{ items: readonly { name: string }[] }>('/v1/tenants')
    expect(items.map(({ name }) => name)).toEqual(['default', 'Acme & Sons'])
    expect((await other.get<{ items: readonly object[] }>('/v1/apis')).items).toHaveLength(1)
    await expect(service.platform.post('/v1/tenants', { name: 'Acme & Sons' })).rejects.toThrow('name_taken')
  })
})
