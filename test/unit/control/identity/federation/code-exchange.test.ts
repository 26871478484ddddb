/** An identity provider that lies: none of its answers signs anybody in. */

import { generateKeyPair } from 'jose'
import { describe, expect, it } from 'vitest'
import {
  ADA,
  goToProvider,
  openFederatedLogin,
  signIn,
  type FederatedLogin,
  type SignInProvider,
} from '../../../../fixtures/federated-login.ts'
import { CLIENT } from '../../../../fixtures/sign-in-provider.ts'
import { NOW_MS } from '../../../../fixtures/token-endpoints.ts'

const NOW = NOW_MS / 1_000
const [stranger, rsa] = [await generateKeyPair('ES256'), await generateKeyPair('RS256')]

async function expectRefused(server: FederatedLogin, fault: RegExp): Promise<void> {
  const page = await signIn(server)
  expect(server.faults).toEqual([expect.stringMatching(fault)])
  expect(page).toMatchObject({ status: 502, signal: { outcome: 'credential_invalid', grant: null } })
  expect(page.headers).not.toHaveProperty('Location')
  expect(await server.users.list('acme', { limit: 10 })).toMatchObject({ items: [] })
}

describe('an ID token', () => {
  it.each<[string, object, RegExp]>([
    ['of another issuer', { iss: 'https://other.example' }, /"iss"/],
    ['for another client', { aud: 'other' }, /"aud"/],
    ['for several clients without azp', { aud: [CLIENT.clientId, 'other'] }, /audiences/],
    ['that another client was given', { aud: [CLIENT.clientId, 'other'], azp: 'other' }, /"azp"/],
    ['with another nonce', { nonce: 'other' }, /"nonce"/],
    ['without a nonce', { nonce: undefined }, /"nonce"/],
    ['that has expired', { exp: NOW - 61 }, /"exp"/],
    ['without an end', { exp: undefined }, /"exp"/],
    // The library reads the clock of the machine, whose second may change during the exchange.
    ['that is not valid yet', { nbf: NOW + 120 }, /"nbf"/],
    ['of the future', { iat: NOW + 61 }, /future/],
    ['that is old', { iat: NOW - 601 }, /too old/],
    ['without a subject', { sub: undefined }, /"sub"/],
    ['with a number as subject', { sub: 1 }, /"sub"/],
    ['for another access token', { at_hash: 'AAAAAAAAAAAAAAAAAAAAAA' }, /at_hash/],
    ['with a number as at_hash', { at_hash: 1 }, /at_hash/],
  ])('%s is refused', async (_, claims, fault) => {
    const server = await openFederatedLogin()
    server.provider.claims = { ...ADA, ...claims }
    await expectRefused(server, fault)
  })

  it.each<[string, (provider: SignInProvider) => void, RegExp]>([
    ['signed by a stranger', (provider) => (provider.signer = stranger.privateKey), /signature/],
    [
      'signed by a key that the provider does not publish',
      (provider) => ((provider.signer = stranger.privateKey), (provider.header = { kid: 'other' })),
      /no applicable keys/,
    ],
    [
      'signed with another type of key',
      (provider) => ((provider.signer = rsa.privateKey), (provider.header = { alg: 'RS256' })),
      /no applicable keys/,
    ],
    [
      'signed with the client secret',
      (provider) => (
        (provider.signer = Buffer.from(CLIENT.clientSecret.padEnd(32))),
        (provider.header = { alg: 'HS256' })
      ),
      /"alg"/,
    ],
    [
      'without a signature',
      (provider) => (provider.tokens = { id_token: `${unsigned({ alg: 'none' })}.${unsigned(ADA)}.` }),
      /"alg"/,
    ],
    ['that is no token', (provider) => (provider.tokens = { id_token: 'a.b' }), /Invalid JWT/],
    ['that is missing', (provider) => (provider.tokens = { id_token: undefined }), /id_token/],
    ['with an extension', (provider) => (provider.header = { crit: ['b64'], b64: true }), /crit/],
  ])('%s is refused', async (_, change, fault) => {
    const server = await openFederatedLogin()
    change(server.provider)
    await expectRefused(server, fault)
  })

  it('signed with a new key of the provider is accepted', async () => {
    const server = await openFederatedLogin()
    await server.provider.rotate()
    expect((await signIn(server)).status).toBe(200)
  })

  it('within the tolerance of the clocks is accepted', async () => {
    const server = await openFederatedLogin()
    server.provider.claims = { ...ADA, iat: NOW + 30, exp: NOW - 30, nbf: NOW + 30, aud: [CLIENT.clientId] }
    expect((await signIn(server)).status).toBe(200)
  })
})

describe('the token endpoint of a provider', () => {
  it.each<[string, (provider: SignInProvider) => void, RegExp]>([
    ['a huge answer', (provider) => (provider.tokens = { filler: 'x'.repeat(70_000) }), /more than 65536 bytes/],
    ['an error', (provider) => (provider.status = 500), /status/],
    ['a redirect', (provider) => (provider.status = 302), /status/],
    ['a token of another type', (provider) => (provider.tokens = { token_type: 'mac' }), /token_type/],
    ['no access token', (provider) => (provider.tokens = { access_token: 1 }), /access_token/],
  ])('that gives %s signs nobody in', async (_, change, fault) => {
    const server = await openFederatedLogin()
    change(server.provider)
    await expectRefused(server, fault)
  })

  it('that is slow is left after five seconds', async () => {
    const server = await openFederatedLogin()
    const gate = Promise.withResolvers<void>()
    server.provider.gate = gate.promise
    const refused = expectRefused(server, /No complete response/)
    await server.provider.called
    await server.clock.advance(5_000)
    await refused
    gate.resolve()
  })

  it('gets a code only with the verifier of the sign-in that began', async () => {
    const server = await openFederatedLogin()
    const [browser, other] = [server.login.browser(), server.login.browser()]
    const foreign = server.provider.authorize(await goToProvider(other, server.registered))
    const own = server.provider.authorize(await goToProvider(browser, server.registered))
    own.searchParams.set('code', foreign.searchParams.get('code') ?? '')
    expect(await browser.comeBack(own)).toMatchObject({ status: 502 })
    expect(server.faults).toEqual(['the provider answered invalid_grant'])
  })
})

describe('the userinfo of a provider', () => {
  const open = (userinfo: object) =>
    openFederatedLogin({}, (provider) => {
      const { groups, ...claims } = ADA
      provider.claims = claims
      provider.userinfo = { sub: ADA.sub, groups, ...userinfo }
    })

  it('adds claims to those of the ID token, and replaces none', async () => {
    const server = await open({ name: 'Mallory' })
    const page = await signIn(server)
    expect(page.status).toBe(200)
    expect(page.body).toContain('Ada Lovelace')
  })

  it('of another person is refused', async () => {
    await expectRefused(await open({ sub: 'bob' }), /"sub"/)
  })
})

function unsigned(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url')
}
