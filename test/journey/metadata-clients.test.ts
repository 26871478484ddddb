/** Clients that are known by a metadata document, with real gateway threads. */

import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { request } from 'undici'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createBrowser } from './browser.ts'
import { ledgerDocument, startLedgerBackend, type LedgerBackend } from './ledger-backend.ts'
import { logIn } from './person.ts'
import { authorizeUrl, callLedger, claimsOf, createConsumer, invite, PASSWORD, subscribe } from './shared-client.ts'
import { createService, publish, type Service, TWO_THREADS } from './service.ts'

let service: Service
let backend: LedgerBackend

beforeAll(async () => {
  backend = await startLedgerBackend()
  service = await createService({ args: ['--empty'], env: { ...TWO_THREADS, ALLOW_PRIVATE_ADDRESSES: 'clients' } })
  await service.start()
  await publish(service, 'ledger-v1', ledgerDocument(), backend.url)
})

afterAll(async () => {
  await service.remove()
  await backend.close()
})

describe('a client that is known by a metadata document', () => {
  let server: Server
  let clientId: string

  beforeAll(async () => {
    server = createServer((_, response) => {
      const members = { client_id: clientId, client_name: 'Reader', redirect_uris: ['http://127.0.0.1/callback'] }
      response.writeHead(200, { 'Content-Type': 'application/json' }).end(JSON.stringify(members))
    })
    const { promise, resolve } = Promise.withResolvers<void>()
    server.listen(0, '127.0.0.1', resolve)
    await promise
    clientId = `http://127.0.0.1:${(server.address() as AddressInfo).port}/client.json`
  })

  afterAll(() => void server.close())

  it('is announced by the discovery document', async () => {
    const { body } = await request(`${service.gatewayUrl}/.well-known/oauth-authorization-server/ledger-v1`)
    expect(await body.json()).toMatchObject({ client_id_metadata_document_supported: true })
  })

  it('asks for the organisation, and acts under the subscription of the person', async () => {
    const shop = await createConsumer(service)
    const subscription = await subscribe(service, shop)
    const person = {
      ...(await invite(service, { role: 'consumer', consumers: [shop] })),
      clientId,
      organisation: 'default',
    }
    const page = await createBrowser().open(authorizeUrl(service, clientId))
    expect(page.html).toContain('name="organisation"')
    expect(page.html).toContain(`Reader (${new URL(clientId).host})`)
    const { token } = await logIn(service, person)
    expect(claimsOf(token)).toMatchObject({ sub: person.id, subscription, client_id: clientId })
    expect(await callLedger(service, token)).toMatchObject({ status: 200 })
    const { scope } = await logIn(service, { ...person, api: 'platform-v1' })
    expect(scope.split(' ').filter((each) => !/:own$|^me:/.test(each))).toEqual([])
    await service.platform.post(`/v1/subscriptions/${subscription}/cancel`)
    expect(await callLedger(service, token)).toEqual({ status: 401, code: 'credential_invalid' })
  })

  it('has the same page for an unknown organisation as for a wrong password', async () => {
    const { username } = await invite(service)
    const pages: string[] = []
    for (const [organisation, password] of [
      ['default', 'a wrong password'],
      ['rival', PASSWORD],
      ['nobody', PASSWORD],
    ] as const) {
      const browser = createBrowser()
      const form = { organisation, username, password }
      const { status, html } = await browser.submit(await browser.open(authorizeUrl(service, clientId)), form)
      expect(status).toBe(401)
      pages.push(html.replaceAll(organisation, 'NAME').replaceAll(/value="[^"]{64,}"/g, 'value=""'))
    }
    expect(new Set(pages).size).toBe(1)
  })

  it('can return only to a registered address', async () => {
    for (const uri of ['http://127.0.0.1:50123/other', 'https://127.0.0.1/callback', 'http://localhost/callback']) {
      expect((await createBrowser().open(authorizeUrl(service, clientId, { redirect_uri: uri }))).status).toBe(400)
    }
  })
})
