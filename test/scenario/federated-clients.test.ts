import { describe, expect, it } from 'vitest'
import { createIdentityProviders, registeredProviders } from '../../src/access/identity-providers.ts'
import { ACME, furnish, openHouse, RIVAL, type House } from '../fixtures/test-catalogue.ts'

const API = 'orders-v1'
const ISSUER = 'https://idp.example'
const federated = { issuer: ISSUER, clientId: 'partner' }

function providersOf({ registry, createId }: House, heard: string[] = []) {
  const federation = { probe: async () => null, changed: async () => void heard.push('changed') }
  return createIdentityProviders({ registry, createId, federation })
}

/** An API that serves, a consumer, and a provider. */
async function prepare(house: House): Promise<string> {
  const { consumer } = await furnish(house)
  await providersOf(house).create(ACME, { issuer: ISSUER })
  return consumer
}

function resolve(house: House, more: Partial<{ tenant: string; issuer: string; clientId: string; api: string }> = {}) {
  return house.grants.resolve({ kind: 'federated', tenant: 'acme', api: API, ...federated, ...more })
}

describe('a federated client', () => {
  it('is found by tenant, issuer, name and API alone, and told to the threads when it is made', async () => {
    const house = openHouse()
    const consumer = await prepare(house)
    expect(await resolve(house)).toBeNull()
    const { id } = await house.subscriptions.create(ACME, {
      consumer,
      api: API,
      securityTypes: ['Federated'],
      federated,
    })

    const grant = await resolve(house)
    expect(grant).toMatchObject({ type: 'Federated', subscription: id, consumer, valid: true, active: true, api: API })
    expect(house.gateway.grants).toEqual([grant])
    for (const other of [
      { tenant: 'rival' },
      { issuer: `${ISSUER}/` },
      { clientId: 'Partner' },
      { api: 'parcels-v1' },
    ]) {
      expect(await resolve(house, other)).toBeNull()
    }
    const { items } = await house.credentials.read(ACME, id)
    expect(items).toMatchObject([{ type: 'Federated', clientId: 'partner', clientSecret: null, apiKey: null }])
    expect(await house.grants.clientFor('partner')).toBeNull()
  })

  it('holds one subscription to an API at a time, also where two are asked for at once', async () => {
    const house = openHouse()
    const consumer = await prepare(house)
    const input = { consumer, api: API, securityTypes: ['Federated'], federated } as const
    const results = await Promise.allSettled([1, 2, 3].map(() => house.subscriptions.create(ACME, input)))
    expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
    for (const result of results) {
      if (result.status === 'rejected') expect(result.reason).toMatchObject({ status: 409, code: 'name_taken' })
    }
    const id = (await resolve(house))?.subscription ?? ''
    await house.subscriptions.cancel(ACME, id)
    expect(await resolve(house)).toMatchObject({ valid: false })
    const next = await house.subscriptions.create(ACME, input)
    expect(await resolve(house)).toMatchObject({ valid: true, subscription: next.id })
  })

  it('may subscribe again after it was rejected, and not while that is decided', async () => {
    const house = openHouse()
    const consumer = await prepare(house)
    await house.apiPolicies.put(ACME, API, { subscriptionApproval: 'Manual' })
    const input = { consumer, api: API, securityTypes: ['Federated'], federated } as const
    const { id, approvalFlow } = await house.subscriptions.create(ACME, input)
    await expect(house.subscriptions.create(ACME, input)).rejects.toMatchObject({ code: 'name_taken' })

    const other = { tenant: 'acme', consumer: 'con_other' }
    await house.approvals.decide(other, id, approvalFlow ?? '', { outcome: 'Rejected' })
    const again = await house.subscriptions.create(ACME, input)
    await house.approvals.decide(other, again.id, again.approvalFlow ?? '', { outcome: 'Approved' })
    expect(await resolve(house)).toMatchObject({ subscription: again.id, active: true })
  })

  it('may subscribe again when its credential has expired, and is found by what is still good', async () => {
    const house = openHouse()
    const consumer = await prepare(house)
    const input = { consumer, api: API, securityTypes: ['Federated'], federated } as const
    const { id } = await house.subscriptions.create(ACME, input)
    house.clock.nowMs = Date.parse((await house.credentials.read(ACME, id)).items[0]?.expiresAt ?? '') - 1
    await expect(house.subscriptions.create(ACME, input)).rejects.toMatchObject({ code: 'name_taken' })

    house.clock.nowMs += 1
    const again = await house.subscriptions.create(ACME, input)
    expect(await resolve(house)).toMatchObject({ subscription: again.id })
  })

  it('may subscribe again when its credential was revoked', async () => {
    const house = openHouse()
    const consumer = await prepare(house)
    const input = { consumer, api: API, securityTypes: ['Federated'], federated } as const
    const { id } = await house.subscriptions.create(ACME, input)
    const [credential] = (await house.credentials.read(ACME, id)).items
    await house.credentials.revoke(ACME, id, credential?.id ?? '')

    const again = await house.subscriptions.create(ACME, input)
    expect(await resolve(house)).toMatchObject({ subscription: again.id, valid: true })
  })

  it('of a product is found at its members, as long as they are members', async () => {
    const house = openHouse()
    const consumer = await prepare(house)
    const { id: product } = await house.products.create(ACME, { name: 'Trade', apis: [API] })
    await house.subscriptions.create(ACME, { consumer, product, securityTypes: ['Federated'], federated })
    expect(await resolve(house)).toMatchObject({ apiProductId: product })
    await house.products.replace(ACME, product, { name: 'Trade', apis: [] })
    expect(await resolve(house)).toBeNull()
  })
})

