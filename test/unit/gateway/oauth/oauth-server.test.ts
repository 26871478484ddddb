import { request as send, type IncomingMessage } from 'node:http'
import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { createLocalJWKSet, jwtVerify } from 'jose'
import * as oauth from 'oauth4webapi'
import { afterEach, describe, expect, it } from 'vitest'
import { createOauthHandler, type OauthHandler } from '../../../../src/gateway/oauth/oauth-server.ts'
import type { OauthCall, OauthEndpoint } from '../../../../src/boundary/plan/oauth-call.ts'
import { NO_CORS, openClientServer } from '../../../fixtures/client-server.ts'
import { API, openTestOauthServer, SCOPES, SECRET } from '../../../fixtures/token-endpoints.ts'

const open: { close(): unknown }[] = []
afterEach(async () => {
  for (const one of open.splice(0).reverse()) await one.close()
})

/** Starts the OAuth paths on a real socket; any other path gets 418. */
async function start(executeInstead?: OauthEndpoint) {
  const failures: unknown[] = []
  let paths: OauthHandler | null = null
  const { server, url: gatewayUrl } = await openClientServer((request, response) => {
    const path = (request.url ?? '').split('?', 1)[0] ?? ''
    if (!paths?.(request, response, path, NO_CORS, null)) response.refuse(418)
  })
  const { keyRing, answer } = await openTestOauthServer({ gatewayUrl, nowMs: Date.now })
  paths = createOauthHandler({
    gatewayUrl,
    execute: executeInstead ?? answer,
    jwks: () => keyRing.publicKeys(),
    scopesOf: (api) => (api === API ? SCOPES.allowed : null),
    onFailure: (cause) => failures.push(cause),
  })
  open.push({ close: () => server.close() }, { close: () => server.closeAllConnections() })

  function post(path: string, body: string, headers: Record<string, string> = FORM): Promise<Response> {
    return fetch(gatewayUrl + path, { method: 'POST', body, headers })
  }
  return { gatewayUrl, keyRing, post, failures }
}

const FORM = { 'Content-Type': 'application/x-www-form-urlencoded' }
const TOKEN = `/${API}/oauth2/v2/token`
const credentials = new URLSearchParams({
  grant_type: 'client_credentials',
  client_id: 'cli_1',
  client_secret: SECRET,
}).toString()

describe('a standard OAuth client', () => {
  it('reads the metadata of an API as a protected resource, and 404 for a name that is not published', async () => {
    const { gatewayUrl } = await start()
    const resource = new URL(`${gatewayUrl}/${API}`)
    const insecure = { [oauth.allowInsecureRequests]: true }
    const response = await oauth.resourceDiscoveryRequest(resource, insecure)
    expect(response.headers.get('content-type')).toContain('application/json')
    expect(await oauth.processResourceDiscoveryResponse(resource, response)).toEqual({
      resource: resource.href,
      authorization_servers: [resource.href],
      scopes_supported: SCOPES.allowed,
      bearer_methods_supported: ['header'],
      resource_name: API,
    })
    const unknown = await oauth.resourceDiscoveryRequest(new URL(`${gatewayUrl}/unknown-v1`), insecure)
    expect(unknown.status).toBe(404)
  })

  it.each(['oauth2', 'oidc'] as const)('gets from %s discovery to a token that jose verifies', async (algorithm) => {
    const { gatewayUrl } = await start()
    const issuer = new URL(`${gatewayUrl}/${API}`)
    const insecure = { [oauth.allowInsecureRequests]: true }
    const server = await oauth.processDiscoveryResponse(
      issuer,
      await oauth.discoveryRequest(issuer, { algorithm, ...insecure }),
    )
    const client: oauth.Client = { client_id: 'cli_1' }

    for (const authentication of [oauth.ClientSecretPost(SECRET), oauth.ClientSecretBasic(SECRET)]) {
      const response = await oauth.clientCredentialsGrantRequest(
        server,
        client,
        authentication,
        { scope: 'read' },
        insecure,
      )
      const result = await oauth.processClientCredentialsResponse(server, client, response)
      expect(result).toMatchObject({ token_type: 'bearer', expires_in: 3_600, scope: 'read' })

      const keys = (await (await fetch(server.jwks_uri ?? '')).json()) as Parameters<typeof createLocalJWKSet>[0]
      const { payload } = await jwtVerify(result.access_token, createLocalJWKSet(keys), {
        issuer: issuer.href,
        audience: API,
        typ: 'at+jwt',
        algorithms: ['ES256'],
      })
      expect(payload).toMatchObject({ sub: 'con_1', scope: 'read' })
    }
  })

  it('gets 401 invalid_client for a wrong secret, as RFC 6749 requires', async () => {
    const { gatewayUrl } = await start()
    const server = { issuer: `${gatewayUrl}/${API}`, token_endpoint: gatewayUrl + TOKEN }
    const client = { client_id: 'cli_1' }
    const response = await oauth.clientCredentialsGrantRequest(
      server,
      client,
      oauth.ClientSecretPost('wrong'),
      {},
      { [oauth.allowInsecureRequests]: true },
    )

    await expect(oauth.processClientCredentialsResponse(server, client, response)).rejects.toMatchObject({
      error: 'invalid_client',
      status: 401,
    })
  })
})

