/** The life cycle of a tenant: change, disable, enable, export and removal. */

import { describe, expect, it } from 'vitest'
import { createGrants } from '../../../src/control/access/grants.ts'
import { platformScopes } from '../../../src/interfaces/platform/operations.ts'
import { pixels } from '../../fixtures/images.ts'
import { publishApi } from '../../fixtures/published-api.ts'
import { openTestPlatform, type Answer } from '../../fixtures/test-platform.ts'

async function setUp() {
  const platform = await openTestPlatform()
  const operator = platform.token('acme')
  const body = { title: 'Platform', major: 1, version: '1.0.0', state: 'Active', ownScopes: platformScopes() }
  const entry = { kind: 'api', id: 'platform-v1', tenant: 'acme', expected: 0, body, keys: { state: 'Active' } }
  const named = { keys: { name: 'acme' }, unique: ['name'] }
  const owner = { kind: 'tenant', id: 'acme', tenant: 'acme', expected: 0, body: { name: 'acme' }, ...named }
  await platform.registry.commit({ tenant: 'acme', consumer: 'system' }, 'test', [entry, owner])
  const send = (method: string, path: string, sent?: unknown) =>
    platform.send(method, path, { token: operator, ...(sent !== undefined && { body: sent }) })
  const made = await send('POST', '/v1/tenants', { name: 'Guest', labels: { plan: 'free' } })
  const id = String(made.body['id'])
  const { clientId } = made.body['credential'] as { clientId: string }
  const grants = createGrants({ registry: platform.registry })
  const isActive = async () => (await grants.clientFor(clientId))?.grant.active
  return { platform, send, id, path: `/v1/tenants/${id}`, isActive, credential: made.body['credential'] as object }
}

const codeOf = ({ status, body }: Answer): unknown => [status, body['code']]

