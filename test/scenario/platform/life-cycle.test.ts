/** Resources that can be created can be changed and removed, with the checks that a user expects. */

import { describe, expect, it } from 'vitest'
import { publishApi } from '../../fixtures/published-api.ts'
import { openTestPlatform, PAYMENTS, type Answer } from '../../fixtures/test-platform.ts'

async function setUp() {
  const platform = await openTestPlatform()
  const token = platform.token('acme')
  const send = (method: string, path: string, body?: unknown, headers: Readonly<Record<string, string>> = {}) =>
    platform.send(method, path, { token, headers, ...(body !== undefined && { body }) })
  const create = async (path: string, body: unknown): Promise<string> => {
    const { status, body: made, text } = await send('POST', path, body)
    expect(status, text).toBe(201)
    return `${path}/${String(made['id'])}`
  }
  return { platform, token, send, create }
}

const codeOf = ({ status, body }: Answer): unknown => [status, body['code']]

const ADR = { title: 'Use it', status: 'Proposed', context: 'a', decision: 'b', consequences: 'c' }
const PRINCIPLE = { name: 'Small', statement: 'a', rationale: 'b', rules: ['path-verb'] }
const PROVIDER = { issuer: 'https://idp.example', audience: 'orders', claims: { clientId: 'azp' } }

/** Collection, body of the creation, change, and the audit action of the change. */
const CASES: readonly (readonly [string, object, object, string])[] = [
  ['/v1/consumers', { name: 'Shop', kind: 'agent', contact: 'a@b.example' }, { name: 'Store' }, 'consumer.update'],
  ['/v1/users', { username: 'ada', name: 'Ada' }, { name: 'Lovelace' }, 'user.update'],
  ['/v1/products', { name: 'Bundle', apis: [] }, { name: 'Trade' }, 'product.save'],
  ['/v1/adrs', ADR, { status: 'Accepted' }, 'adr.update'],
  ['/v1/principles', PRINCIPLE, { rules: [] }, 'principle.update'],
  ['/v1/rulesets', { rules: { 'info-contact': 'off' } }, { rules: { 'info-contact': 'error' } }, 'ruleset.update'],
  ['/v1/identityproviders', PROVIDER, { claims: { scope: 'scp' } }, 'identity_provider.update'],
]

describe.each(CASES)('a resource of %s', (collection, input, change, action) => {
  it('keeps the members that a change omits, and the change and the removal are audited', async () => {
    const { send, create } = await setUp()
    const path = await create(collection, input)
    const before = (await send('GET', path)).body
    const answer = await send('PATCH', path, change)
    expect(answer.status, answer.text).toBe(200)
    expect(answer.body).toEqual({ ...before, ...change })
    expect((await send('GET', path)).body).toEqual(answer.body)
    expect((await send('PATCH', path, {})).body).toEqual(answer.body)
    expect((await send('DELETE', path)).status).toBe(204)

    expect(codeOf(await send('GET', path))).toEqual([404, 'not_found'])
    expect(codeOf(await send('DELETE', path))).toEqual([404, 'not_found'])
    expect(codeOf(await send('PATCH', path, change))).toEqual([404, 'not_found'])
    const { body } = await send('GET', `/v1/audit?id=${path.split('/').at(-1)}`)
    const actions = (body['items'] as { action: string }[]).map((entry) => entry.action)
    expect(actions).toContain(action)
    expect(actions[0]).toBe(action.replace(/\.\w+$/, '.remove'))
  })

  it('has labels, which a list filters by, page by page', async () => {
    const { send, create } = await setUp()
    const labels = { team: 'a', 'cost/center': '4:2' }
    const unique = {
      ...('issuer' in input && { issuer: 'https://other.example' }),
      ...('username' in input && { username: 'bob' }),
    }
    const input2 = { ...input, ...unique }
    const path = await create(collection, { ...input, labels })
    const other = await create(collection, input2)
    expect((await send('GET', path)).body).toMatchObject({ labels })
    expect((await send('GET', other)).body).toMatchObject({ labels: {} })
    expect((await send('PATCH', other, { labels: { team: 'a' } })).body).toMatchObject({ labels: { team: 'a' } })
    const list = async (query: string): Promise<readonly string[]> => {
      const ids: string[] = []
      for (let cursor = ''; ;) {
        const { status, text, body } = await send('GET', `${collection}?limit=1${query}${cursor}`)
        expect(status, text).toBe(200)
        ids.push(...(body['items'] as { id: string }[]).map(({ id }) => `${collection}/${id}`))
        if (body['next'] === null) return ids
        cursor = `&cursor=${String(body['next'])}`
      }
    }
    expect(await list('&label=team:a')).toEqual([path, other])
    expect(await list('&label=team:a&label=cost/center:4:2')).toEqual([path])
    expect(await list('&label=team:b')).toEqual([])
    expect((await send('PATCH', path, change)).body).toMatchObject({ labels })
    expect((await send('PATCH', path, { labels: {} })).body).toMatchObject({ labels: {} })
    expect(await list('&label=team:a')).toEqual([other])
  })

  it('is neither changed nor removed if it has changed since it was read', async () => {
    const { send, create } = await setUp()
    const path = await create(collection, input)
    const { headers } = await send('GET', path)
    const stale = { 'if-match': headers['etag'] ?? '' }
    expect((await send('PATCH', path, change)).status).toBe(200)
    expect((await send('PATCH', path, input, stale)).status).not.toBe(200)
    expect(codeOf(await send('DELETE', path, undefined, stale))).toEqual([412, 'version_conflict'])
    expect((await send('GET', path)).status).toBe(200)
  })

  it('is not changed by a body with an unknown member or a wrong type', async () => {
    const { send, create } = await setUp()
    const path = await create(collection, input)
    const before = (await send('GET', path)).text
    const hostile = [null, [], { id: 'x' }, { tenant: 'rival' }, { name: { $ne: 1 } }, '{"__proto__":{"name":"x"}}']
    for (const body of hostile) expect((await send('PATCH', path, body)).status, JSON.stringify(body)).toBe(400)
    expect((await send('GET', path)).text).toBe(before)
  })
})

