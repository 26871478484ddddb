/** What a consumer can do with scopes of the own width, and what its provider alone can do. */

import { describe, expect, it } from 'vitest'
import { platformScopes } from '../../../src/interfaces/platform/operations.ts'
import { publishApi } from '../../fixtures/published-api.ts'
import { openTestPlatform, type TestPlatform } from '../../fixtures/test-platform.ts'

const OWN_SCOPES = platformScopes().filter((scope) => scope.endsWith(':own'))
const POLICY = '/v1/apis/payments-v1/policy'

type Exposure = 'Internal' | 'Partner' | 'Public'

async function setUp(exposure: Exposure = 'Public') {
  const platform = await openTestPlatform()
  const admin = platform.token('acme')
  const { product } = await publishApi(platform, admin)
  await platform.send('PUT', POLICY, { token: admin, body: { exposure } })
  const partyOf = async (reach?: Exposure) => {
    const body = { name: 'Shop', kind: 'application', ...(reach && { exposure: reach }) }
    const made = await platform.send('POST', '/v1/consumers', { token: admin, body })
    const consumer = String(made.body['id'])
    return { consumer, token: platform.token('acme', OWN_SCOPES, undefined, { consumer }) }
  }
  return { platform, admin, product, partyOf, ...(await partyOf()) }
}

function subscribe(platform: TestPlatform, token: string, body: object) {
  return platform.send('POST', '/v1/subscriptions', { token, body })
}