describe('the token endpoint', () => {
  it('returns 200 at both of its paths, and forbids caching', async () => {
    const { post } = await start()
    for (const path of [TOKEN, `/${API}/v1/oauth2/v2/token`]) {
      const response = await post(path, credentials)
      expect(response.status).toBe(200)
      expect(response.headers.get('cache-control')).toBe('no-store')
      expect(response.headers.get('content-type')).toContain('application/json')
    }
  })

  it('returns 400 for a repeated parameter', async () => {
    const { post } = await start()
    const response = await post(TOKEN, `${credentials}&scope=read&scope=write`)

    expect([response.status, await response.json()]).toMatchObject([400, { error: 'invalid_request' }])
  })

  it('returns 400 if the parameters are in the query', async () => {
    const { post } = await start()

    expect((await post(`${TOKEN}?${credentials}`, '')).status).toBe(400)
  })

  it.each(['application/json', 'text/plain', 'multipart/form-data; boundary=x', ''])(
    'returns 415 for the content type "%s"',
    async (type) => {
      const { post } = await start()
      const response = await post(TOKEN, type.endsWith('json') ? '{}' : credentials, { 'Content-Type': type })

      expect(await response.json()).toMatchObject({ error: 'invalid_request' })
      expect(response.status).toBe(415)
    },
  )

  it('returns 413 for a form above 16 KB', async () => {
    const { post } = await start()
    const response = await post(TOKEN, `${credentials}&x=${'x'.repeat(16_384)}`)

    expect([response.status, await response.json()]).toMatchObject([413, { error: 'invalid_request' }])
  })

  it('returns 413 for a form above 16 KB without a declared length', async () => {
    const { gatewayUrl } = await start()
    const answer = Promise.withResolvers<IncomingMessage>()
    const request = send(gatewayUrl + TOKEN, { method: 'POST', headers: FORM }, answer.resolve).on('error', () => {})
    for (let index = 0; index < 20; index++) request.write('x'.repeat(1_000))
    request.end()
    const response = await answer.promise
    response.resume()

    expect(response.statusCode).toBe(413)
  })

  it('returns 405 with the accepted method in Allow', async () => {
    const { gatewayUrl } = await start()
    for (const method of ['GET', 'PUT', 'HEAD', 'OPTIONS']) {
      const response = await fetch(gatewayUrl + TOKEN, { method })
      expect([response.status, response.headers.get('allow')]).toEqual([405, 'POST'])
    }
  })

  it('returns 503 without details of an internal failure', async () => {
    const { post, failures } = await start(() => Promise.reject(new Error('registry at /secret/path is gone')))
    const response = await post(TOKEN, credentials)

    expect(response.status).toBe(503)
    expect(response.headers.get('retry-after')).toBe('1')
    expect(await response.text()).not.toContain('secret')
    expect(failures).toMatchObject([{ message: 'registry at /secret/path is gone' }])
  })
})

it('An answer without a body has none', async () => {
  const { gatewayUrl } = await start(async () => ({
    status: 303,
    headers: { Location: '/x' },
    body: null,
    signal: null,
  }))
  const answer = await fetch(`${gatewayUrl}/oauth2/v2/authorize`, { redirect: 'manual' })
  expect([answer.status, answer.headers.get('content-type'), await answer.text()]).toEqual([303, null, ''])
})