describe('a provider', () => {
  it('is refused beyond what the threads hold of one tenant; another tenant is not in the way', async () => {
    const house = openHouse()
    const heard: string[] = []
    const providers = providersOf(house, heard)
    const writes = Array.from({ length: 100 }, (_, at) => {
      const issuer = `https://idp-${at}.example`
      return { kind: 'identity_provider', id: `idp_${at}`, tenant: 'acme', expected: 0, body: { issuer, apis: [] } }
    })
    await house.registry.commit(ACME, 'test', writes)

    const refused = { status: 409, code: 'state_conflict' }
    await expect(providers.create(ACME, { issuer: ISSUER })).rejects.toMatchObject(refused)
    expect(heard).toEqual([])
    await providers.create(RIVAL, { issuer: ISSUER })
    await providers.remove(ACME, 'idp_0')
    expect(await providers.create(ACME, { issuer: ISSUER })).toMatchObject({ issuer: ISSUER })
  })

  it('is registered for a tenant, and known to the threads before it is answered', async () => {
    const house = openHouse()
    const heard: string[] = []
    const providers = providersOf(house, heard)
    const { id } = await providers.create(ACME, { issuer: ISSUER, claims: { person: 'email' }, audience: 'apis' })
    await providers.create(RIVAL, { issuer: ISSUER })
    expect(heard).toHaveLength(2)
    await expect(providers.create(ACME, { issuer: ISSUER })).rejects.toMatchObject({ code: 'name_taken' })

    const all = await registeredProviders(house.registry)
    expect(all).toMatchObject([
      { id, tenant: 'acme', issuer: ISSUER, audience: 'apis', claims: { clientId: '', scope: '', person: 'email' } },
      { tenant: 'rival', issuer: ISSUER, audience: '', apis: [] },
    ])
    await expect(providers.remove(RIVAL, id)).rejects.toMatchObject({ status: 404 })
    await providers.remove(ACME, id)
    expect((await registeredProviders(house.registry)).map(({ tenant }) => tenant)).toEqual(['rival'])
    expect(heard).toHaveLength(3)
  })
})
