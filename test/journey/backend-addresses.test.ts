/** Backend addresses of tenants other than the operator's, in the whole service. */

import { request } from 'undici'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createPlatformClient, type PlatformClient } from '../../src/interfaces/cli/platform-client.ts'
import { ledgerDocument, startLedgerBackend, type LedgerBackend } from './ledger-backend.ts'
import { createService, enrol, publish, type Enrolled, type Service } from './service.ts'

const env: Record<string, string> = { LOG_LEVEL: 'warn' }
const archive = { ...ledgerDocument(), info: { title: 'Archive', version: '1.0.0' } }
const specification = Buffer.from(JSON.stringify(archive)).toString('base64')

let service: Service
let backend: LedgerBackend
let tenant: PlatformClient

beforeAll(async () => {
  backend = await startLedgerBackend()
  service = await createService({ args: ['--empty'], env })
  await service.start()
  const { credential } = await service.platform.post<{ credential: { clientId: string; clientSecret: string } }>(
    '/v1/tenants',
    { name: 'Acme' },
  )
  const { gatewayUrl, baseUrl } = service
  tenant = createPlatformClient({ gatewayUrl, baseUrl, ...credential })
})

afterAll(async () => {
  await service.remove()
  await backend.close()
})

async function call(api: string, caller: Enrolled): Promise<{ status: number; code: unknown }> {
  const headers = { authorization: `Bearer ${await caller.token()}` }
  const { statusCode, body } = await request(`${service.gatewayUrl}/${api}/entries?n=1`, { headers })
  const text = await body.text()
  return { status: statusCode, code: statusCode < 400 ? null : (JSON.parse(text) as { code: string }).code }
}

describe('a tenant other than the operator', () => {
  it.each([
    ['its own machine', () => backend.url],
    ['a name of its own machine', () => backend.url.replace('127.0.0.1', 'localhost')],
    ['the gateway', () => service.gatewayUrl],
    ['the platform API', () => service.baseUrl],
    ['a metadata service', () => 'http://169.254.169.254'],
  ])('gets 400 for a backend at %s', async (_, url) => {
    const staging = tenant.post('/v1/proxies', { api: 'archive-v1', specification, backend: { url: url() } })
    await expect(staging).rejects.toThrow(/400[\s\S]*\/backend\/url|\/backend\/url[\s\S]*400/)
    const programme = tenant.post('/v1/programmes', { name: 'Archive', specification, backend: { url: url() } })
    await expect(programme).rejects.toThrow('/backend/url')
  })

  it('is served by a private backend while ALLOW_PRIVATE_ADDRESSES includes backends, and gets 502 otherwise', async () => {
    await service.stop()
    env['ALLOW_PRIVATE_ADDRESSES'] = 'backends'
    await service.start()
    const own = { ...service, platform: tenant }
    await publish(own, 'archive-v1', archive, backend.url)
    const caller = await enrol(own, 'archive-v1')
    expect(await call('archive-v1', caller)).toEqual({ status: 200, code: null })

    await service.stop()
    env['ALLOW_PRIVATE_ADDRESSES'] = ''
    await service.start()
    expect(await call('archive-v1', caller)).toEqual({ status: 502, code: 'upstream_refused' })
    await expect.poll(service.errors).toMatch(/refused address; its calls are answered 502/)
    await expect
      .poll(async () => (await request(`${service.baseUrl}/metrics`)).body.text())
      .toMatch(/reason="backend_address_refused"\} [1-9]/)
    await expect(tenant.post('/v1/proxies', { api: 'archive-v1', fromRevision: 1 })).rejects.toThrow('/fromRevision')
  })
})

describe('the operator', () => {
  it('may set a private backend, and one that leads back to the gateway is logged as a warning', async () => {
    await publish(service, 'ledger-v1', ledgerDocument(), backend.url)
    const caller = await enrol(service, 'ledger-v1')
    expect(await call('ledger-v1', caller)).toEqual({ status: 200, code: null })
    await service.platform.post('/v1/proxies', {
      api: 'ledger-v1',
      fromRevision: 1,
      backend: { url: service.gatewayUrl },
    })
    await expect.poll(service.errors).toContain('leads back to this service')
  })
})
