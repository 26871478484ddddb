/**
 * Independent OAuth clients with the running service, beginning with discovery: `oauth4webapi` and
 * `openid-client` are configured only with an issuer, a client and a redirect URI.
 */

import * as oauth from 'oauth4webapi'
import * as openid from 'openid-client'
import { request } from 'undici'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { readEventStream } from '../../src/interfaces/cli/event-stream.ts'
import { buttonOf, createBrowser } from './browser.ts'
import { ledgerDocument, startLedgerBackend, type LedgerBackend } from './ledger-backend.ts'
import { createService, enrol, publish, type Enrolled, type Service, TWO_THREADS } from './service.ts'

const REDIRECT = 'https://app.example/back?from=login'
/** openid-client derives the redirect URI from the address of the callback, without its query. */
const PLAIN_REDIRECT = 'https://app.example/back'
const PERSON = { username: 'grace', password: 'nanoseconds are eleven inches', name: 'Grace Hopper' }
const insecure = { [oauth.allowInsecureRequests]: true }

let service: Service
let backend: LedgerBackend
let machine: Enrolled
let person: string
let app: { clientId: string; consumer: string }
let agent: { clientId: string; consumer: string }

beforeAll(async () => {
  backend = await startLedgerBackend()
  service = await createService({ args: ['--empty'], env: TWO_THREADS })
  await service.start()
  await publish(service, 'ledger-v1', ledgerDocument(), backend.url)
  machine = await enrol(service, 'ledger-v1')
  person = (await service.platform.post<{ id: string }>('/v1/users', PERSON)).id
  app = await enrolPublic('Wallet', 'application')
  agent = await enrolPublic('Bookkeeper', 'agent')
})

afterAll(async () => {
  await service.remove()
  await backend.close()
})

/** A public client: no secret, people sign in. */
async function enrolPublic(name: string, kind: string): Promise<{ clientId: string; consumer: string }> {
  const { id: consumer } = await service.platform.post<{ id: string }>('/v1/consumers', { name, kind })
  const { id } = await service.platform.post<{ id: string }>('/v1/subscriptions', {
    consumer,
    api: 'ledger-v1',
    securityTypes: ['PKCE'],
    redirectUris: [REDIRECT, PLAIN_REDIRECT],
  })
  const { items } = await service.platform.get<{ items: readonly { clientId: string; clientSecret: string | null }[] }>(
    `/v1/subscriptions/${id}/credentials`,
  )
  expect(items).toHaveLength(1)
  expect(items[0]?.clientSecret).toBeNull()
  return { clientId: items[0]?.clientId ?? '', consumer }
}

/** Signs in and consents like a person. Returns the address that the browser is redirected to. */
async function logIn(authorizeUrl: URL): Promise<URL> {
  const browser = createBrowser()
  const login = await browser.open(authorizeUrl.href)
  expect(login.status).toBe(200)
  const consent = await browser.submit(login, { username: PERSON.username, password: PERSON.password })
  expect(consent.status).toBe(200)
  expect(consent.html).toContain(PERSON.name)
  const back = await browser.submit(consent, {}, buttonOf(consent, 'Allow'))
  expect(back.status).toBe(303)
  return new URL(String(back.headers['location']))
}

async function callLedger(token: string): Promise<number> {
  const { statusCode, body } = await request(`${service.gatewayUrl}/ledger-v1/entries?n=1`, {
    headers: { authorization: `Bearer ${token}` },
  })
  await body.dump()
  return statusCode
}

const issuer = (): URL => new URL(`${service.gatewayUrl}/ledger-v1`)

