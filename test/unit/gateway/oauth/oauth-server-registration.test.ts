/** The path at which clients register themselves, on a real socket. */

import { describe, expect, it, onTestFinished } from 'vitest'
import { createOauthHandler, type OauthHandler, type OauthOptions } from '../../../../src/gateway/oauth/oauth-server.ts'
import { createClientAddress } from '../../../../src/foundation/runtime/client-address.ts'
import type { OauthCall } from '../../../../src/boundary/plan/oauth-call.ts'
import { NO_CORS, openClientServer } from '../../../fixtures/client-server.ts'
import { API, SCOPES } from '../../../fixtures/token-endpoints.ts'

const FORM = { 'Content-Type': 'application/x-www-form-urlencoded' }
const JSON_TYPE = { 'Content-Type': 'application/json' }
const REGISTER = `/${API}/oauth2/v2/register`

/** Any path that the OAuth server does not serve gets 418. */
async function start(options: Pick<OauthOptions, 'allowsRegistration' | 'clientAddress'> = {}) {
  const calls: OauthCall[] = []
  let paths: OauthHandler | null = null
  const { server, url: gatewayUrl } = await openClientServer((request, response) => {
    if (!paths?.(request, response, request.url ?? '', NO_CORS, null)) response.refuse(418)
  })
  paths = createOauthHandler({
    ...{ ...options, gatewayUrl, jwks: () => ({ keys: [] }) },
    async execute(call) {
      calls.push(call)
      return { status: 201, headers: {}, body: {}, signal: null }
    },
    scopesOf: (api) => (api === API ? SCOPES.allowed : null),
  })
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const post = (path: string, body: string | Buffer, headers: Record<string, string> = JSON_TYPE): Promise<Response> =>
    fetch(gatewayUrl + path, { method: 'POST', body, headers })
  const metadata = await fetch(`${gatewayUrl}/.well-known/oauth-authorization-server/${API}`)
  return { gatewayUrl, calls, post, metadata: await metadata.json() }
}

describe('the path at which clients register', () => {
  it('does not exist by default, nor does the metadata name it', async () => {
    const { post, metadata } = await start()
    expect((await post(REGISTER, '{}')).status).toBe(418)
    expect(metadata).not.toHaveProperty('registration_endpoint')
  })

  it.each([
    [[], '127.0.0.1'],
    [['10.0.0.1'], '127.0.0.1'],
    [['127.0.0.1'], '203.0.113.9'],
  ])('passes on the address that a proxy names, if it is one of %j', async (proxies, address) => {
    const clientAddress = createClientAddress(proxies)
    const { calls, post } = await start({ allowsRegistration: true, clientAddress })
    await post(REGISTER, '{}', { ...JSON_TYPE, 'X-Forwarded-For': '198.51.100.1, 203.0.113.9' })
    expect(calls.map((call) => call.address)).toEqual([address])
  })

  it('passes the text on as it came, if it is allowed', async () => {
    const { gatewayUrl, calls, post, metadata } = await start({ allowsRegistration: true })
    expect(metadata).toMatchObject({ registration_endpoint: gatewayUrl + REGISTER })
    const text = '{"a":1,"a":"\u00fc"}'
    expect((await post(REGISTER, text, { 'Content-Type': 'application/json; charset=utf-8' })).status).toBe(201)
    const headers = { authorization: undefined, cookie: undefined, address: '127.0.0.1' }
    expect(calls).toEqual([{ endpoint: 'register', api: API, method: 'POST', form: [], json: text, ...headers }])
  })

  it.each<readonly [string, string, Record<string, string>, number]>([
    ['a form', 'a=b', FORM, 415],
    ['a text', '{}', { 'Content-Type': 'text/plain' }, 415],
    ['more than 16 KB', `{"x":"${'x'.repeat(16_384)}"}`, JSON_TYPE, 413],
  ])('refuses %s', async (_, body, headers, status) => {
    const { calls, post } = await start({ allowsRegistration: true })
    const answer = await post(REGISTER, body, headers)
    expect([answer.status, await answer.json()]).toMatchObject([status, { error: 'invalid_client_metadata' }])
    expect(calls).toEqual([])
  })

  it('passes on bytes that are no UTF-8 as null, and no body as an empty text', async () => {
    const { calls, post } = await start({ allowsRegistration: true })
    await post(REGISTER, Buffer.from('7b22ff227d', 'hex'))
    await post(REGISTER, '')
    expect(calls.map(({ json }) => json)).toEqual([null, ''])
  })

  it('accepts POST alone, at an API that is published', async () => {
    const { gatewayUrl, post, calls } = await start({ allowsRegistration: true })
    const got = await fetch(gatewayUrl + REGISTER)
    expect([got.status, got.headers.get('allow')]).toEqual([405, 'POST'])
    expect((await post('/none-v1/oauth2/v2/register', '{}')).status).toBe(404)
    for (const path of ['/oauth2/v2/register', `/${API}/v1/oauth2/v2/register`, `${REGISTER}/`]) {
      expect((await post(path, '{}')).status, path).toBe(418)
    }
    expect(calls).toEqual([])
  })
})