describe('a consumer with own scopes', () => {
  it('subscribes itself, reads its secrets, rotates, revokes and cancels', async () => {
    const { platform, token, consumer } = await setUp()
    const { status, body } = await subscribe(platform, token, { consumer, api: 'payments-v1' })
    expect([status, body['state']]).toEqual([201, 'Active'])
    const path = `/v1/subscriptions/${String(body['id'])}`

    const { body: listed } = await platform.send('GET', `${path}/credentials`, { token })
    const [first] = listed['items'] as { id: string; clientSecret: string }[]
    expect(first?.clientSecret).toMatch(/^tgs_/)
    const rotated = await platform.send('POST', `${path}/credentials/rotate`, { token })
    expect(rotated).toMatchObject({ status: 200, body: { clientSecret: expect.stringMatching(/^tgs_/) } })
    const credential = `${path}/credentials/${String(first?.id)}`
    expect((await platform.send('DELETE', credential, { token })).status).toBe(204)
    expect(await platform.send('POST', `${path}/cancel`, { token })).toMatchObject({ body: { state: 'Cancelled' } })
  })

  it('cannot subscribe another consumer, and gets the same answer as for one that does not exist', async () => {
    const { platform, token, partyOf } = await setUp()
    const { consumer: other } = await partyOf()
    const answers = await Promise.all(
      [other, 'con_none'].map((consumer) => subscribe(platform, token, { consumer, api: 'payments-v1' })),
    )
    for (const { status, body } of answers) {
      expect([status, body['errors']]).toEqual([
        400,
        [{ pointer: '/consumer', detail: 'The consumer does not exist.' }],
      ])
    }
  })

  it('cannot end a suspension, nor suspend', async () => {
    const { platform, admin, token, consumer } = await setUp()
    const { body } = await subscribe(platform, token, { consumer, api: 'payments-v1' })
    const path = `/v1/subscriptions/${String(body['id'])}`
    expect((await platform.send('POST', `${path}/suspend`, { token })).status).toBe(403)
    await platform.send('POST', `${path}/suspend`, { token: admin })
    expect((await platform.send('POST', `${path}/resume`, { token })).status).toBe(403)
  })

  it('adds scopes only if nobody approves them, and can always remove scopes', async () => {
    const { platform, admin, token, consumer } = await setUp()
    const scopes = ['accounts:read']
    const { body } = await subscribe(platform, token, { consumer, api: 'payments-v1', scopes })
    const path = `/v1/subscriptions/${String(body['id'])}/scopes`
    const put = (next: readonly string[]) => platform.send('PUT', path, { token, body: { scopes: next } })
    expect((await put(['accounts:read', 'payments:read'])).status).toBe(200)
    const manual = { exposure: 'Public', subscriptionApproval: 'Manual' }
    await platform.send('PUT', POLICY, { token: admin, body: manual })
    expect((await put(['accounts:read'])).status).toBe(200)
    expect(await put(['accounts:read', 'payments:read'])).toMatchObject({
      status: 403,
      body: { code: 'operation_forbidden' },
    })
  })

  it('gets a client of the platform with own scopes only', async () => {
    const { platform, token, consumer } = await setUp()
    const body = { title: 'Platform', major: 1, version: '1.0.0', state: 'Active', ownScopes: platformScopes() }
    const entry = { kind: 'api', id: 'platform-v1', tenant: 'acme', expected: 0, body, keys: { state: 'Active' } }
    await platform.registry.commit({ tenant: 'acme', consumer: 'system' }, 'test', [entry])
    const made = await subscribe(platform, token, { consumer, api: 'platform-v1' })
    expect((made.body['scopes'] as string[]).toSorted()).toEqual(OWN_SCOPES)
    const wide = await subscribe(platform, token, { consumer, api: 'platform-v1', scopes: ['usage:read'] })
    expect(wide.status).toBe(403)
    const path = `/v1/subscriptions/${String(made.body['id'])}/scopes`
    expect((await platform.send('PUT', path, { token, body: { scopes: ['usage:read'] } })).status).toBe(403)
  })

  it('is shown to a person through a client of the provider, without what the provider has asked for', async () => {
    const { platform, admin, consumer } = await setUp()
    await subscribe(platform, admin, { consumer, api: 'payments-v1' })
    const roles = [{ role: 'consumer', consumers: [consumer] }]
    const user = { username: 'hopper', name: 'Grace', roles }
    const { body: made } = await platform.send('POST', '/v1/users', { token: admin, body: user })
    expect(made).toMatchObject({ roles })
    const token = platform.token('acme', OWN_SCOPES, undefined, { person: String(made['id']) })
    const itemsAt = async (path: string, as: string) =>
      (await platform.send('GET', path, { token: as })).body['items'] as { consumer: string }[]
    expect(await itemsAt('/v1/approvals', admin)).toHaveLength(1)
    expect(await itemsAt('/v1/approvals', token)).toEqual([])
    expect((await itemsAt('/v1/subscriptions', token)).map((each) => each.consumer)).toEqual([consumer])
  })

  it('asks through a person, who sees the request and cannot decide on it', async () => {
    const { platform, admin, consumer } = await setUp()
    const body = { exposure: 'Public', subscriptionApproval: 'Manual' }
    await platform.send('PUT', POLICY, { token: admin, body })
    const user = { username: 'hopper', name: 'Grace', roles: [{ role: 'consumer', consumers: [consumer] }] }
    const person = String((await platform.send('POST', '/v1/users', { token: admin, body: user })).body['id'])
    const token = platform.token('acme', OWN_SCOPES, undefined, { person })
    const asked = await subscribe(platform, token, { consumer, api: 'payments-v1' })
    expect(asked).toMatchObject({ status: 201, body: { state: 'Pending' } })
    const { body: own } = await platform.send('GET', '/v1/approvals', { token })
    expect(own['items']).toMatchObject([{ id: asked.body['approvalFlow'], requester: person }])

    const path = `/v1/subscriptions/${String(asked.body['id'])}`
    const decision = `${path}/approvalFlows/${String(asked.body['approvalFlow'])}/approvals`
    const decide = (by: string) => platform.send('POST', decision, { token: by, body: { outcome: 'Approved' } })
    expect((await decide(token)).status).toBe(403)
    expect((await decide(platform.token('acme', ['approvals:write'], undefined, { person }))).status).toBe(403)
    expect((await decide(admin)).status).toBe(200)
    expect((await platform.send('GET', path, { token })).body).toMatchObject({ state: 'Active' })
  })

  it('registers a bounded number of receivers', async () => {
    const { platform, token, consumer } = await setUp()
    const register = () =>
      platform.send('POST', '/v1/eventsubscriptions', { token, body: { url: 'https://own.example/' } })
    for (let count = 0; count < 5; count++) expect(await register()).toMatchObject({ status: 201, body: { consumer } })
    expect(await register()).toMatchObject({ status: 409, body: { code: 'state_conflict' } })
  })
})

