import { describe, expect, it } from 'vitest'
import type { DeviceCodes } from '../../../../src/control/identity/device-codes.ts'
import type { OauthAnswer } from '../../../../src/boundary/plan/oauth-call.ts'
import {
  API,
  GATEWAY_URL,
  openTestOauthServer,
  PERSON,
  SECRET,
  tokenOf,
  type Fields,
  type TestOauthServer,
  type TestOauthServerOptions,
} from '../../../fixtures/token-endpoints.ts'

const GRANT_TYPE = 'urn:ietf:params:oauth:grant-type:device_code'
const MINUTE_MS = 60_000

interface Begun {
  readonly device_code: string
  readonly user_code: string
  readonly verification_uri: string
  readonly verification_uri_complete: string
}

async function openServer(options: TestOauthServerOptions = {}) {
  const server = await openTestOauthServer({ mayRefresh: true, ...options })
  const authorize = (fields: Fields = {}): Promise<OauthAnswer> =>
    server.call('device_authorization', { client_id: 'cli_public', ...fields }, { api: '' })
  const begin = async (fields?: Fields): Promise<Begun> => (await authorize(fields)).body as Begun
  const poll = (code: Begun, fields: Fields = {}, more = {}) => {
    const form = { grant_type: GRANT_TYPE, client_id: 'cli_public', device_code: code.device_code }
    return server.call('token', { ...form, ...fields }, more)
  }
  return { ...server, server, authorize, begin, poll }
}

/** Decides like a person who has signed in. */
async function allow({ deviceCodes, clock }: TestOauthServer, { user_code: userCode }: Begun): Promise<boolean> {
  const entered = await deviceCodes.enter(userCode)
  const login = { tenant: 'acme', person: PERSON, nonce: null, loggedInAtMs: clock.nowMs() }
  return entered !== null && (await deviceCodes.allow(entered.id, { ...entered.request, ...login }))
}

async function deny(deviceCodes: DeviceCodes, { user_code: userCode }: Begun): Promise<void> {
  await deviceCodes.deny((await deviceCodes.enter(userCode))?.id ?? '')
}

const failure = (error: string) => ({ status: 400, body: { error } })

