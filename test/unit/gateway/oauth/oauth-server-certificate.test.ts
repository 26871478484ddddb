/** The client certificate of a connection, as the main thread receives it with a request for a token. */

import { Agent, request } from 'node:https'
import { text } from 'node:stream/consumers'
import { X509Certificate } from 'node:crypto'
import { afterAll, expect, it, onTestFinished } from 'vitest'
import { createClientServer } from '../../../../src/gateway/connection/client-server.ts'
import { createOauthHandler, type OauthHandler } from '../../../../src/gateway/oauth/oauth-server.ts'
import { answer, type OauthCall } from '../../../../src/boundary/plan/oauth-call.ts'
import { listen } from '../../../fixtures/test-backend.ts'
import { NO_CORS } from '../../../fixtures/client-server.ts'
import { createTestAuthority, thumbprintOf, type Certificate } from '../../../fixtures/test-certificates.ts'
import { API, SCOPES } from '../../../fixtures/token-endpoints.ts'

const authority = createTestAuthority()
const others = createTestAuthority()
afterAll(() => {
  others.remove()
  authority.remove()
})

const shop = authority.signFor('clientAuth', 'shop')
const FORGED = '47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU'
const TOKEN = `/${API}/oauth2/v2/token`
const DISCOVERY = `/${API}/.well-known/openid-configuration`

async function openServer(asksForCertificate: boolean, nowMs = Date.now) {
  const calls: OauthCall[] = []
  const { cert, key } = authority.sign('gw.example.test')
  let paths: OauthHandler | null = null
  const server = createClientServer({
    connectionsMax: 10,
    tls: {
      fallback: { names: [], cert: cert.toString(), key: key.toString() },
      others: [],
      clientCa: asksForCertificate ? authority.cert.toString() : null,
      ticketKeys: Buffer.alloc(48, 1),
    },
    trustedProxies: [],
    count: () => {},
    onFault: (cause) => expect.unreachable(String(cause)),
    onRequest: (incoming, response) => void paths?.(incoming, response, incoming.url ?? '', NO_CORS, null),
  })
  const port = await listen(server)
  paths = createOauthHandler({
    gatewayUrl: 'https://gateway.example',
    execute: async (call) => {
      calls.push(call)
      return answer(200, {})
    },
    jwks: () => ({}),
    scopesOf: () => SCOPES.allowed,
    asksForCertificate,
    nowMs,
  })
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })

  async function send(path: string, certificate: Certificate | null, headers: Record<string, string> = {}) {
    const agent = new Agent({ ...certificate })
    onTestFinished(() => agent.destroy())
    const { promise, resolve, reject } = Promise.withResolvers<string>()
    const isPost = path === TOKEN
    const form = isPost ? { 'content-type': 'application/x-www-form-urlencoded' } : {}
    const at = { agent, port, host: '127.0.0.1', servername: 'gw.example.test', path }
    const sent = request(
      { ...at, method: isPost ? 'POST' : 'GET', headers: { ...form, ...headers } },
      (response) => void text(response).then(resolve, reject),
    )
    sent.on('error', reject)
    sent.end(isPost ? 'grant_type=client_credentials' : undefined)
    return promise
  }
  return { calls, send }
}

it.each([
  ['a certificate', shop, thumbprintOf(shop)],
  ['no certificate', null, undefined],
  ['a certificate of another authority', others.signFor('clientAuth', 'shop'), undefined],
])('A client with %s cannot claim another one in a header', async (_, certificate, expected) => {
  const { calls, send } = await openServer(true)
  await send(TOKEN, certificate)
  for (const name of ['tollgate-certificate-thumbprint', 'Tollgate-Certificate-Thumbprint']) {
    await send(TOKEN, certificate, { [name]: FORGED })
  }
  expect(calls.map((call) => call.certificate)).toEqual([expected, expected, expected])
})

it('A certificate that has expired does not count', async () => {
  const { calls, send } = await openServer(true, () => new X509Certificate(shop.cert).validToDate.getTime() + 1)
  await send(TOKEN, shop)
  expect(calls).toMatchObject([{ endpoint: 'token' }])
  expect(calls[0]).not.toHaveProperty('certificate')
})

it('Discovery says that tokens are bound, except for the platform API, if clients are asked for certificates', async () => {
  const name = 'tls_client_certificate_bound_access_tokens'
  const { send } = await openServer(true)
  expect(JSON.parse(await send(DISCOVERY, null))).toMatchObject({ [name]: true })
  expect(JSON.parse(await send(DISCOVERY.replace(API, 'platform-v1'), null))).not.toHaveProperty(name)
  const plain = await openServer(false)
  expect(JSON.parse(await plain.send(DISCOVERY, null))).not.toHaveProperty(name)
})
