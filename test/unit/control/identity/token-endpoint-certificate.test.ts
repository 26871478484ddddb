/** Tokens of clients that present a client certificate (RFC 8705). */

import { describe, expect, it } from 'vitest'
import type { OauthCall } from '../../../../src/boundary/plan/oauth-call.ts'
import {
  openTestOauthServer,
  SECRET,
  tokenOf,
  VERIFIER,
  type Fields,
  type TestOauthServerOptions,
} from '../../../fixtures/token-endpoints.ts'

const ONE = '47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU'
const OTHER = 'ypeBEsobvcr6wjGzmiPcTaeG7_gUfE5yuYB3ha_uSLs'
const CNF = { 'x5t#S256': ONE }
const OWN = { client_id: 'cli_1', client_secret: SECRET }
const refused = { status: 400, body: { error: 'invalid_grant' } }
const OTHERS = [[OTHER], [undefined]] as const

async function openServer(options: TestOauthServerOptions = {}) {
  const server = await openTestOauthServer({ mayRefresh: true, ...options })
  /** Calls over a connection with this certificate. */
  const call = (endpoint: OauthCall['endpoint'], fields: Fields, certificate?: string, more: Partial<OauthCall> = {}) =>
    server.call(endpoint, fields, { ...(certificate !== undefined && { certificate }), ...more })
  const redeem = async (certificate?: string, client: Fields = { client_id: 'cli_public' }, consent = {}) =>
    call(
      'token',
      { grant_type: 'authorization_code', ...client, code: await server.code(consent), code_verifier: VERIFIER },
      certificate,
    )
  const refresh = (text: string, certificate?: string, client: Fields = { client_id: 'cli_public' }) =>
    call('token', { grant_type: 'refresh_token', ...client, refresh_token: text }, certificate)
  return { ...server, call, redeem, refresh }
}

const refreshTokenOf = ({ body }: { body: unknown }): string => (body as { refresh_token: string }).refresh_token

describe('an access token', () => {
  it('is bound to the certificate of the connection that asked for it, whatever grants it', async () => {
    const { call, redeem, refresh } = await openServer()
    const credentials = { grant_type: 'client_credentials', ...OWN }
    expect(tokenOf(await call('token', credentials, ONE)).claims).toMatchObject({ cnf: CNF })
    const login = await redeem(ONE)
    expect(tokenOf(login).claims).toMatchObject({ cnf: CNF })
    expect(tokenOf(await refresh(refreshTokenOf(login), ONE)).claims).toMatchObject({ cnf: CNF })
    for (const answer of [await call('token', credentials), await redeem()]) {
      expect(tokenOf(answer).claims).not.toHaveProperty('cnf')
    }
  })

  it('shows the certificate to introspection', async () => {
    const { call } = await openServer()
    const { text } = tokenOf(await call('token', { grant_type: 'client_credentials', ...OWN }, ONE))
    const { body } = await call('introspect', { ...OWN, token: text })
    expect(body).toMatchObject({ active: true, cnf: CNF })
    const unbound = tokenOf(await call('token', { grant_type: 'client_credentials', ...OWN }))
    expect((await call('introspect', { ...OWN, token: unbound.text })).body).not.toHaveProperty('cnf')
  })

  it.each(OTHERS)('opens userinfo over its certificate only, not over %s', async (certificate) => {
    const { call, redeem } = await openServer()
    const { text } = tokenOf(await redeem(ONE, undefined, { wantsIdToken: true }))
    const authorization = `Bearer ${text}`
    expect(await call('userinfo', {}, ONE, { authorization })).toMatchObject({ status: 200 })
    expect(await call('userinfo', {}, certificate, { authorization })).toMatchObject({
      status: 401,
      headers: { 'WWW-Authenticate': 'Bearer error="invalid_token"' },
    })
  })
})

describe('a refresh token of a public client', () => {
  it.each(OTHERS)('is bound as well: over %s it gives nothing and ends nothing', async (certificate) => {
    const { redeem, refresh, reused } = await openServer()
    const used = refreshTokenOf(await redeem(ONE))
    expect(await refresh(used, certificate)).toMatchObject(refused)
    const next = refreshTokenOf(await refresh(used, ONE))
    expect(await refresh(used, certificate)).toMatchObject(refused)
    expect(reused).toEqual([])
    const last = await refresh(next, ONE)
    expect(tokenOf(last).claims).toMatchObject({ cnf: CNF })
    expect(await refresh(refreshTokenOf(last), certificate)).toMatchObject(refused)
  })

  it('is not bound if the sign-in presented no certificate', async () => {
    const { redeem, refresh } = await openServer()
    const login = refreshTokenOf(await redeem())
    const over = await refresh(login, ONE)
    expect(tokenOf(over).claims).toMatchObject({ cnf: CNF })
    expect(tokenOf(await refresh(refreshTokenOf(over))).claims).not.toHaveProperty('cnf')
  })
})

describe('a refresh token of a client with a secret', () => {
  it('is bound to the client, which may use another certificate', async () => {
    const { redeem, refresh } = await openServer()
    const login = await redeem(ONE, OWN, { clientId: 'cli_1' })
    const next = await refresh(refreshTokenOf(login), OTHER, OWN)
    expect(tokenOf(next).claims).toMatchObject({ cnf: { 'x5t#S256': OTHER } })
  })
})

describe('a client that is bound to a certificate', () => {
  const options = { grant: { certificateThumbprint: ONE }, publicGrant: { certificateThumbprint: ONE } }
  const noClient = { status: 401, body: { error: 'invalid_client' }, signal: { outcome: 'credential_invalid' } }

  it.each(OTHERS)('is refused over %s at every endpoint, with the right secret', async (certificate) => {
    const { call, redeem } = await openServer(options)
    const { text } = tokenOf(await call('token', { grant_type: 'client_credentials', ...OWN }, ONE))
    const credentials = { grant_type: 'client_credentials', ...OWN }
    expect(await call('token', credentials, certificate)).toMatchObject(noClient)
    expect(await call('introspect', { ...OWN, token: text }, certificate)).toMatchObject(noClient)
    expect(await call('revoke', { ...OWN, token: text }, certificate)).toMatchObject(noClient)
    expect(await redeem(certificate)).toMatchObject(noClient)
    expect(await call('device_authorization', { client_id: 'cli_public' }, certificate)).toMatchObject(noClient)
    expect(await call('device_authorization', { client_id: 'cli_public' }, ONE)).toMatchObject({ status: 200 })
    expect(tokenOf(await redeem(ONE)).claims).toMatchObject({ cnf: CNF })
    expect((await call('introspect', { ...OWN, token: text }, ONE)).body).toMatchObject({ active: true })
  })

  it('is told so only if its secret is right', async () => {
    const { call } = await openServer(options)
    const wrong = await call('token', { grant_type: 'client_credentials', ...OWN, client_secret: 'wrong' })
    expect(wrong.body).toMatchObject({ error_description: expect.stringContaining('its secret is wrong') })
  })
})
