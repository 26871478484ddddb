/** A platform token cannot be used to escalate privileges: `SEEDS` random sequences of commands, from `SEED` on. */

import { describe, expect, it } from 'vitest'
import { includesScope, wideScope } from '../../../src/foundation/domain/scope-width.ts'
import { platformScopes } from '../../../src/interfaces/platform/operations.ts'
import { createRandom } from '../../random.ts'
import { readSeed } from '../../random-seed.ts'
import { publishApi } from '../../fixtures/published-api.ts'
import { openTestPlatform, type Answer, type TestPlatform } from '../../fixtures/test-platform.ts'

const SEEDS = Number(process.env['SEEDS'] ?? 12)
const SEED = readSeed(1)

const CLERK_SCOPES = [
  'consumers:read',
  'credentials:read',
  'credentials:reveal',
  'credentials:write',
  'subscriptions:read',
  'subscriptions:write',
]
const MANAGING = [
  ...['users:write', 'roles:write', 'users:read', 'roles:read'],
  ...['identityproviders:read', 'identityproviders:write'],
]

interface MappedProvider {
  readonly id: string
  readonly signIn: { readonly roles: readonly { readonly role: string }[] } | null
}

const FORBIDDEN = { status: 403, body: { code: 'operation_forbidden' } }

async function setUp() {
  const platform = await openTestPlatform()
  const admin = platform.token('acme')
  const resources = await publishApi(platform, admin)
  const body = { title: 'Platform', major: 1, version: '1.0.0', state: 'Active', ownScopes: platformScopes() }
  const entry = { kind: 'api', id: 'platform-v1', tenant: 'acme', expected: 0, body, keys: { state: 'Active' } }
  await platform.registry.commit({ tenant: 'acme', consumer: 'system' }, 'test', [entry])
  return { platform, admin, clerk: platform.token('acme', CLERK_SCOPES), ...resources }
}

function subscribe(platform: TestPlatform, token: string, consumer: string, fields: object = {}): Promise<Answer> {
  const body = { consumer, api: 'platform-v1', ...fields }
  return platform.send('POST', '/v1/subscriptions', { token, body })
}

const pathOf = ({ body }: Answer) => `/v1/subscriptions/${String(body['id'])}`

