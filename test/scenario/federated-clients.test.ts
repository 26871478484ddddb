import { describe, expect, it } from 'vitest'
import { registeredProviders } from '../../src/control/access/identity-provider-document.ts'
import { createIdentityProviders } from '../../src/control/access/identity-providers.ts'
import { createKeyedMutex } from '../../src/control/command/keyed-mutex.ts'
import { ACME, publishApi, openTestCatalogue, RIVAL, type TestCatalogue } from '../fixtures/test-catalogue.ts'
import { openTestPeople } from '../fixtures/test-people.ts'

const API = 'orders-v1'
const ISSUER = 'https://idp.example'
const federated = { issuer: ISSUER, clientId: 'partner' }

async function providersOf(catalogue: TestCatalogue, changes: string[] = []) {
  const federation = { probe: async () => null, changed: async () => void changes.push('changed') }
  const [people, mutex] = [await openTestPeople(catalogue), createKeyedMutex()]
  return createIdentityProviders({ ...catalogue, federation, people, mutex, gatewayUrl: 'https://gateway.example' })
}

/** Publishes an API and creates a consumer and a provider. */
async function prepare(catalogue: TestCatalogue): Promise<string> {
  const { consumer } = await publishApi(catalogue)
  await (await providersOf(catalogue)).create(ACME, { issuer: ISSUER })
  return consumer
}

function resolve(
  catalogue: TestCatalogue,
  more: Partial<{ tenant: string; issuer: string; clientId: string; api: string }> = {},
) {
  return catalogue.grants.resolve({ kind: 'federated', tenant: 'acme', api: API, ...federated, ...more })
}

describe('a federated client', () => {
  it('is found only by tenant, issuer, name and API, and sent to the threads when it is created', async () => {
    const catalogue = openTestCatalogue()
    const consumer = await prepare(catalogue)
    expect(await resolve(catalogue)).toBeNull()
    const { id } = await catalogue.subscriptions.create(ACME, {
      consumer,
      api: API,
      securityTypes: ['Federated'],
      federated,
    })

    const grant = await resolve(catalogue)
    expect(grant).toMatchObject({ type: 'Federated', subscription: id, consumer, valid: true, active: true, api: API })
    expect(catalogue.gateway.grants.filter(({ type }) => type !== 'Shared')).toEqual([grant])
    for (const other of [
      { tenant: 'rival' },
      { issuer: `${ISSUER}/` },
      { clientId: 'Partner' },
      { api: 'parcels-v1' },
    ]) {
      expect(await resolve(catalogue, other)).toBeNull()
    }
    const { items } = await catalogue.credentials.read(ACME, id)
    expect(items).toMatchObject([{ type: 'Federated', clientId: 'partner', clientSecret: null, apiKey: null }])
    expect(await catalogue.grants.clientFor('partner')).toBeNull()
  })

  it('has at most one subscription to an API, also after concurrent requests', async () => {
    const catalogue = openTestCatalogue()
    const consumer = await prepare(catalogue)
    const input = { consumer, api: API, securityTypes: ['Federated'], federated } as const
    const results = await Promise.allSettled([1, 2, 3].map(() => catalogue.subscriptions.create(ACME, input)))
    expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
    for (const result of results) {
      if (result.status === 'rejected') expect(result.reason).toMatchObject({ status: 409, code: 'name_taken' })
    }
    const id = (await resolve(catalogue))?.subscription ?? ''
    await catalogue.subscriptions.cancel(ACME, id)
    expect(await resolve(catalogue)).toMatchObject({ valid: false })
    const next = await catalogue.subscriptions.create(ACME, input)
    expect(await resolve(catalogue)).toMatchObject({ valid: true, subscription: next.id })
  })

  it('may subscribe again after a rejection, but not while a request is pending', async () => {
    const catalogue = openTestCatalogue()
    const consumer = await prepare(catalogue)
    await catalogue.apiPolicies.put(ACME, API, { subscriptionApproval: 'Manual' })
    const input = { consumer, api: API, securityTypes: ['Federated'], federated } as const
    const { id, approvalFlow } = await catalogue.subscriptions.create(ACME, input)
    await expect(catalogue.subscriptions.create(ACME, input)).rejects.toMatchObject({ code: 'name_taken' })

    const other = { tenant: 'acme', consumer: 'con_other' }
    await catalogue.approvals.decide(other, id, approvalFlow ?? '', { outcome: 'Rejected' })
    const again = await catalogue.subscriptions.create(ACME, input)
    await catalogue.approvals.decide(other, again.id, again.approvalFlow ?? '', { outcome: 'Approved' })
    expect(await resolve(catalogue)).toMatchObject({ subscription: again.id, active: true })
  })

  it('may subscribe again when its credential has expired, and is found by its valid credential', async () => {
    const catalogue = openTestCatalogue()
    const consumer = await prepare(catalogue)
    const input = { consumer, api: API, securityTypes: ['Federated'], federated } as const
    const { id } = await catalogue.subscriptions.create(ACME, input)
    catalogue.clock.nowMs = Date.parse((await catalogue.credentials.read(ACME, id)).items[0]?.expiresAt ?? '') - 1
    await expect(catalogue.subscriptions.create(ACME, input)).rejects.toMatchObject({ code: 'name_taken' })

    catalogue.clock.nowMs += 1
    const again = await catalogue.subscriptions.create(ACME, input)
    expect(await resolve(catalogue)).toMatchObject({ subscription: again.id })
  })

  it('may subscribe again when its credential was revoked', async () => {
    const catalogue = openTestCatalogue()
    const consumer = await prepare(catalogue)
    const input = { consumer, api: API, securityTypes: ['Federated'], federated } as const
    const { id } = await catalogue.subscriptions.create(ACME, input)
    const [credential] = (await catalogue.credentials.read(ACME, id)).items
    await catalogue.credentials.revoke(ACME, id, credential?.id ?? '')

    const again = await catalogue.subscriptions.create(ACME, input)
    expect(await resolve(catalogue)).toMatchObject({ subscription: again.id, valid: true })
  })

  it('of a product is found at the current members of the product', async () => {
    const catalogue = openTestCatalogue()
    const consumer = await prepare(catalogue)
    const { id: product } = await catalogue.products.create(ACME, { name: 'Trade', apis: [API] })
    await catalogue.subscriptions.create(ACME, { consumer, product, securityTypes: ['Federated'], federated })
    expect(await resolve(catalogue)).toMatchObject({ apiProductId: product })
    await catalogue.products.replace(ACME, product, { name: 'Trade', apis: [] })
    expect(await resolve(catalogue)).toBeNull()
  })
})

