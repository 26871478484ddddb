/** Search finds what the scopes of the caller show, and nothing of others. */

import { describe, expect, it } from 'vitest'
import { ownScope } from '../../../src/foundation/domain/scope-width.ts'
import { openTenant } from '../../fixtures/three-consumers.ts'
import { openTestPlatform, type TestPlatform } from '../../fixtures/test-platform.ts'

interface Found {
  readonly kind: string
  readonly id: string
  readonly name: string
}

async function find(platform: TestPlatform, token: string, q: string): Promise<readonly Found[]> {
  const answer = await platform.send('GET', `/v1/search?q=${encodeURIComponent(q)}`, { token })
  expect([answer.status, answer.status < 300 ? '' : answer.text]).toEqual([200, ''])
  return answer.body['found'] as Found[]
}

const create = async (platform: TestPlatform, token: string, name: string): Promise<string> => {
  const { body } = await platform.send('POST', '/v1/consumers', { token, body: { name, kind: 'application' } })
  return String(body['id'])
}

describe('a search', () => {
  it('finds names by their beginning in any case, and ids, until a resource is renamed or removed', async () => {
    const platform = await openTestPlatform()
    const token = platform.token('acme')
    const id = await create(platform, token, 'Ärzte App')
    const named = [{ kind: 'consumer', id, name: 'Ärzte App' }]
    for (const q of ['ärzte', 'ÄRZTE a', 'A\u0308rzte', ` ${id.slice(0, 12)} `, id])
      expect(await find(platform, token, q)).toMatchObject(named)
    for (const q of ['App', 'zte', '%', '_', `${id}x`, '\u{10ffff}']) expect(await find(platform, token, q)).toEqual([])
    await platform.send('PATCH', `/v1/consumers/${id}`, { token, body: { name: 'Shop' } })
    expect(await find(platform, token, 'ärzte')).toEqual([])
    expect(await find(platform, token, 'shop')).toMatchObject([{ id }])
    await platform.send('DELETE', `/v1/consumers/${id}`, { token })
    expect(await find(platform, token, 'shop')).toEqual([])
  })

  it('shows at most five of each kind', async () => {
    const platform = await openTestPlatform()
    const token = platform.token('acme')
    for (let n = 0; n < 7; n++) await create(platform, token, `Shop ${n}`)
    const { body: user } = await platform.send('POST', '/v1/users', {
      token,
      body: { username: 'shopper', name: 'Ada' },
    })
    const found = await find(platform, token, 'shop')
    expect(found.filter(({ kind }) => kind === 'consumer').map(({ name }) => name)).toEqual(
      [0, 1, 2, 3, 4].map((n) => `Shop ${n}`),
    )
    expect(found.filter(({ kind }) => kind === 'user')).toMatchObject([{ id: user['id'], name: 'Ada' }])
  })

  it('finds nothing of another tenant, and no kind whose scope is missing', async () => {
    const platform = await openTestPlatform()
    const id = await create(platform, platform.token('acme'), 'Shop')
    for (const q of ['Shop', id]) {
      expect(await find(platform, platform.token('rival'), q)).toEqual([])
      expect(await find(platform, platform.token('acme', ['me:read', 'apis:read']), q)).toEqual([])
      expect(await find(platform, platform.token('acme', ['me:read', 'consumers:read']), q)).toHaveLength(1)
    }
    expect(
      (await platform.send('GET', '/v1/search?q=Shop', { token: platform.token('acme', ['apis:read']) })).status,
    ).toBe(403)
  })

  it('shows a consumer its own subscriptions, and the APIs and products that it sees', async () => {
    const { platform, admin, parties } = await openTenant(7)
    const scopes = ['me:read', ...['apis:read', 'products:read', 'subscriptions:read'].map(ownScope)]
    const tokenOf = (consumer: string) => platform.token('acme', scopes, undefined, { consumer })
    for (const { consumer, subscriptions } of parties) {
      const seen = await find(platform, tokenOf(consumer), subscriptions[0]!)
      expect(seen.map(({ id }) => id)).toEqual([subscriptions[0]])
      const all = await find(platform, tokenOf(consumer), 'sub_')
      for (const { id } of all) expect(subscriptions.includes(id) || id.startsWith('sub_')).toBe(true)
      for (const other of parties.filter((each) => each.consumer !== consumer)) {
        expect(await find(platform, tokenOf(consumer), other.subscriptions[0]!)).toEqual([])
        expect(await find(platform, tokenOf(consumer), other.consumer)).toEqual([])
        expect(all.filter(({ id }) => other.subscriptions.includes(id))).toEqual([])
      }
    }
    const stranger = await create(platform, admin, 'Stranger')
    expect(await find(platform, tokenOf(stranger), 'payments')).toMatchObject([{ kind: 'api', id: 'payments-v1' }])
    await platform.send('PUT', '/v1/apis/payments-v1/policy', { token: admin, body: { exposure: 'Internal' } })
    expect(await find(platform, tokenOf(stranger), 'payments')).toEqual([])
  })

  it.each(['', '   ', 'x'.repeat(65), '\u0000'])('refuses %j', async (q) => {
    const platform = await openTestPlatform()
    const path = `/v1/search?q=${encodeURIComponent(q)}`
    expect((await platform.send('GET', path, { token: platform.token('acme') })).status).toBe(400)
  })
})
