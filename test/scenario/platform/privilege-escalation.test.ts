/** A platform token cannot be used to escalate privileges. */

import { describe, expect, it } from 'vitest'
import { platformScopes } from '../../../src/platform/operations.ts'
import { publishApi } from '../../fixtures/published-api.ts'
import { openTestPlatform, type Answer, type TestPlatform } from '../../fixtures/test-platform.ts'

const OWN = ['consumers:read', 'credentials:read', 'credentials:write', 'subscriptions:read', 'subscriptions:write']
const FORBIDDEN = { status: 403, body: { code: 'operation_forbidden' } }

async function open() {
  const platform = await openTestPlatform()
  const admin = platform.token('acme')
  const rooms = await publishApi(platform, admin)
  const body = { title: 'Platform', major: 1, version: '1.0.0', state: 'Active', ownScopes: platformScopes() }
  const entry = { kind: 'api', id: 'platform-v1', tenant: 'acme', expected: 0, body, keys: { state: 'Active' } }
  await platform.registry.commit({ tenant: 'acme', consumer: 'system' }, 'test', [entry])
  return { platform, admin, clerk: platform.token('acme', OWN), ...rooms }
}

function subscribe(platform: TestPlatform, token: string, consumer: string, more: object = {}): Promise<Answer> {
  return platform.send('POST', '/v1/subscriptions', { token, body: { consumer, api: 'platform-v1', ...more } })
}

const pathOf = ({ body }: Answer) => `/v1/subscriptions/${String(body['id'])}`

describe('a caller with some scopes of the platform', () => {
  it('can create a subscription with these scopes only', async () => {
    const { platform, clerk, consumer } = await open()
    const made = await subscribe(platform, clerk, consumer)
    expect(made.status).toBe(201)
    expect((made.body['scopes'] as string[]).toSorted()).toEqual(OWN)

    const before = (await platform.send('GET', '/v1/subscriptions', { token: clerk })).text
    for (const scopes of [['users:write'], [...OWN, 'platform:admin']]) {
      expect(await subscribe(platform, clerk, consumer, { scopes })).toMatchObject(FORBIDDEN)
    }
    expect((await platform.send('GET', '/v1/subscriptions', { token: clerk })).text).toBe(before)
  })

  it('cannot extend a subscription beyond them, and can reduce any', async () => {
    const { platform, admin, clerk, consumer } = await open()
    const path = pathOf(await subscribe(platform, admin, consumer))
    const put = (scopes: readonly string[]) =>
      platform.send('PUT', `${path}/scopes`, { token: clerk, body: { scopes } })

    expect(await put(['consumers:read', 'users:write'])).toMatchObject({ status: 200 })
    expect(await put([...OWN, 'users:write', 'platform:admin'])).toMatchObject(FORBIDDEN)
    expect(await put(OWN)).toMatchObject({ status: 200 })
    expect(await put([...OWN, 'users:write'])).toMatchObject(FORBIDDEN)
  })

  it('can neither read nor rotate credentials with other scopes, and gets no secret in the answer', async () => {
    const { platform, admin, clerk, consumer } = await open()
    const path = `${pathOf(await subscribe(platform, admin, consumer))}/credentials`
    const { text } = await platform.send('GET', path, { token: admin })
    const secrets = [...text.matchAll(/"(?:clientSecret|apiKey)":"([^"]+)"/g)].map(([, secret]) => secret ?? '')
    expect(secrets).toHaveLength(2)

    const reading = await platform.send('GET', path, { token: clerk })
    const rotation = await platform.send('POST', `${path}/rotate`, { token: clerk, body: { overlapSeconds: 0 } })
    for (const answer of [reading, rotation]) {
      expect(answer).toMatchObject(FORBIDDEN)
      for (const secret of secrets) expect(answer.text).not.toContain(secret)
    }
    expect((await platform.send('GET', path, { token: admin })).text).toBe(text)
  })

  it('can read and rotate credentials whose scopes it holds', async () => {
    const { platform, clerk, consumer } = await open()
    const path = `${pathOf(await subscribe(platform, clerk, consumer))}/credentials`
    expect(await platform.send('GET', path, { token: clerk })).toMatchObject({ status: 200 })
    expect(await platform.send('POST', `${path}/rotate`, { token: clerk })).toMatchObject({ status: 200 })
  })
})

describe('the body of a subscription', () => {
  const uri = (length: number) => `https://app.example/${'x'.repeat(length - 20)}`
  const uris = (count: number) => Array.from({ length: count }, (_, at) => `https://app.example/${at}`)
  const send = async (more: object) => {
    const { platform, admin, consumer } = await open()
    return subscribe(platform, admin, consumer, { api: 'payments-v1', ...more })
  }

  it.each([
    [{ redirectUris: uris(20) }],
    [{ redirectUris: [uri(2_048)] }],
    [{ securityTypes: ['PKCE'], redirectUris: ['http://[::1]:4000/back', 'com.example.app:/back'] }],
  ])('%j is accepted, and its addresses are shown unchanged', async (more) => {
    expect(await send(more)).toMatchObject({ status: 201, body: { redirectUris: more.redirectUris } })
  })

  it.each([
    [{ redirectUris: uris(21) }, '/redirectUris'],
    [{ redirectUris: [uri(2_049)] }, '/redirectUris/0'],
    [{ redirectUris: [''] }, '/redirectUris/0'],
    [{ redirectUris: ['https:app.example/back'] }, '/redirectUris/0'],
    [{ securityTypes: [] }, '/securityTypes'],
    [{ securityTypes: ['mTLS'] }, '/securityTypes/0'],
    [{ scopes: ['two words'] }, '/scopes/0'],
    [{ federated: { issuer: 'https://idp.example' } }, '/federated/clientId'],
    [{ federated: { issuer: 'https://idp.example', clientId: 'a', secret: 'b' } }, '/federated/secret'],
    [{ state: 'Active' }, '/state'],
  ])('%j is refused with a pointer', async (more, pointer) => {
    const { status, body } = await send(more)
    const errors = body['errors'] as { pointer: string }[] | undefined
    expect([status, errors?.map((each) => each.pointer)]).toEqual([400, [pointer]])
  })
})