describe('a tenant', () => {
  it('is renamed and labelled, and is listed by its labels', async () => {
    const { send, path, id } = await setUp()
    const answer = await send('PATCH', path, { name: 'Visitor', labels: { plan: 'paid' } })
    expect(answer.body).toMatchObject({ id, name: 'Visitor', state: 'Active', labels: { plan: 'paid' } })
    const found = async (label: string) => (await send('GET', `/v1/tenants?label=${label}`)).body['items']
    expect(await found('plan:paid')).toMatchObject([{ id }])
    expect(await found('plan:free')).toEqual([])
    expect(codeOf(await send('PATCH', path, { name: 'acme' }))).toEqual([409, 'name_taken'])
  })

  it('is renamed with its portal in one commit, or neither is changed', async () => {
    const { platform, send, path, id } = await setUp()
    const { registry } = platform
    const position = async () => (await registry.get('tenant' as never, id))?.revision
    const before = await position()
    const portal = { name: 'Visitors', logo: pixels(9, 9).toString('base64') }
    const answer = await send('PATCH', path, { name: 'Visitor', portal })
    const changed = {
      name: 'Visitor',
      portal: { name: 'Visitors', logoUrl: expect.stringMatching(/^\/console\/logo\//) },
    }
    expect(answer).toMatchObject({ status: 200, body: changed })
    expect(await position()).toBe(before! + 1)

    const refused = [
      await send('PATCH', path, { name: 'acme', portal: { name: 'Other' } }),
      await send('PATCH', path, { name: 'Other', portal: { logo: 'AAAA' } }),
    ]
    expect(refused.map(codeOf)).toEqual([
      [409, 'name_taken'],
      [400, 'payload_invalid'],
    ])
    expect((await send('GET', path)).body).toMatchObject(changed)
    expect(await position()).toBe(before! + 1)
    expect((await send('PATCH', path, { portal: { enabled: false } })).body).toMatchObject({
      portal: { enabled: false },
    })
    expect((await send('PATCH', path, {})).body).toMatchObject({ name: 'Visitor' })
    expect(await position()).toBe(before! + 2)
  })

  it('that is disabled loses the access of all its credentials until it is enabled', async () => {
    const { send, path, isActive } = await setUp()
    expect(await isActive()).toBe(true)
    expect((await send('POST', `${path}/disable`)).body).toMatchObject({ state: 'Disabled' })
    expect(await isActive()).toBe(false)
    expect((await send('POST', `${path}/enable`)).body).toMatchObject({ state: 'Active' })
    expect(await isActive()).toBe(true)
  })

  it('is removed with all its documents only when it is disabled and completely exported since', async () => {
    const { platform, send, path, id, isActive } = await setUp()
    const token = platform.token(id)
    await publishApi(platform, token)
    expect(codeOf(await send('DELETE', path))).toEqual([409, 'state_conflict'])
    await send('GET', `${path}/export`)
    await send('POST', `${path}/disable`)
    expect(codeOf(await send('DELETE', path))).toEqual([409, 'state_conflict'])
    await send('GET', `${path}/export`)
    await send('POST', `${path}/enable`)
    await send('POST', `${path}/disable`)
    expect(codeOf(await send('DELETE', path))).toEqual([409, 'state_conflict'])
    await send('GET', `${path}/export`)
    expect((await send('DELETE', path)).status).toBe(204)

    expect(codeOf(await send('GET', path))).toEqual([404, 'not_found'])
    expect(await isActive()).toBeUndefined()
    for (const list of ['/v1/apis', '/v1/consumers', '/v1/subscriptions', '/v1/openapispecs', '/v1/products']) {
      expect((await platform.send('GET', list, { token })).body).toEqual({ items: [], next: null })
    }
    expect((await platform.send('GET', '/v1/audit', { token })).body['items']).not.toEqual([])
    const last = new Map(platform.grants.map((grant) => [grant.credential, grant]))
    const own = [...last.values()].filter((grant) => grant.tenant === id)
    expect(own.map(({ valid, active }) => [valid, active])).toEqual(own.map(() => [false, false]))
    expect(own.length).toBeGreaterThan(1)
    expect((await send('POST', '/v1/tenants', { name: 'Guest' })).status).toBe(201)
    const other = platform.token('rival')
    await publishApi(platform, other)
  })

  it('that operates the gateway can be neither disabled nor removed', async () => {
    const { send } = await setUp()
    expect(codeOf(await send('POST', '/v1/tenants/acme/disable'))).toEqual([409, 'state_conflict'])
    expect(codeOf(await send('DELETE', '/v1/tenants/acme'))).toEqual([409, 'state_conflict'])
    expect((await send('GET', '/v1/tenants/acme')).body).toMatchObject({ state: 'Active' })
  })

  it('is changed, exported and removed by the operator alone', async () => {
    const { platform, path, id } = await setUp()
    const token = platform.token(
      id,
      platformScopes().filter((scope) => scope !== 'platform:admin'),
    )
    for (const [method, suffix, body] of [
      ['PATCH', '', { name: 'Mine' }],
      ['POST', '/disable'],
      ['POST', '/enable'],
      ['GET', '/export'],
      ['DELETE', ''],
    ] as const) {
      const answer = await platform.send(method, path + suffix, { token, ...(body && { body }) })
      expect(codeOf(answer)).toEqual([403, 'operation_forbidden'])
    }
  })
})

describe('the export of a tenant', () => {
  it('has every document of the tenant, none of another tenant, and no secret', async () => {
    const { platform, send, path, id, credential } = await setUp()
    const token = platform.token(id)
    const { subscription } = await publishApi(platform, token)
    const { text: secrets } = await platform.send('GET', `/v1/subscriptions/${subscription}/credentials`, { token })
    const answer = await send('GET', `${path}/export`)
    expect(answer.headers['content-type']).toMatch('application/x-ndjson')
    const lines = answer.text.trimEnd().split('\n')
    const documents = lines.map((line) => JSON.parse(line) as { kind?: string; body?: object; end?: true })
    expect(documents.at(-1)).toEqual({ end: true, tenant: id, documents: lines.length - 1 })
    const kinds = new Set(documents.map(({ kind }) => kind))
    for (const kind of ['tenant', 'consumer', 'api', 'proxy', 'openapispec', 'content', 'subscription', 'credential']) {
      expect(kinds, kind).toContain(kind)
    }
    for (const kind of ['signing_key', 'due', 'event', 'authorization_code']) expect(kinds).not.toContain(kind)
    expect(answer.text).not.toContain('"tenant":"acme"')
    for (const name of ['clientSecret', 'secretHash', 'keyHash', 'apiKey', 'passwordHash', 'secrets', 'encrypted']) {
      expect(answer.text).not.toContain(`"${name}"`)
    }
    const values = [...secrets.matchAll(/"(?:clientSecret|apiKey)":"([^"]+)"/g)].map(([, value]) => value ?? '')
    expect(values).toHaveLength(2)
    for (const value of [...values, String(Object.values(credential)[1])]) expect(answer.text).not.toContain(value)
  })
})