describe('a ruleset', () => {
  it('cannot be removed while the policy of the tenant names it, and is checked when it is changed', async () => {
    const { send, create } = await setUp()
    const path = await create('/v1/rulesets', { rules: {} })
    const approval = { minScore: 80, allowErrors: false, allowBreaking: true, exposures: [] }
    const name = (ruleset: string | null) => send('PUT', '/v1/policy', { approval, ruleset })
    expect((await name(path.split('/').at(-1) ?? '')).status).toBe(200)
    expect(codeOf(await send('DELETE', path))).toEqual([409, 'state_conflict'])
    const faulty = { rules: { mine: { given: '$', then: { function: 'eval' } } } }
    expect(codeOf(await send('PATCH', path, faulty))).toEqual([400, 'specification_invalid'])
    await name(null)
    expect((await send('DELETE', path)).status).toBe(204)
    expect((await name(path.split('/').at(-1) ?? '')).status).toBe(400)
  })
})

describe('an architecture decision record', () => {
  it('is listed under its new API after a change, and under none after null', async () => {
    const { platform, token, send, create } = await setUp()
    await publishApi(platform, token)
    const path = await create('/v1/adrs', ADR)
    const listed = async () => (await send('GET', '/v1/adrs?api=payments-v1')).body['items'] as { id: string }[]
    const before = (await listed()).length
    expect((await send('PATCH', path, { api: 'payments-v1' })).body).toMatchObject({ api: 'payments-v1' })
    expect(await listed()).toHaveLength(before + 1)
    expect((await send('PATCH', path, { api: null })).body).toMatchObject({ api: null })
    expect(await listed()).toHaveLength(before)
    expect(codeOf(await send('PATCH', path, { api: 'none-v1' }))).toEqual([400, 'payload_invalid'])
  })
})

describe('labels', () => {
  const many = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, at) => [`k${at}`, 'v']))

  it.each([
    [many(33)],
    [{ '': 'a' }],
    [{ '-a': 'a' }],
    [{ Team: 'a' }],
    [{ 'a b': 'a' }],
    [{ 'a:b': 'c' }],
    [{ ['k'.repeat(64)]: 'a' }],
    [{ constructor: 'a' }],
    [{ team: 'x'.repeat(129) }],
    [{ team: 'a\u0000b' }],
    [{ team: 1 }],
    [{ team: null }],
    [{ team: { nested: 'a' } }],
    [['team']],
    ['team:a'],
    [null],
  ])('%j are refused', async (labels) => {
    const { send } = await setUp()
    const { status } = await send('POST', '/v1/consumers', { name: 'Shop', kind: 'agent', labels })
    expect(status).toBe(400)
  })

  it('with the name of the prototype are refused', async () => {
    const { send } = await setUp()
    const body = '{"name":"Shop","kind":"agent","labels":{"__proto__":"a"}}'
    expect((await send('POST', '/v1/consumers', body)).status).toBe(400)
  })

  it('of the largest size are accepted and found', async () => {
    const { send, create } = await setUp()
    const labels = { ...many(31), ['k'.repeat(63)]: '✓'.repeat(128) }
    const path = await create('/v1/consumers', { name: 'Shop', kind: 'agent', labels })
    const query = encodeURIComponent(`${'k'.repeat(63)}:${'✓'.repeat(128)}`)
    const { body } = await send('GET', `/v1/consumers?label=${query}&label=k0:v`)
    expect((body['items'] as object[]).length).toBe(1)
    expect((await send('GET', path)).body).toMatchObject({ labels })
  })

  it.each(['team', ':a', 'Team:a', 'team%3Aa%00', 'a:b&label=', Array(9).fill('a:b').join('&label=')])(
    'are not searched by %s',
    async (filter) => {
      const { send } = await setUp()
      expect((await send('GET', `/v1/consumers?label=${filter}`)).status).toBe(400)
    },
  )

  it('of another tenant find nothing', async () => {
    const { platform, create } = await setUp()
    await create('/v1/consumers', { name: 'Shop', kind: 'agent', labels: { team: 'a' } })
    const answer = await platform.send('GET', '/v1/consumers?label=team:a', { token: platform.token('rival') })
    expect(answer.body).toEqual({ items: [], next: null })
  })

  it('of an API and of a subscription survive other changes', async () => {
    const { platform, token, send } = await setUp()
    const { subscription } = await publishApi(platform, token)
    const labels = { team: 'a' }
    expect((await send('PATCH', '/v1/apis/payments-v1', { labels })).body).toMatchObject({ labels })
    await send('POST', '/v1/apis/payments-v1/deprecate', { retirementDate: '2030-01-01T00:00:00Z' })
    const path = `/v1/subscriptions/${subscription}`
    expect((await send('PATCH', path, { labels, contact: 'ops@shop.example' })).body).toMatchObject({ labels })
    await send('POST', `${path}/suspend`)
    for (const list of ['/v1/apis', '/v1/subscriptions']) {
      const { body } = await send('GET', `${list}?label=team:a`)
      expect(body['items']).toMatchObject([{ labels }])
    }
  })
})

