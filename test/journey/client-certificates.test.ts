/** A service that asks clients for certificates: tokens and keys are bound to them, from the token endpoint to the backend. */

import { createServer, type IncomingHttpHeaders } from 'node:http'
import { Agent, request } from 'undici'
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest'
import { createCertificateFolder, type CertificateFolder } from '../fixtures/certificate-folder.ts'
import { OWN_ADDRESS } from '../fixtures/own-address.ts'
import { createTestAuthority, thumbprintOf, type Certificate } from '../fixtures/test-certificates.ts'
import { createService, enrol, publish, type Enrolled, type Service, TWO_THREADS } from './service.ts'
import { document, listen } from './things-api.ts'

const API = 'things-v1'
const authority = createTestAuthority()
const others = createTestAuthority()
const shop = authority.signFor('clientAuth', 'shop')
const bank = authority.signFor('clientAuth', 'bank')
const stranger = others.signFor('clientAuth', 'shop')
const received: IncomingHttpHeaders[] = []
const backend = createServer((incoming, response) => {
  received.push(incoming.headers)
  incoming.resume().on('end', () => response.end('{}'))
})
let folder: CertificateFolder
let service: Service
let caller: Enrolled

/** One operation requires a certificate. */
function strictDocument(): object {
  const { paths, ...rest } = document('Things')
  const limited = { get: { ...paths['/limited'].get, 'x-tollgate-client-certificate': 'required' } }
  return { ...rest, paths: { ...paths, '/limited': limited } }
}

beforeAll(async () => {
  folder = createCertificateFolder(() => {})
  folder.put('gw', authority.sign(OWN_ADDRESS))
  folder.write('clients.pem', authority.cert)
  service = await createService({
    env: {
      ...TWO_THREADS,
      TLS_CERT_FILE: folder.at('gw.crt'),
      TLS_KEY_FILE: folder.at('gw.key'),
      TLS_CLIENT_CA_FILE: folder.at('clients.pem'),
    },
  })
  await service.start()
  await publish(service, API, strictDocument(), await listen(backend))
  caller = await enrol(service, API)
}, 120_000)

afterAll(async () => {
  await service.remove()
  backend.closeAllConnections()
  backend.close()
  folder.remove()
  others.remove()
  authority.remove()
})

/** A client with connections of its own. */
function connect(certificate: Certificate | null) {
  const dispatcher = new Agent({ connect: { ...certificate } })
  onTestFinished(() => dispatcher.close())

  async function send(url: string, options: Parameters<typeof request>[1] = {}) {
    const { statusCode: status, headers, body } = await request(url, { ...options, dispatcher })
    const json = (await body.json()) as Record<string, unknown>
    return { status, headers, json, code: json['code'] }
  }

  const get = (path: string, headers: Record<string, string>) =>
    send(`${service.gatewayUrl}/${API}${path}`, { headers })

  async function oauth(endpoint: string, fields: Record<string, string> = {}, api = API, client = caller) {
    const { clientId, clientSecret } = client
    const form = new URLSearchParams({ client_id: clientId, client_secret: clientSecret, ...fields })
    const headers = { 'content-type': 'application/x-www-form-urlencoded' }
    const url = `${service.gatewayUrl}/${api}/oauth2/v2/${endpoint}`
    return send(url, { method: 'POST', headers, body: form.toString() })
  }

  async function token(api = API, client = caller): Promise<string> {
    const { json } = await oauth('token', { grant_type: 'client_credentials' }, api, client)
    return String(json['access_token'])
  }
  return { send, get, oauth, token }
}

const bearer = (token: string) => ({ authorization: `Bearer ${token}` })
const claimsOf = (token: string) => JSON.parse(Buffer.from(token.split('.')[1]!, 'base64url').toString()) as object
const invalid = { status: 401, code: 'credential_invalid' }

it('binds a token to the certificate of the client, on every thread and connection', async () => {
  const token = await connect(shop).token()
  const cnf = { 'x5t#S256': thumbprintOf(shop) }
  expect(claimsOf(token)).toMatchObject({ cnf })
  expect((await connect(null).oauth('introspect', { token })).json).toMatchObject({ active: true, cnf })
  for (let round = 0; round < 6; round++) {
    for (const path of ['/things', '/limited']) {
      expect(await connect(shop).get(path, bearer(token))).toMatchObject({ status: 200 })
      for (const other of [bank, stranger, null]) {
        const answer = await connect(other).get(path, bearer(token))
        expect(answer).toMatchObject(invalid)
        expect(answer.headers['www-authenticate']).toContain('error="invalid_token"')
      }
    }
  }
})

it('does not bind the token of a client whose certificate does not verify', async () => {
  const token = await connect(stranger).token()
  expect(claimsOf(token)).not.toHaveProperty('cnf')
  const client = connect(shop)
  expect(await client.get('/things', bearer(token))).toMatchObject({ status: 200 })
  expect(await client.get('/limited', bearer(token))).toMatchObject(invalid)
  expect(await client.get('/limited', { 'x-api-key': caller.apiKey })).toMatchObject(invalid)
})

it('binds keys and clients by a rotation', async () => {
  const path = `/v1/subscriptions/${caller.subscription}/credentials/rotate`
  const made = await service.platform.post<{
    items: readonly { apiKey: string; clientId: string; clientSecret: string }[]
  }>(path, { certificateThumbprint: thumbprintOf(shop) })
  const client = made.items.find(({ clientId }) => clientId !== null)!
  const headers = { 'x-api-key': made.items.find(({ apiKey }) => apiKey !== null)!.apiKey }
  for (const path of ['/things', '/limited']) {
    expect(await connect(shop).get(path, headers)).toMatchObject({ status: 200 })
    for (const other of [bank, stranger, null]) expect(await connect(other).get(path, headers)).toMatchObject(invalid)
  }
  const bound = { ...caller, ...client }
  expect(claimsOf(await connect(shop).token(API, bound))).toHaveProperty('cnf')
  const refused = await connect(bank).oauth('token', { grant_type: 'client_credentials' }, API, bound)
  expect(refused).toMatchObject({ status: 401, json: { error: 'invalid_client' } })
  const wrong = service.platform.post(path, { certificateThumbprint: 'not a thumbprint' })
  await expect(wrong).rejects.toThrow(/certificateThumbprint/)
})

it('gives tokens for the platform API that are not bound, and take effect there', async () => {
  const reader = await enrol(service, 'platform-v1', { name: 'Reader', scopes: ['apis:read'] })
  const token = await connect(shop).token('platform-v1', reader)
  expect(claimsOf(token)).not.toHaveProperty('cnf')
  expect(await connect(null).send(`${service.baseUrl}/v1/apis`, { headers: bearer(token) })).toMatchObject({
    status: 200,
  })
})

it('passes on no header in which a client claims a certificate', async () => {
  received.length = 0
  const token = await connect(shop).token()
  await connect(shop).get('/things', { ...bearer(token), 'client-cert': ':forged:', 'client-cert-chain': ':forged:' })
  expect(received).toHaveLength(1)
  expect(received[0]).not.toHaveProperty('client-cert')
  expect(received[0]).not.toHaveProperty('client-cert-chain')
})
