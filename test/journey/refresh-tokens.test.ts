/**
 * Sign-ins that last, with independent clients and the running service: refresh, reuse, revocation and sessions, and sign-ins on devices.
 * After each answer that ends access, calls on new connections are refused, whichever gateway thread accepts them.
 */

import * as oauth from 'oauth4webapi'
import * as openid from 'openid-client'
import { request } from 'undici'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { buttonOf, createBrowser } from './browser.ts'
import { ledgerDocument, startLedgerBackend, type LedgerBackend } from './ledger-backend.ts'
import { createPublicClient } from './person.ts'
import { createService, publish, type Service, TWO_THREADS } from './service.ts'

const REDIRECT = 'https://app.example/back'
const PERSON = { username: 'grace', password: 'nanoseconds are eleven inches', name: 'Grace Hopper' }
const API = 'ledger-v1'
const CONNECTIONS = 12
const insecure = { [oauth.allowInsecureRequests]: true }

let service: Service
let backend: LedgerBackend
let person: string
let client: oauth.Client

beforeAll(async () => {
  backend = await startLedgerBackend()
  service = await createService({ args: ['--empty'], env: TWO_THREADS })
  await service.start()
  await publish(service, API, ledgerDocument(), backend.url)
  person = (await service.platform.post<{ id: string }>('/v1/users', PERSON)).id
  client = { client_id: await createPublicClient(service, API) }
  const { items } = await service.platform.get<{ items: readonly { id: string; ApiId: string }[] }>('/v1/subscriptions')
  const subscription = items.find(({ ApiId }) => ApiId === API)?.id
  const { statusCode, body } = await request(`${service.baseUrl}/v1/subscriptions/${subscription}`, {
    method: 'PATCH',
    headers: { authorization: `Bearer ${await service.platform.token()}`, 'content-type': 'application/json' },
    body: JSON.stringify({ refreshTokens: true }),
  })
  expect(await body.json()).toMatchObject({ refreshTokens: true })
  expect(statusCode).toBe(200)
})

afterAll(async () => {
  await service.remove()
  await backend.close()
})

const issuer = (): URL => new URL(`${service.gatewayUrl}/${API}`)

async function discover(): Promise<oauth.AuthorizationServer> {
  return oauth.processDiscoveryResponse(issuer(), await oauth.discoveryRequest(issuer(), { ...insecure }))
}

/** Answers the pages of a sign-in, from the sign-in page on. */
async function decide(browser: ReturnType<typeof createBrowser>, login: Awaited<ReturnType<typeof browser.open>>) {
  const consent = await browser.submit(login, { username: PERSON.username, password: PERSON.password })
  expect(consent.status).toBe(200)
  return { consent, last: await browser.submit(consent, {}, buttonOf(consent, 'Allow')) }
}

/** Signs in with a browser and redeems the code. */
async function logIn(as: oauth.AuthorizationServer): Promise<oauth.TokenEndpointResponse> {
  const verifier = oauth.generateRandomCodeVerifier()
  const url = new URL(as.authorization_endpoint ?? '')
  url.search = new URLSearchParams({
    response_type: 'code',
    client_id: client.client_id,
    redirect_uri: REDIRECT,
    scope: 'entries:read offline_access',
    code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
    code_challenge_method: 'S256',
  }).toString()
  const browser = createBrowser()
  const { consent, last } = await decide(browser, await browser.open(url.href))
  expect(consent.html).toContain('up to 90 days')
  const back = new URL(String(last.headers['location']))
  const parameters = oauth.validateAuthResponse(as, client, back, oauth.expectNoState)
  return oauth.processAuthorizationCodeResponse(
    as,
    client,
    await oauth.authorizationCodeGrantRequest(as, client, oauth.None(), parameters, REDIRECT, verifier, insecure),
  )
}

async function refresh(as: oauth.AuthorizationServer, { refresh_token: text = '' }: oauth.TokenEndpointResponse) {
  const response = await oauth.refreshTokenGrantRequest(as, client, oauth.None(), text, insecure)
  return oauth.processRefreshTokenResponse(as, client, response)
}