describe('a sign-in for a device', () => {
  it('begins with two codes and the address of the page', async () => {
    const { begin, failures } = await openServer()
    const begun = await begin()
    expect(begun).toEqual({
      device_code: expect.stringMatching(/^dev_\w+\.[\w-]{43}$/),
      user_code: expect.stringMatching(/^[BCDFGHJKLMNPQRSTVWXZ]{5}-[BCDFGHJKLMNPQRSTVWXZ]{5}$/),
      verification_uri: `${GATEWAY_URL}/oauth2/v2/device`,
      verification_uri_complete: `${GATEWAY_URL}/oauth2/v2/device?user_code=${begun.user_code}`,
      expires_in: 600,
      interval: 5,
    })
    expect(failures).toEqual([])
  })

  it('gives tokens once, after the person has allowed it', async () => {
    const { server, begin, poll, forward } = await openServer()
    const begun = await begin({ scope: 'openid read' })
    expect(await poll(begun)).toMatchObject(failure('authorization_pending'))
    expect(await allow(server, begun)).toBe(true)
    expect(await allow(server, begun)).toBe(false)
    forward(5_000)
    const answer = await poll(begun)
    expect(answer.body).toMatchObject({ scope: 'read', refresh_token: expect.stringMatching(/^rfg_/) })
    expect(answer.body).toMatchObject({ id_token: expect.any(String) })
    expect(tokenOf(answer).claims).toMatchObject({ sub: PERSON.id, client_id: 'cli_public', aud: API })
    expect(await poll(begun)).toMatchObject(failure('invalid_grant'))
    const { refresh_token: refreshToken } = answer.body as { refresh_token: string }
    const form = { grant_type: 'refresh_token', client_id: 'cli_public', refresh_token: refreshToken }
    expect((await server.call('token', form)).body).toMatchObject({ scope: 'read' })
  })

  it('gives tokens to one of several concurrent requests', async () => {
    const { server, begin, poll } = await openServer()
    const begun = await begin()
    await allow(server, begun)
    const answers = await Promise.all([1, 2, 3].map(() => poll(begun)))
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1)
  })

  it('ends when the person denies it, and cannot be allowed afterwards', async () => {
    const { server, begin, poll, deviceCodes } = await openServer()
    const begun = await begin()
    await deny(deviceCodes, begun)
    expect(await poll(begun)).toMatchObject(failure('access_denied'))
    expect(await allow(server, begun)).toBe(false)
    expect(await poll(begun)).toMatchObject(failure('access_denied'))
  })

  it('expires after ten minutes, even if the person has allowed it', async () => {
    const { server, begin, poll, forward } = await openServer()
    const [open, allowed] = [await begin(), await begin()]
    await allow(server, allowed)
    forward(10 * MINUTE_MS)
    for (const begun of [open, allowed]) expect(await poll(begun)).toMatchObject(failure('expired_token'))
    expect(await allow(server, open)).toBe(false)
    forward(10 * MINUTE_MS)
    await begin()
    expect(await poll(open)).toMatchObject(failure('invalid_grant'))
  })

  it('slows down a device that asks too often, by five seconds each time', async () => {
    const { begin, poll, forward } = await openServer()
    const begun = await begin()
    const after = async (seconds: number): Promise<unknown> => {
      forward(seconds * 1_000)
      return ((await poll(begun)).body as { error: string }).error
    }
    expect(await after(0)).toBe('authorization_pending')
    expect(await after(4)).toBe('slow_down')
    expect(await after(9)).toBe('slow_down')
    expect(await after(15)).toBe('authorization_pending')
  })

  it('gives nothing to another client or at another API, and waits on', async () => {
    const { server, begin, poll } = await openServer({ publicGrant: { api: '', apiProductId: 'prd_1' } })
    const begun = await begin({ resource: `${GATEWAY_URL}/${API}` })
    await allow(server, begun)
    expect(await poll(begun, {}, { api: 'orders-v1' })).toMatchObject(failure('invalid_grant'))
    const other = await poll(begun, { client_id: 'cli_1', client_secret: SECRET })
    expect(other.status).toBe(400)
    expect((await poll(begun)).status).toBe(200)
  })

  it('gives nothing if the person may no longer sign in', async () => {
    const { server, begin, poll } = await openServer()
    const begun = await begin()
    await allow(server, begun)
    server.personGrant = null
    expect(await poll(begun)).toMatchObject(failure('invalid_grant'))
  })

  it.each([
    ['a client that gets no refresh tokens', { mayRefresh: false }, {}, 'unauthorized_client'],
    ['a confidential client', {}, { client_id: 'cli_1', client_secret: SECRET }, 'unauthorized_client'],
    ['an unknown client', {}, { client_id: 'cli_none' }, 'invalid_client'],
    ['no client', {}, { client_id: undefined }, 'invalid_client'],
    ['a resource elsewhere', {}, { resource: 'https://elsewhere.example/x' }, 'invalid_target'],
    ['an API without a subscription', {}, { resource: `${GATEWAY_URL}/orders-v1` }, 'invalid_target'],
    ['a scope that is too long', {}, { scope: 'x'.repeat(1_001) }, 'invalid_scope'],
  ])('does not begin for %s', async (_, options, fields, error) => {
    const { authorize } = await openServer(options)
    expect((await authorize(fields)).body).toMatchObject({ error })
  })

  it.each([
    ['missing', undefined, 'invalid_request'],
    ['unknown', 'dev_1.x', 'invalid_grant'],
    ['malformed', '__proto__', 'invalid_grant'],
    ['too long', 'x'.repeat(300), 'invalid_grant'],
  ])('gives nothing for a code that is %s', async (_, code, error) => {
    const { begin, poll } = await openServer()
    expect(await poll(await begin(), { device_code: code })).toMatchObject(failure(error))
  })

  it('leaves nothing on disk until it is complete', async () => {
    const { begin, registry } = await openServer()
    const before = await registry.end()
    await begin()
    expect(await registry.end()).toBe(before)
  })
})