describe('the APIs and products that a consumer sees', () => {
  it.each([
    ['Internal', 'Public', 0],
    ['Partner', 'Public', 0],
    ['Public', 'Public', 1],
    ['Internal', 'Partner', 0],
    ['Partner', 'Partner', 1],
    ['Internal', 'Internal', 1],
  ] as const)('exposed as %s, to a consumer with the exposure %s: %d', async (exposure, reach, count) => {
    const { platform, product, partyOf } = await setUp(exposure)
    const { token, consumer } = await partyOf(reach)
    for (const path of ['/v1/apis', '/v1/products']) {
      expect((await platform.send('GET', path, { token })).body['items']).toHaveLength(count)
    }
    const status = count === 1 ? 200 : 404
    expect((await platform.send('GET', '/v1/apis/payments-v1', { token })).status).toBe(status)
    expect((await platform.send('GET', `/v1/products/${product}`, { token })).status).toBe(status)
    const asked = await subscribe(platform, token, { consumer, api: 'payments-v1' })
    expect(asked.status).toBe(count === 1 ? 201 : 400)
    const bundled = await subscribe(platform, token, { consumer, product })
    expect(bundled.status).toBe(count === 1 ? 201 : 400)
  })

  it('include those that it is subscribed to, until the subscription ends', async () => {
    const { platform, admin, token, consumer } = await setUp('Internal')
    const { body } = await subscribe(platform, admin, { consumer, api: 'payments-v1' })
    const status = async () => (await platform.send('GET', '/v1/apis/payments-v1', { token })).status
    expect(await status()).toBe(200)
    await platform.send('POST', `/v1/subscriptions/${String(body['id'])}/cancel`, { token: admin })
    expect(await status()).toBe(404)
  })

  it('leave out an API that is retired, and the products with it', async () => {
    const { platform, admin, token, consumer, product } = await setUp('Public')
    const body = { retirementDate: '2030-01-01T00:00:00Z' }
    await platform.send('POST', '/v1/apis/payments-v1/deprecate', { token: admin, body })
    const retired = await platform.send('POST', '/v1/apis/payments-v1/retire', { token: admin, body: { force: true } })
    expect(retired.status).toBe(200)
    for (const path of ['/v1/apis', '/v1/products']) {
      expect((await platform.send('GET', path, { token })).body['items']).toEqual([])
      expect((await platform.send('GET', path, { token: admin })).body['items']).not.toEqual([])
    }
    expect((await subscribe(platform, token, { consumer, product })).status).toBe(400)
  })
})

describe('the secrets of credentials', () => {
  it('are shown only with the scope credentials:reveal, and each answer is audited', async () => {
    const { platform, admin, consumer } = await setUp()
    const { body } = await subscribe(platform, admin, { consumer, api: 'payments-v1' })
    const path = `/v1/subscriptions/${String(body['id'])}/credentials`
    const reader = platform.token('acme', ['credentials:read', 'credentials:write'])
    const { text } = await platform.send('GET', path, { token: admin })
    const secrets = [...text.matchAll(/"(?:clientSecret|apiKey)":"([^"]+)"/g)].map(([, secret]) => secret)
    expect(secrets).toHaveLength(2)

    const listed = await platform.send('GET', path, { token: reader })
    const rotated = await platform.send('POST', `${path}/rotate`, { token: reader })
    expect([listed.status, rotated.status]).toEqual([200, 200])
    expect(listed.text + rotated.text).not.toMatch(/"(?:clientSecret|apiKey)":"/)
    const { body: log } = await platform.send('GET', '/v1/audit', { token: admin })
    const actions = (log['items'] as { action: string }[]).map(({ action }) => action)
    expect(actions).toEqual(expect.arrayContaining(['credentials.list', 'credentials.read', 'credential.rotate']))
  })

  it('stay out of a list that asks without them, also for those who may see them', async () => {
    const { platform, admin, consumer, token } = await setUp()
    const { body } = await subscribe(platform, admin, { consumer, api: 'payments-v1' })
    const path = `/v1/subscriptions/${String(body['id'])}/credentials`
    for (const caller of [admin, token]) {
      const { status, text } = await platform.send('GET', `${path}?reveal=false`, { token: caller })
      expect(status).toBe(200)
      expect(text).toMatch(/"keyPrefix":"tg_[0-9A-Za-z]{5}"/)
      expect(text).not.toMatch(/"(?:clientSecret|apiKey)":"/)
    }
    const reads = `/v1/audit?action=credentials.read&id=${String(body['id'])}`
    const { body: log } = await platform.send('GET', reads, { token: admin })
    expect(log['items']).toEqual([])
  })
})
