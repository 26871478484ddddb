import { describe, expect, it } from 'vitest'
import { apiWrite } from '../../../src/publishing/apis.ts'
import { ACME, base64, furnish, openHouse, orders, RIVAL, type House } from '../../fixtures/test-catalogue.ts'

const API = 'orders-v1'
const DAY_MS = 86_400_000
const dateIn = (house: House, days: number) => new Date(house.clock.nowMs + days * DAY_MS).toISOString()

async function deprecated(house: House) {
  const { consumer, proxy } = await furnish(house)
  const subscription = await house.subscriptions.create(ACME, { consumer, api: API })
  await house.retirement.deprecate(ACME, API, { retirementDate: dateIn(house, 30) })
  return { consumer, proxy, subscription: subscription.id }
}

const eventsOf = async ({ registry }: House) =>
  (await registry.list<{ type: string; data: object }>('event', { limit: 99 })).map(({ body }) => body)
const dueOf = async ({ registry }: House) =>
  (await registry.list<{ kind: string; atMs: number }>('due', { limit: 99 }))
    .map(({ body }) => body)
    .filter(({ kind }) => kind === 'retirement')

describe('a deprecated API', () => {
  it('goes on to serve, says so on every thread, and is told to those who listen', async () => {
    const house = openHouse()
    await furnish(house)
    const retirementDate = dateIn(house, 30)
    const input = { retirementDate, note: 'Use the next one.' }
    const shown = await house.retirement.deprecate(ACME, API, input)

    expect(shown).toMatchObject({ id: API, state: 'Deprecated', retirementDate, successor: null })
    expect(shown).not.toHaveProperty('actor')
    expect(house.gateway.heard).toEqual([`prepare ${API} 1`, `swap ${API} 1`])
    const deprecation = { sinceMs: house.clock.nowMs, retirementMs: Date.parse(retirementDate), successor: null }
    expect(house.gateway.prepared.at(-1)?.plan).toMatchObject({ state: 'Deprecated', deprecation })
    expect(await eventsOf(house)).toEqual([
      { type: 'VersionDeprecated', data: { api: API, retirementDate, successor: null, note: 'Use the next one.' } },
    ])
    expect(await dueOf(house)).toMatchObject([{ kind: 'retirement', subject: API, atMs: Date.parse(retirementDate) }])
  })

  it('takes a new subscription, also by a product, only if it is forced', async () => {
    const house = openHouse()
    const { consumer } = await deprecated(house)
    const { id: product } = await house.products.create(ACME, { name: 'Trade', apis: [API] })
    for (const to of [{ api: API }, { product }]) {
      await expect(house.subscriptions.create(ACME, { consumer, ...to })).rejects.toMatchObject({
        status: 409,
        code: 'state_conflict',
        extensions: { state: 'Deprecated', allowed: ['force'] },
      })
      expect(await house.subscriptions.create(ACME, { consumer, ...to, force: true })).toMatchObject({
        state: 'Active',
      })
    }
  })

  it('leaves the subscriptions that it has free to change their scopes', async () => {
    const house = openHouse()
    const { subscription } = await deprecated(house)
    await house.subscriptions.setScopes(ACME, subscription, [])
    const { scopes } = await house.subscriptions.setScopes(ACME, subscription, ['orders:read'])
    expect(scopes).toEqual(['orders:read'])
  })

  it('stays so over activations and a restart', async () => {
    const house = openHouse()
    const { proxy } = await deprecated(house)
    await house.proxies.stage(ACME, { api: API, specification: base64(orders()) })
    await house.proxies.activate(ACME, proxy)
    expect(house.gateway.prepared.at(-1)?.plan).toMatchObject({ state: 'Deprecated', revision: 2 })
    const [plan] = await Array.fromAsync(house.restart().proxies.activePlans())
    expect(plan?.plan).toMatchObject({ state: 'Deprecated', deprecation: { successor: null } })
  })

  it.each([
    ['a date that has passed', { retirementDate: '2020-01-01T00:00:00Z' }, '/retirementDate'],
    ['no date', { retirementDate: 'soon' }, '/retirementDate'],
    ['itself as successor', { retirementDate: '2030-01-01T00:00:00Z', successor: API }, '/successor'],
    ['a successor that is not there', { retirementDate: '2030-01-01T00:00:00Z', successor: 'x-v2' }, '/successor'],
  ])('is not made with %s', async (_, input, pointer) => {
    const house = openHouse()
    await furnish(house)
    await expect(house.retirement.deprecate(ACME, API, input)).rejects.toMatchObject({ errors: [{ pointer }] })
    expect([await eventsOf(house), await dueOf(house), house.gateway.heard]).toEqual([[], [], []])
  })

  it('is deprecated once, by its tenant alone', async () => {
    const house = openHouse()
    await deprecated(house)
    const again = { retirementDate: dateIn(house, 60) }
    await expect(house.retirement.deprecate(ACME, API, again)).rejects.toMatchObject({ code: 'state_conflict' })
    await expect(house.retirement.deprecate(RIVAL, API, again)).rejects.toMatchObject({ status: 404 })
  })

  it('is never the platform itself', async () => {
    const house = openHouse()
    const entry = { title: 'Platform', major: 1, version: '1.0.0', state: 'Active', owner: 'system' } as const
    const rest = { complianceScore: null, programme: null, retirementDate: null, successor: null, ownScopes: [] }
    await house.registry.commit(ACME, 'test', [apiWrite('platform-v1', 'acme', 0, { ...entry, ...rest })])
    const refused = house.retirement.deprecate(ACME, 'platform-v1', { retirementDate: dateIn(house, 30) })
    await expect(refused).rejects.toMatchObject({ code: 'state_conflict' })
  })

  it('is told in full or not at all: where the disk refuses, nothing is swapped', async () => {
    const house = openHouse()
    await furnish(house)
    const { commit } = house.registry
    house.registry.commit = () => Promise.reject(new Error('disk full'))
    const refused = house.retirement.deprecate(ACME, API, { retirementDate: dateIn(house, 30) })
    await expect(refused).rejects.toThrow('disk full')
    house.registry.commit = commit
    expect(house.gateway.heard).toEqual([`prepare ${API} 1`, `abort ${API} 1`])
    expect((await house.apis.get('acme', API)).state).toBe('Active')
    expect([await eventsOf(house), await dueOf(house)]).toEqual([[], []])
  })
})

