import { describe, expect, it } from 'vitest'
import { DUE_KIND } from '../../../../src/control/command/due-times.ts'
import {
  ACME,
  base64,
  declaration,
  openTestCatalogue,
  orders,
  publishApi,
  RIVAL,
} from '../../../fixtures/test-catalogue.ts'

const API = 'orders-v1'

async function setUp() {
  const catalogue = openTestCatalogue()
  const { consumer } = await publishApi(catalogue)
  await catalogue.specifications.createOpenSla(ACME, { api: API, specification: base64(declaration()) })
  catalogue.gateway.calls.length = 0
  return { catalogue, consumer, remove: (api = API) => catalogue.apiRemoval.remove(ACME, api) }
}

describe('an API that is removed', () => {
  it('is withdrawn from every thread before the command returns, and is not served after a restart', async () => {
    const { catalogue, remove } = await setUp()
    await remove()
    expect(catalogue.gateway.calls).toEqual([`withdraw ${API}`])
    expect(await Array.fromAsync(catalogue.restart().proxies.activePlans())).toEqual([])
    await expect(catalogue.apis.get('acme', API)).rejects.toMatchObject({ code: 'not_found' })
    await expect(remove()).rejects.toMatchObject({ code: 'not_found' })
  })

  it('frees its name for another tenant, which gets neither its declarations nor its policy', async () => {
    const { catalogue, remove } = await setUp()
    await catalogue.apiPolicies.put(ACME, API, { subscriptionApproval: 'Manual' })
    await catalogue.retirement.deprecate(ACME, API, { retirementDate: '2099-01-01T00:00:00Z' })
    const before = (await catalogue.specifications.openSlas('acme', { limit: 9 })).items
    await remove()
    await publishApi(catalogue, RIVAL)
    expect(await catalogue.specifications.plansInForce(API, [])).toEqual([])
    expect(await catalogue.apiPolicies.get('rival', API)).toMatchObject({ subscriptionApproval: 'Auto' })
    expect((await catalogue.specifications.openSlas('acme', { limit: 9 })).items).toEqual(
      before.map((each) => ({ ...each, inForce: false })),
    )
    const due = await catalogue.registry.list(DUE_KIND, { limit: 99 })
    expect(due.filter(({ body }) => body.kind === 'retirement')).toEqual([])
    expect((await catalogue.specifications.openApis('acme', { limit: 9 })).items).toHaveLength(1)
  })

  it('can be published again by its tenant, without its earlier subscriptions', async () => {
    const { catalogue, consumer, remove } = await setUp()
    const { id } = await catalogue.subscriptions.create(ACME, { consumer, api: API })
    await catalogue.subscriptions.cancel(ACME, id)
    await remove()
    await publishApi(catalogue)
    expect(await catalogue.subscriptions.get('acme', id)).toMatchObject({ state: 'Cancelled' })
  })
})

describe('an API is not removed', () => {
  it('while a subscription to it has not ended', async () => {
    const { catalogue, consumer, remove } = await setUp()
    const { id } = await catalogue.subscriptions.create(ACME, { consumer, api: API })
    await catalogue.subscriptions.suspend(ACME, id)
    await expect(remove()).rejects.toMatchObject({
      code: 'subscriptions_active',
      extensions: { subscriptions: [id] },
    })
    expect(catalogue.gateway.calls.filter((call) => call.startsWith('withdraw'))).toEqual([])
  })

  it('while it is a member of a product, with or without subscriptions to the product', async () => {
    const { catalogue, consumer, remove } = await setUp()
    const { id: product } = await catalogue.products.create(ACME, { name: 'Trade', apis: [API] })
    const { id } = await catalogue.subscriptions.create(ACME, { consumer, product })
    await expect(remove()).rejects.toMatchObject({ code: 'subscriptions_active', extensions: { subscriptions: [id] } })
    await catalogue.subscriptions.cancel(ACME, id)
    await expect(remove()).rejects.toMatchObject({ code: 'state_conflict', extensions: { products: [product] } })
    await catalogue.products.remove(ACME, product)
    await remove()
  })

  it('while a subscription to it is being created', async () => {
    const { catalogue, consumer, remove } = await setUp()
    const [subscribed, removed] = await Promise.allSettled([
      catalogue.subscriptions.create(ACME, { consumer, api: API }),
      remove(),
    ])
    expect([subscribed.status, removed.status].toSorted()).toEqual(['fulfilled', 'rejected'])
  })

  it('by another tenant, nor under the name of a lock', async () => {
    const { catalogue, remove } = await setUp()
    await expect(catalogue.apiRemoval.remove(RIVAL, API)).rejects.toMatchObject({ code: 'not_found' })
    for (const name of ['product', 'capacity acme', '__proto__', '']) {
      await expect(remove(name)).rejects.toMatchObject({ code: 'not_found' })
    }
    await remove()
  })

  it('if it is the platform’s own', async () => {
    const { catalogue, remove } = await setUp()
    const body = { title: 'Platform', major: 1, version: '1.0.0', state: 'Active', ownScopes: [] }
    const entry = { kind: 'api', id: 'platform-v1', tenant: 'acme', expected: 0, body, keys: { state: 'Active' } }
    await catalogue.registry.commit(ACME, 'test', [entry])
    await expect(remove('platform-v1')).rejects.toMatchObject({ code: 'state_conflict' })
  })
})

describe('a name that another tenant has taken', () => {
  it('is refused with a free suggestion and with nothing of the other tenant', async () => {
    const { catalogue } = await setUp()
    const stage = (title: string, api: string) =>
      catalogue.proxies.stage(RIVAL, { api, specification: base64(orders({ title })) })
    const refusal = await stage('Orders', API).catch((cause: unknown) => cause as { extensions: object })
    expect(refusal).toMatchObject({
      code: 'name_taken',
      extensions: { suggestion: expect.stringMatching(/^orders-[a-z0-9]{5}-v1$/) },
    })
    const { suggestion } = (refusal as { extensions: { suggestion: string } }).extensions
    expect(Object.keys((refusal as { extensions: object }).extensions)).toEqual(['suggestion'])
    const title = suggestion.replace(/-v1$/, '').replace('-', ' ')
    expect(await stage(title, suggestion)).toMatchObject({ api: suggestion })
  })
})