/** Follows the challenge of a call without a credential (RFC 9728, 5) to the issuer of its tokens. */
async function discoverFrom(call: string): Promise<oauth.AuthorizationServer> {
  const { headers, body } = await request(call)
  await body.dump()
  const [, metadataUrl = ''] = /resource_metadata="([^"]+)"/.exec(String(headers['www-authenticate'])) ?? []
  const resource = new URL(metadataUrl.replace('/.well-known/oauth-protected-resource', ''))
  const found = await oauth.resourceDiscoveryRequest(resource, insecure)
  expect(found.url).toBe(metadataUrl)
  const { authorization_servers: [issuer = ''] = [] } = await oauth.processResourceDiscoveryResponse(resource, found)
  const server = await oauth.discoveryRequest(new URL(issuer), { algorithm: 'oauth2', ...insecure })
  return oauth.processDiscoveryResponse(new URL(issuer), server)
}

describe('protected-resource metadata', () => {
  it('leads from the challenge of a call to the issuer, for an API and for the platform', async () => {
    const { gatewayUrl, baseUrl } = service
    const ofApi = await discoverFrom(`${gatewayUrl}/ledger-v1/entries?n=1`)
    expect(ofApi.issuer).toBe(`${gatewayUrl}/ledger-v1`)
    expect((await discoverFrom(`${baseUrl}/v1/consumers`)).issuer).toBe(`${gatewayUrl}/platform-v1`)
    const unknown = await oauth.resourceDiscoveryRequest(new URL(`${gatewayUrl}/unknown-v1`), insecure)
    expect(unknown.status).toBe(404)
  })
})

describe('oauth4webapi', () => {
  async function discover(algorithm: 'oidc' | 'oauth2'): Promise<oauth.AuthorizationServer> {
    const response = await oauth.discoveryRequest(issuer(), { algorithm, ...insecure })
    return oauth.processDiscoveryResponse(issuer(), response)
  }

  it.each(['oidc', 'oauth2'] as const)('gets a token by client credentials, by %s discovery', async (algorithm) => {
    const as = await discover(algorithm)
    const client = { client_id: machine.clientId }
    for (const authenticate of [oauth.ClientSecretPost, oauth.ClientSecretBasic]) {
      const response = await oauth.clientCredentialsGrantRequest(
        as,
        client,
        authenticate(machine.clientSecret),
        new URLSearchParams({ scope: 'entries:read unheard:of' }),
        insecure,
      )
      const answer = await oauth.processClientCredentialsResponse(as, client, response)
      expect(answer.scope).toBe('entries:read')
      expect(await callLedger(answer.access_token)).toBe(200)
    }
  })

  it('gets a token, an ID token and userinfo after sign-in and consent of a person', async () => {
    const as = await discover('oidc')
    const client: oauth.Client = { client_id: app.clientId }
    const verifier = oauth.generateRandomCodeVerifier()
    const [state, nonce] = [oauth.generateRandomState(), oauth.generateRandomNonce()]
    const url = new URL(as.authorization_endpoint ?? '')
    url.search = new URLSearchParams({
      response_type: 'code',
      client_id: app.clientId,
      redirect_uri: REDIRECT,
      scope: 'openid profile entries:read',
      code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256',
      state,
      nonce,
    }).toString()

    const back = await logIn(url)
    expect(back.searchParams.get('from')).toBe('login')
    const parameters = oauth.validateAuthResponse(as, client, back, state)
    const redeem = () =>
      oauth.authorizationCodeGrantRequest(as, client, oauth.None(), parameters, REDIRECT, verifier, insecure)
    const response = await redeem()
    const answer = await oauth.processAuthorizationCodeResponse(as, client, response, {
      expectedNonce: nonce,
      requireIdToken: true,
    })
    expect(answer.scope).toBe('entries:read')
    const claims = oauth.getValidatedIdTokenClaims(answer)
    expect(claims).toMatchObject({ sub: person, aud: app.clientId, name: PERSON.name })
    await oauth.validateApplicationLevelSignature(as, response, insecure)

    const info = await oauth.userInfoRequest(as, client, answer.access_token, insecure)
    expect(await oauth.processUserInfoResponse(as, client, person, info)).toMatchObject({ name: PERSON.name })
    expect(await callLedger(answer.access_token)).toBe(200)

    const again = await redeem()
    expect(again.status).toBe(400)
    expect(await again.json()).toMatchObject({ error: 'invalid_grant' })
    expect(await callLedger(answer.access_token)).toBe(401)
  })

  it('introspects and revokes its token', async () => {
    const as = await discover('oauth2')
    const client = { client_id: machine.clientId }
    const secret = oauth.ClientSecretBasic(machine.clientSecret)
    const token = await machine.token()
    const introspect = async () =>
      oauth.processIntrospectionResponse(
        as,
        client,
        await oauth.introspectionRequest(as, client, secret, token, insecure),
      )
    expect(await introspect()).toMatchObject({ active: true, client_id: machine.clientId, scope: 'entries:read' })
    expect(await callLedger(token)).toBe(200)
    await oauth.processRevocationResponse(await oauth.revocationRequest(as, client, secret, token, insecure))
    expect(await callLedger(token)).toBe(401)
    expect(await introspect()).toMatchObject({ active: false })
  })
})