describe('a caller that holds only some platform scopes', () => {
  it('can give a new subscription only the scopes that it holds', async () => {
    const { platform, clerk, consumer } = await setUp()
    const created = await subscribe(platform, clerk, consumer)
    expect(created.status).toBe(201)
    // Without `scopes`, the own widths of the scopes that the caller holds.
    const own = ['credentials:read:own', 'credentials:write:own', 'subscriptions:read:own', 'subscriptions:write:own']
    expect((created.body['scopes'] as string[]).toSorted()).toEqual(own)

    const before = (await platform.send('GET', '/v1/subscriptions', { token: clerk })).text
    for (const scopes of [['users:write'], [...CLERK_SCOPES, 'platform:admin']]) {
      expect(await subscribe(platform, clerk, consumer, { scopes })).toMatchObject(FORBIDDEN)
    }
    expect((await platform.send('GET', '/v1/subscriptions', { token: clerk })).text).toBe(before)
  })

  it('cannot add scopes that it does not hold to a subscription, but can remove any scope', async () => {
    const { platform, admin, clerk, consumer } = await setUp()
    const path = pathOf(await subscribe(platform, admin, consumer, { scopes: platformScopes() }))
    // The last one with all scopes would be kept.
    await subscribe(platform, admin, consumer, { scopes: platformScopes() })
    const put = (scopes: readonly string[]) =>
      platform.send('PUT', `${path}/scopes`, { token: clerk, body: { scopes } })

    expect(await put(['consumers:read', 'users:write'])).toMatchObject({ status: 200 })
    expect(await put([...CLERK_SCOPES, 'users:write', 'platform:admin'])).toMatchObject(FORBIDDEN)
    expect(await put(CLERK_SCOPES)).toMatchObject({ status: 200 })
    expect(await put([...CLERK_SCOPES, 'users:write'])).toMatchObject(FORBIDDEN)
  })

  it('cannot read or rotate credentials that have scopes it does not hold, and receives no secret in the response', async () => {
    const { platform, admin, clerk, consumer } = await setUp()
    const path = `${pathOf(await subscribe(platform, admin, consumer, { scopes: platformScopes() }))}/credentials`
    const { text } = await platform.send('GET', path, { token: admin })
    const secrets = [...text.matchAll(/"(?:clientSecret|apiKey)":"([^"]+)"/g)].map(([, secret]) => secret ?? '')
    expect(secrets).toHaveLength(2)

    const readResponse = await platform.send('GET', path, { token: clerk })
    const rotateResponse = await platform.send('POST', `${path}/rotate`, { token: clerk, body: { overlapSeconds: 0 } })
    for (const answer of [readResponse, rotateResponse]) {
      expect(answer).toMatchObject(FORBIDDEN)
      for (const secret of secrets) expect(answer.text).not.toContain(secret)
    }
    expect((await platform.send('GET', path, { token: admin })).text).toBe(text)
  })

  it('can read and rotate credentials whose scopes it holds', async () => {
    const { platform, clerk, consumer } = await setUp()
    const path = `${pathOf(await subscribe(platform, clerk, consumer))}/credentials`
    expect(await platform.send('GET', path, { token: clerk })).toMatchObject({ status: 200 })
    expect(await platform.send('POST', `${path}/rotate`, { token: clerk })).toMatchObject({ status: 200 })
  })
})