describe('retiring', () => {
  it('is refused while subscriptions are active, and names them', async () => {
    const house = openHouse()
    const { subscription } = await deprecated(house)
    await expect(house.retirement.retire(ACME, API, false)).rejects.toMatchObject({
      status: 409,
      code: 'subscriptions_active',
      extensions: { subscriptions: [subscription] },
    })
    expect((await house.apis.get('acme', API)).state).toBe('Deprecated')
  })

  it('counts who came by a product', async () => {
    const house = openHouse()
    const { consumer, subscription } = await deprecated(house)
    await house.subscriptions.cancel(ACME, subscription)
    const { id: product } = await house.products.create(ACME, { name: 'Trade', apis: [API] })
    const { id } = await house.subscriptions.create(ACME, { consumer, product, force: true })
    await expect(house.retirement.retire(ACME, API, false)).rejects.toMatchObject({
      extensions: { subscriptions: [id] },
    })
  })

  it.each(['free', 'forced'])('when it is %s, every thread knows before the answer, and it is told', async (how) => {
    const house = openHouse()
    const { subscription } = await deprecated(house)
    if (how === 'free') await house.subscriptions.cancel(ACME, subscription)
    house.gateway.heard.length = 0
    expect(await house.retirement.retire(ACME, API, how === 'forced')).toMatchObject({ state: 'Retired' })

    expect(house.gateway.heard).toEqual([`prepare ${API} 1`, `swap ${API} 1`])
    expect(house.gateway.prepared.at(-1)?.plan.state).toBe('Retired')
    expect((await eventsOf(house)).map(({ type }) => type)).toEqual(['VersionDeprecated', 'VersionSunset'])
    expect(await dueOf(house)).toEqual([])
  })

  it('needs a deprecation first, and is the end', async () => {
    const house = openHouse()
    const { proxy, consumer } = await furnish(house)
    await expect(house.retirement.retire(ACME, API, true)).rejects.toMatchObject({
      code: 'state_conflict',
      extensions: { state: 'Active', allowed: ['deprecated'] },
    })
    await house.retirement.deprecate(ACME, API, { retirementDate: dateIn(house, 1) })
    await house.retirement.retire(ACME, API, false)
    const conflict = { code: 'state_conflict' }
    await expect(house.retirement.retire(ACME, API, true)).rejects.toMatchObject(conflict)
    const stage = house.proxies.stage(ACME, { api: API, specification: base64(orders()) })
    await expect(stage).rejects.toMatchObject(conflict)
    await expect(house.subscriptions.create(ACME, { consumer, api: API })).rejects.toMatchObject(conflict)
    expect((await house.proxies.get('acme', proxy)).activeRevision).toBe(1)
  })
})

describe('a retirement date that comes', () => {
  it('retires an API that nobody uses, once', async () => {
    const house = openHouse()
    const { subscription } = await deprecated(house)
    await house.subscriptions.cancel(ACME, subscription)
    expect(await house.retirement.retirementDue('acme', API)).toBe(true)
    expect((await house.apis.get('acme', API)).state).toBe('Retired')
    expect(await house.retirement.retirementDue('acme', API)).toBe(true)
    expect((await eventsOf(house)).filter(({ type }) => type === 'VersionSunset')).toHaveLength(1)
  })

  it('ends nobody’s access', async () => {
    const house = openHouse()
    await deprecated(house)
    expect(await house.retirement.retirementDue('acme', API)).toBe(false)
    expect((await house.apis.get('acme', API)).state).toBe('Deprecated')
  })
})