describe('openid-client', () => {
  const options = { execute: [openid.allowInsecureRequests] }

  it('gets a token by client credentials', async () => {
    const config = await openid.discovery(issuer(), machine.clientId, machine.clientSecret, undefined, options)
    const { access_token: token } = await openid.clientCredentialsGrant(config, { scope: 'entries:read' })
    expect(await callLedger(token)).toBe(200)
  })

  it('lets an agent act on behalf of a person, whom the gateway names to the backend', async () => {
    const config = await openid.discovery(issuer(), agent.clientId, undefined, openid.None(), options)
    openid.enableNonRepudiationChecks(config)
    const verifier = openid.randomPKCECodeVerifier()
    const state = openid.randomState()
    const url = openid.buildAuthorizationUrl(config, {
      redirect_uri: PLAIN_REDIRECT,
      scope: 'openid entries:read',
      code_challenge: await openid.calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256',
      state,
    })
    const back = await logIn(url)
    const tokens = await openid.authorizationCodeGrant(config, back, {
      pkceCodeVerifier: verifier,
      expectedState: state,
      idTokenExpected: true,
    })
    expect(tokens.claims()?.sub).toBe(person)
    const payload = JSON.parse(Buffer.from(tokens.access_token.split('.')[1] ?? '', 'base64url').toString()) as object
    expect(payload).toMatchObject({ sub: person, act: { sub: agent.consumer }, client_id: agent.clientId })
    expect(await callLedger(tokens.access_token)).toBe(200)
    expect(backend.last()).toMatchObject({ 'x-agent-id': agent.consumer, 'x-on-behalf-of': person })
    expect(backend.last()).not.toHaveProperty('authorization')
  })

  it('causes a risk that names the agent and the person if the agent exceeds its scopes', async () => {
    const config = await openid.discovery(issuer(), agent.clientId, undefined, openid.None(), options)
    const verifier = openid.randomPKCECodeVerifier()
    const url = openid.buildAuthorizationUrl(config, {
      redirect_uri: PLAIN_REDIRECT,
      scope: 'openid',
      code_challenge: await openid.calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256',
    })
    const tokens = await openid.authorizationCodeGrant(config, await logIn(url), {
      pkceCodeVerifier: verifier,
      idTokenExpected: true,
    })
    expect(tokens.scope ?? '').toBe('')
    const named = Promise.withResolvers<object>()
    const opened = Promise.withResolvers<void>()
    const end = new AbortController()
    const reading = readEventStream({
      url: `${service.baseUrl}/v1/events/subscribe`,
      token: await service.platform.token(),
      signal: end.signal,
      onOpen: opened.resolve,
      onEvent({ data }) {
        const { type, attributedTo } = JSON.parse(data) as { type: string; attributedTo: object }
        if (type === 'AuthFailure403') named.resolve(attributedTo)
      },
    }).catch(() => {})
    await opened.promise
    expect(await callLedger(tokens.access_token)).toBe(403)
    const by = { kind: 'agent', id: agent.consumer, name: 'Bookkeeper', onBehalfOf: person }
    expect(await named.promise).toEqual(by)
    end.abort()
    await reading
  })
})
