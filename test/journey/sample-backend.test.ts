/** The backend of a deployment whose new document names another backend: a new version of the sample document. */

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { request } from 'undici'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createPlatformClient } from '../../src/interfaces/cli/platform-client.ts'
import { ownPort, ownUrl } from '../fixtures/own-address.ts'
import { ledgerDocument } from './ledger-backend.ts'
import { createService, enrol, type Service } from './service.ts'

const PAYMENTS = readFileSync(join(import.meta.dirname, '../../src/app/sample/payments.openapi.yaml'), 'utf8')
let service: Service

interface Deployed {
  readonly id: string
  readonly backend: { readonly url: string }
  readonly backendSource: string
  readonly staging: { readonly backend: { readonly url: string }; readonly backendSource: string } | null
  readonly warnings: readonly string[]
}

const stage = (api: string, document: string, platform = service.platform) =>
  platform.post<Deployed>('/v1/proxies', { api, specification: Buffer.from(document).toString('base64') })

beforeAll(async () => {
  service = await createService()
  await service.start()
})
afterAll(() => service.remove())

describe('first use: replacing the document of the sample API', () => {
  it('keeps the working backend, and the response reports it', async () => {
    const staged = await stage('payments-v1', PAYMENTS.replace('version: 1.4.0', 'version: 1.5.0'))
    const activated = await service.platform.post<Deployed>(`/v1/proxies/${staged.id}/activate`)
    expect(staged.staging).toMatchObject({ backendSource: 'activeRevision', backend: { url: staged.backend.url } })
    expect(activated).toMatchObject({ backendSource: 'activeRevision', backend: staged.backend, warnings: [] })

    const { apiKey } = await enrol(service, 'payments-v1')
    const { statusCode, body } = await request(`${service.gatewayUrl}/payments-v1/accounts`, {
      headers: { 'x-api-key': apiKey },
    })
    await body.dump()
    expect(statusCode).toBe(200)
  })

  it('with another servers[0] shows and warns that the backend changes, and that it is unreachable', async () => {
    const server = ownUrl(await ownPort())
    const { staging, warnings, backend } = await stage(
      'payments-v1',
      PAYMENTS.replace('version: 1.4.0', 'version: 1.6.0').replace('https://api.payments.example', server),
    )
    expect(staging).toMatchObject({ backend: { url: server }, backendSource: 'document' })
    expect(warnings).toEqual([
      expect.stringContaining(
        `now ${server}, from servers[0] of the document; the active revision uses ${backend.url}`,
      ),
      expect.stringContaining(`${server}, from servers[0] of the document, is not reachable (ECONNREFUSED)`),
    ])
  })
})

describe('first use: a backend from servers[0]', () => {
  it('causes a warning to the operator if it is unreachable, and is not probed for another tenant', async () => {
    const document = (title: string): string =>
      JSON.stringify({ ...ledgerDocument(), info: { title, version: '1.0.0' } })
    const own = await stage('ledger-v1', document('Ledger'))
    expect(own).toMatchObject({ backend: { url: 'http://127.0.0.1:1' }, backendSource: 'document' })
    expect(own.warnings).toEqual([
      expect.stringContaining('http://127.0.0.1:1, from servers[0] of the document, is not'),
    ])

    const { credential } = await service.platform.post<{ credential: { clientId: string; clientSecret: string } }>(
      '/v1/tenants',
      { name: 'Acme' },
    )
    const acme = createPlatformClient({ ...service, ...credential })
    const foreign = document('Archive').replace('http://127.0.0.1:1', 'https://backend.invalid')
    expect((await stage('archive-v1', foreign, acme)).warnings).toEqual([])
  })
})