describe('labels of a resource that a deployment or a request creates', () => {
  const labels = { team: 'a' }

  it('are changed, listed and kept by later changes', async () => {
    const { platform, token, send } = await setUp()
    const { proxy, flow } = await publishApi(platform, token)
    const idOf = async (list: string): Promise<string> => {
      const { body } = await send('GET', `${list}?limit=1`)
      return String((body['items'] as readonly { id: string }[])[0]?.id)
    }
    const paths = [
      ['/v1/proxies', proxy],
      ['/v1/openapispecs', await idOf('/v1/openapispecs')],
      ['/v1/openslaspecs', await idOf('/v1/openslaspecs')],
      ['/v1/approvals', flow],
    ] as const
    for (const [collection, id] of paths) {
      expect((await send('PATCH', `${collection}/${id}`, { labels })).body, collection).toMatchObject({ id, labels })
      expect((await send('PATCH', `${collection}/${id}`, {})).body, collection).toMatchObject({ id, labels })
    }
    await send('POST', '/v1/proxies', { api: 'payments-v1', fromRevision: 1 })
    await send('POST', `/v1/proxies/${proxy}/activate`)
    for (const [collection, id] of paths) {
      const found = async (label: string) =>
        ((await send('GET', `${collection}?label=${label}`)).body['items'] as { id: string }[]).map((each) => each.id)
      expect(await found('team:a'), collection).toEqual([id])
      expect(await found('team:b'), collection).toEqual([])
    }
  })

  it('of a role are filtered, kept by a replacement without labels, and empty for a built-in role', async () => {
    const { send } = await setUp()
    const role = { name: 'Support', scopes: ['apis:read'] }
    expect((await send('POST', '/v1/roles', { ...role, labels })).status).toBe(201)
    expect((await send('PUT', '/v1/roles/Support', { scopes: [] })).body).toMatchObject({ labels })
    const { items } = (await send('GET', '/v1/roles?label=team:a')).body
    expect(items).toMatchObject([{ name: 'Support', labels }])
    expect((await send('GET', '/v1/roles/owner')).body).toMatchObject({ labels: {} })
    expect((await send('PUT', '/v1/roles/Support', { scopes: [], labels: {} })).body).toMatchObject({ labels: {} })
  })

  it('of a programme are set at its creation and changed', async () => {
    const { send } = await setUp()
    const body = { name: 'Pay', specification: PAYMENTS.toString('base64'), labels }
    const { id } = (await send('POST', '/v1/programmes', body)).body
    const changed = await send('PATCH', `/v1/programmes/${String(id)}`, { labels: { team: 'b' } })
    expect(changed.body, changed.text).toMatchObject({ labels: { team: 'b' } })
    const { items } = (await send('GET', '/v1/programmes?label=team:b')).body
    expect(items).toMatchObject([{ id }])
  })
})

describe.each([
  ['/v1/consumers', { name: 'Shop', kind: 'agent' }],
  ['/v1/users', { username: 'ada', name: 'Ada' }],
])('a removal of %s with `erase`', (collection, input) => {
  it('is accepted again after the removal, also without a name to erase, but not for an unknown id', async () => {
    const { send, create } = await setUp()
    const path = await create(collection, input)
    expect((await send('DELETE', `${path}?erase=true`)).status).toBe(204)
    expect((await send('DELETE', `${path}?erase=true`)).status).toBe(204)
    expect(codeOf(await send('DELETE', path))).toEqual([404, 'not_found'])
    expect(codeOf(await send('DELETE', `${collection}/unknown?erase=true`))).toEqual([404, 'not_found'])
    expect((await send('DELETE', `${path}?erase=1`)).status).toBe(400)
  })
})