describe('a provider', () => {
  it('is refused above the limit per tenant; other tenants are not affected', async () => {
    const catalogue = openTestCatalogue()
    const changes: string[] = []
    const providers = await providersOf(catalogue, changes)
    const writes = Array.from({ length: 100 }, (_, at) => {
      const issuer = `https://idp-${at}.example`
      return { kind: 'identity_provider', id: `idp_${at}`, tenant: 'acme', expected: 0, body: { issuer, apis: [] } }
    })
    await catalogue.registry.commit(ACME, 'test', writes)

    const refused = { status: 409, code: 'state_conflict' }
    await expect(providers.create(ACME, { issuer: ISSUER })).rejects.toMatchObject(refused)
    expect(changes).toEqual([])
    await providers.create(RIVAL, { issuer: ISSUER })
    await providers.remove(ACME, 'idp_0')
    expect(await providers.create(ACME, { issuer: ISSUER })).toMatchObject({ issuer: ISSUER })
  })

  it('is registered for a tenant, and reaches the threads before the command returns', async () => {
    const catalogue = openTestCatalogue()
    const changes: string[] = []
    const providers = await providersOf(catalogue, changes)
    const { id } = await providers.create(ACME, { issuer: ISSUER, claims: { person: 'email' }, audience: 'apis' })
    await providers.create(RIVAL, { issuer: ISSUER })
    expect(changes).toHaveLength(2)
    await expect(providers.create(ACME, { issuer: ISSUER })).rejects.toMatchObject({ code: 'name_taken' })

    const all = await registeredProviders(catalogue.registry)
    expect(all).toMatchObject([
      { id, tenant: 'acme', issuer: ISSUER, audience: 'apis', claims: { clientId: '', scope: '', person: 'email' } },
      { tenant: 'rival', issuer: ISSUER, audience: '', apis: [] },
    ])
    await expect(providers.remove(RIVAL, id)).rejects.toMatchObject({ status: 404 })
    await providers.remove(ACME, id)
    expect((await registeredProviders(catalogue.registry)).map(({ tenant }) => tenant)).toEqual(['rival'])
    expect(changes).toHaveLength(3)
  })
})