/** Calls the API on new connections and returns the statuses that occur. */
async function statusesOf({ access_token: token }: { readonly access_token: string }): Promise<readonly number[]> {
  const calls = Array.from({ length: CONNECTIONS }, async () => {
    const headers = { authorization: `Bearer ${token}` }
    const { statusCode, body } = await request(`${service.gatewayUrl}/${API}/entries?n=1`, { headers, reset: true })
    await body.dump()
    return statusCode
  })
  return [...new Set(await Promise.all(calls))]
}

const invalidGrant = { error: 'invalid_grant' }

describe('oauth4webapi', () => {
  it('refreshes a sign-in, also after a restart of the service', async () => {
    const as = await discover()
    expect(as.grant_types_supported).toContain('refresh_token')
    const first = await logIn(as)
    expect(await statusesOf(first)).toEqual([200])
    const second = await refresh(as, first)
    expect(second.refresh_token).not.toBe(first.refresh_token)
    expect(await statusesOf(second)).toEqual([200])
    await service.stop()
    await service.start()
    const third = await refresh(as, second)
    expect(third.scope).toBe('entries:read')
    expect(await statusesOf(third)).toEqual([200])
  })

  it('gets nothing for a refresh token that was used, and every access token of the sign-in is refused', async () => {
    const as = await discover()
    const first = await logIn(as)
    const second = await refresh(as, first)
    expect(await statusesOf(first)).toEqual([200])
    await expect(refresh(as, first)).rejects.toMatchObject(invalidGrant)
    expect(await statusesOf(first)).toEqual([401])
    expect(await statusesOf(second)).toEqual([401])
    await expect(refresh(as, second)).rejects.toMatchObject(invalidGrant)
  })

  it('signs a person in on a device', async () => {
    const as = await discover()
    const begin = await oauth.deviceAuthorizationRequest(as, client, oauth.None(), { scope: 'entries:read' }, insecure)
    const begun = await oauth.processDeviceAuthorizationResponse(as, client, begin)
    const poll = async () => {
      const response = await oauth.deviceCodeGrantRequest(as, client, oauth.None(), begun.device_code, insecure)
      return oauth.processDeviceCodeResponse(as, client, response)
    }
    await expect(poll()).rejects.toMatchObject({ error: 'authorization_pending' })
    await expect(poll()).rejects.toMatchObject({ error: 'slow_down' })
    const browser = createBrowser()
    const entry = await browser.open(begun.verification_uri_complete ?? '')
    const { consent, last } = await decide(browser, await browser.submit(entry, {}))
    expect(consent.html).toContain(begun.user_code)
    expect(last.html).toContain('The device is connected')
    const tokens = await poll()
    expect(await statusesOf(tokens)).toEqual([200])
    expect(await statusesOf(await refresh(as, tokens))).toEqual([200])
    await expect(poll()).rejects.toMatchObject(invalidGrant)
  })
})

describe('openid-client', () => {
  const configure = () => {
    const options = { execute: [openid.allowInsecureRequests] }
    return openid.discovery(issuer(), client.client_id, undefined, openid.None(), options)
  }

  it('refreshes and revokes a sign-in', async () => {
    const config = await configure()
    const first = await logIn(await discover())
    const second = await openid.refreshTokenGrant(config, first.refresh_token ?? '', { scope: 'entries:read' })
    expect(await statusesOf(second)).toEqual([200])
    await openid.tokenRevocation(config, second.refresh_token ?? '', { token_type_hint: 'refresh_token' })
    expect(await statusesOf(first)).toEqual([401])
    expect(await statusesOf(second)).toEqual([401])
    await expect(openid.refreshTokenGrant(config, second.refresh_token ?? '')).rejects.toMatchObject(invalidGrant)
  })

  it('signs a person in on a device, until the person denies it', async () => {
    const config = await configure()
    const decideAs = async (label: string, userCode: string): Promise<void> => {
      const browser = createBrowser()
      const login = await browser.submit(await browser.open(`${service.gatewayUrl}/oauth2/v2/device`), {
        user_code: userCode,
      })
      const consent = await browser.submit(login, { username: PERSON.username, password: PERSON.password })
      await browser.submit(consent, {}, buttonOf(consent, label))
    }
    const [allowed, denied] = await Promise.all(
      [0, 1].map(() => openid.initiateDeviceAuthorization(config, { scope: 'entries:read' })),
    )
    if (allowed === undefined || denied === undefined) throw new Error('no device codes')
    await decideAs('Allow', allowed.user_code)
    await decideAs('Deny', denied.user_code)
    const [tokens, refused] = await Promise.allSettled([
      openid.pollDeviceAuthorizationGrant(config, allowed),
      openid.pollDeviceAuthorizationGrant(config, denied),
    ])
    expect(refused).toMatchObject({ status: 'rejected', reason: { error: 'access_denied' } })
    if (tokens.status === 'rejected') throw tokens.reason
    expect(await statusesOf(tokens.value)).toEqual([200])
  })
})