describe('no sequence of commands on people, roles and identity providers', () => {
  let accepted = 0
  it.each(Array.from({ length: SEEDS }, (_, at) => SEED + at))(
    'gives anybody a right that the caller does not hold (seed %i)',
    { timeout: 120_000 },
    async (seed) => {
      const { platform, admin, consumer } = await setUp()
      const random = createRandom(seed)
      const all = [...platformScopes(), 'platform:admin']
      const pick = <T>(items: readonly T[]): T => items[random.below(items.length)]!
      const some = (items: readonly string[]): string[] => [...new Set(items.filter(() => random.below(4) === 0))]
      const held = [...new Set([...some(all), ...MANAGING])]
      const caller = platform.token('acme', held)
      const grantable = all.filter((scope) => held.includes(wideScope(scope)))
      const body = (name: string) => ({ name, scopes: some(random.below(2) === 0 ? grantable : all) })
      for (const name of ['a', 'b']) await platform.send('POST', '/v1/roles', { token: admin, body: body(name) })
      const users: string[] = []
      const roleOf = (role: string) => ({ role, ...(role === 'consumer' && { consumers: [consumer] }) })
      const names = ['a', 'b', 'c', 'd', 'owner', 'admin', 'auditor', 'billing', 'publisher', 'security', 'consumer']
      for (const [at, role] of ['a', 'auditor', 'owner', 'billing'].entries()) {
        const user = { username: `u${at}`, name: 'U', roles: [roleOf(role)] }
        users.push(String((await platform.send('POST', '/v1/users', { token: admin, body: user })).body['id']))
      }
      const mapping = () => ({ claim: 'groups', value: 'all', ...roleOf(pick(names)) })
      const provider = (name: string, role: object) => ({
        issuer: `https://${name}.example`,
        signIn: { clientId: 'a', clientSecret: 'b', roles: [{ claim: 'groups', value: 'all', ...role }] },
      })
      const providers: string[] = []
      for (const role of ['a', 'owner']) {
        const made = { token: admin, body: provider(role, roleOf(role)) }
        providers.push(String((await platform.send('POST', '/v1/identityproviders', made)).body['id']))
      }
      /** The rights of each user, and those that each provider gives. */
      const rightsOf = async () => {
        const { entitlements } = platform.people
        const rights = new Map<string, string[]>()
        for (const id of users) rights.set(id, [...((await entitlements.ofUser('acme', id))?.scopes ?? [])])
        const { body: list } = await platform.send('GET', '/v1/identityproviders?limit=100', { token: admin })
        for (const { id, signIn } of list['items'] as MappedProvider[]) {
          rights.set(id, [...(await entitlements.ofRoles('acme', signIn?.roles ?? [])).scopes])
        }
        return rights
      }
      const accessible = new Set(['me:read', 'me:write', ...held])
      for (let round = 0; round < 40; round++) {
        const before = await rightsOf()
        const user = `/v1/users/${pick(users)}`
        const roles = { roles: [roleOf(pick(names))] }
        const pathOfProvider = `/v1/identityproviders/${pick(providers)}`
        const [method, path, sent] = pick<readonly [string, string, object?]>([
          ['POST', '/v1/roles', body(pick(names))],
          ['PUT', `/v1/roles/${pick(names)}`, { scopes: body('a').scopes }],
          ['PATCH', user, roles],
          ['POST', '/v1/users', { username: `n${round}`, name: 'N', ...roles }],
          ['POST', `${user}/resetPassword`],
          ['POST', `${user}/enable`],
          ['POST', `${user}/invite`],
          ['POST', '/v1/identityproviders', provider(`idp${round}`, roleOf(pick(names)))],
          ['PATCH', pathOfProvider, { signIn: { roles: [mapping()] } }],
          ['PATCH', pathOfProvider, { signIn: { clientId: 'other', clientSecret: 'c' } }],
          ['PATCH', pathOfProvider, { signIn: null }],
        ])
        const answer = await platform.send(method, path, { token: caller, ...(sent && { body: sent }) })
        if (answer.status < 300) accepted++
        if (method === 'POST' && path === '/v1/users' && answer.status === 201) users.push(String(answer.body['id']))
        for (const [id, scopes] of await rightsOf()) {
          const had = before.get(id) ?? []
          const gained = scopes.filter((scope) => !had.includes(scope))
          expect(gained.filter((scope) => !includesScope(accessible, scope))).toEqual([])
          if (answer.body['id'] !== id) continue
          // A link gives its reader every right of the user, and the client of a provider decides who its people are.
          if (answer.body['invitation'] === undefined && path !== pathOfProvider) continue
          expect(scopes.filter((scope) => !includesScope(accessible, scope))).toEqual([])
        }
      }
    },
  )

  it('consists of refused commands only', () => {
    expect(accepted).toBeGreaterThan(0)
  })
})

describe('the body of a subscription request', () => {
  const prefix = 'https://app.example/'
  const uri = (length: number) => prefix + 'x'.repeat(length - prefix.length)
  const uris = (count: number) => Array.from({ length: count }, (_, at) => `${prefix}${at}`)
  const send = async (fields: object) => {
    const { platform, admin, consumer } = await setUp()
    return subscribe(platform, admin, consumer, { api: 'payments-v1', ...fields })
  }

  it.each([
    [{ redirectUris: uris(20) }],
    [{ redirectUris: [uri(2_048)] }],
    [{ securityTypes: ['PKCE'], redirectUris: ['http://[::1]:4000/back', 'com.example.app:/back'] }],
  ])('%j is accepted, and its redirect URIs are returned unchanged', async (fields) => {
    expect(await send(fields)).toMatchObject({ status: 201, body: { redirectUris: fields.redirectUris } })
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
  ])('%j is rejected with a JSON Pointer to the invalid field', async (fields, pointer) => {
    const { status, body } = await send(fields)
    const errors = body['errors'] as { pointer: string }[] | undefined
    expect([status, errors?.map((error) => error.pointer)]).toEqual([400, [pointer]])
  })
})