describe('the address to which an identity provider redirects', () => {
  it('passes on the provider, the response with its repetitions, and the cookies', async () => {
    const calls: OauthCall[] = []
    const { gatewayUrl, post } = await start(async (call) => {
      calls.push(call)
      return { status: 200, headers: {}, body: 'answered', signal: null }
    })
    const url = `${gatewayUrl}/oauth2/v2/callback/idp_1?code=a+b&code=c&state=%26`
    expect((await fetch(url, { headers: { Cookie: 'a=b' } })).status).toBe(200)
    const form = Object.entries({ code: 'a b', state: '&' })
    form.splice(1, 0, ['code', 'c'])
    expect(calls).toEqual([
      {
        endpoint: 'callback',
        api: '',
        provider: 'idp_1',
        method: 'GET',
        authorization: undefined,
        cookie: 'a=b',
        address: '127.0.0.1',
        form,
      },
    ])
    const refused = await post('/oauth2/v2/callback/idp_1', 'code=a')
    expect([refused.status, refused.headers.get('allow')]).toEqual([405, 'GET'])
    expect((await fetch(`${gatewayUrl}/oauth2/v2/callback/`)).status).toBe(418)
    expect(calls).toHaveLength(1)
  })
})

describe('an unusual request', () => {
  it.each([
    ['application/x-www-form-urlencoded;charset=utf-8', 200],
    ['APPLICATION/X-WWW-FORM-URLENCODED ; a="b;c"', 200],
    ['application/x-www-form-urlencoded, application/json', 415],
    ['application/x-www-form-urlencodedx', 415],
    [';', 415],
  ])('with the content type %s gets %i', async (type, status) => {
    const { post } = await start()
    expect((await post(TOKEN, credentials, { 'Content-Type': type })).status).toBe(status)
  })

  it('with escapes in the name of the API names another API, as in its calls', async () => {
    const { gatewayUrl, post } = await start()
    const escaped = API.replace('-', '%2D')
    expect((await post(TOKEN.replace(API, escaped), credentials)).status).toBe(404)
    for (const name of [escaped, '%', '__proto__', `${API}%2F..`]) {
      expect((await fetch(`${gatewayUrl}/${name}/.well-known/openid-configuration`)).status, name).toBe(404)
    }
  })

  it('with HEAD gets the length of the document, and no byte of it', async () => {
    const { gatewayUrl } = await start()
    const length = (await (await fetch(`${gatewayUrl}/.well-known/jwks`)).arrayBuffer()).byteLength
    const socket = connect(Number(new URL(gatewayUrl).port), '127.0.0.1')
    socket.end('HEAD /.well-known/jwks HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n')
    const answered = await text(socket)
    expect(answered).toMatch(/^HTTP\/1.1 200 [^]*\r\n\r\n$/)
    expect(answered.toLowerCase()).toContain(`\r\ncontent-length: ${length}\r\n`)
  })
})

describe('the keys and discovery documents', () => {
  it('are served at their own paths only', async () => {
    const { gatewayUrl, keyRing } = await start()
    const jwks = await fetch(`${gatewayUrl}/.well-known/jwks`)
    expect(await jwks.json()).toEqual(keyRing.publicKeys())
    expect(jwks.headers.get('cache-control')).toBe('public, max-age=300')

    const elsewhere = ['/', `/${API}`, `/${API}/payments`, '/.well-known/jwks/', `/x${TOKEN}`, `${TOKEN}/`, '/docs']
    for (const path of elsewhere) expect((await fetch(gatewayUrl + path)).status, path).toBe(418)
  })

  it('return 404 for an unknown API', async () => {
    const { gatewayUrl, post } = await start()

    expect((await fetch(`${gatewayUrl}/no-v1/.well-known/openid-configuration`)).status).toBe(404)
    expect((await fetch(`${gatewayUrl}/.well-known/oauth-authorization-server/no-v1`)).status).toBe(404)
    expect((await post('/no-v1/oauth2/v2/token', credentials)).status).toBe(404)
  })
})