describe('the command line', () => {
  const CLIENT = { client_id: 'tollgate-cli.default' }

  it('signs a person in on a device, without a subscription, until the person ends the session', async () => {
    const platform = new URL(`${service.gatewayUrl}/platform-v1`)
    const as = await oauth.processDiscoveryResponse(platform, await oauth.discoveryRequest(platform, { ...insecure }))
    const begin = await oauth.deviceAuthorizationRequest(as, CLIENT, oauth.None(), {}, insecure)
    const begun = await oauth.processDeviceAuthorizationResponse(as, CLIENT, begin)
    const browser = createBrowser()
    const entry = await browser.open(begun.verification_uri_complete ?? '')
    await decide(browser, await browser.submit(entry, {}))
    const polled = await oauth.deviceCodeGrantRequest(as, CLIENT, oauth.None(), begun.device_code, insecure)
    const first = await oauth.processDeviceCodeResponse(as, CLIENT, polled)
    const text = first.refresh_token ?? ''
    const refreshed = await oauth.refreshTokenGrantRequest(as, CLIENT, oauth.None(), text, insecure)
    const second = await oauth.processRefreshTokenResponse(as, CLIENT, refreshed)

    const send = async (method: 'GET' | 'DELETE', path: string, { access_token: token } = second) => {
      const { statusCode, body } = await request(`${service.baseUrl}${path}`, {
        method,
        headers: { authorization: `Bearer ${token}` },
      })
      return { status: statusCode, text: await body.text() }
    }
    expect((await send('GET', '/v1/me', first)).status).toBe(200)
    const listed = JSON.parse((await send('GET', '/v1/me/sessions')).text) as {
      items: { id: string; clientId: string }[]
    }
    const session = listed.items.find(({ clientId }) => clientId === CLIENT.client_id)
    expect((await send('DELETE', `/v1/me/sessions/${session?.id}`)).status).toBe(204)
    for (const tokens of [first, second]) expect((await send('GET', '/v1/me', tokens)).status).toBe(401)
    const again = await oauth.refreshTokenGrantRequest(as, CLIENT, oauth.None(), second.refresh_token ?? '', insecure)
    await expect(oauth.processRefreshTokenResponse(as, CLIENT, again)).rejects.toMatchObject(invalidGrant)
  })
})

describe('a session', () => {
  it('is listed and ended by an administrator, with its tokens', async () => {
    const as = await discover()
    await service.platform.delete(`/v1/users/${person}/sessions`)
    const [kept, ended] = [await logIn(as), await logIn(as)]
    const path = `/v1/users/${person}/sessions`
    const { items } = await service.platform.get<{ items: readonly { id: string; clientId: string }[] }>(path)
    expect(items.map(({ clientId }) => clientId)).toEqual([client.client_id, client.client_id])
    await service.platform.delete(`${path}/${items[1]?.id}`)
    expect(await statusesOf(ended)).toEqual([401])
    expect(await statusesOf(kept)).toEqual([200])
    await expect(refresh(as, ended)).rejects.toMatchObject(invalidGrant)
    const renewed = await refresh(as, kept)
    await service.platform.post(`/v1/users/${person}/disable`)
    expect(await statusesOf(renewed)).toEqual([401])
    await expect(refresh(as, renewed)).rejects.toMatchObject(invalidGrant)
    expect((await service.platform.get<{ items: readonly unknown[] }>(path)).items).toEqual([])
    await service.platform.post(`/v1/users/${person}/enable`)
    await expect(refresh(as, renewed)).rejects.toMatchObject(invalidGrant)
  })
})
