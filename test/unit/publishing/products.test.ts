import { describe, expect, it } from 'vitest'
import { proxyWrite, type ProxyBody } from '../../../src/publishing/proxy-document.ts'
import {
  ACME,
  base64,
  declaration,
  furnish,
  openHouse,
  orders,
  RIVAL,
  type House,
} from '../../fixtures/test-catalogue.ts'

const API = 'orders-v1'

/** Two APIs of acme that serve. */
async function twoApis(house: House): Promise<string> {
  const { consumer } = await furnish(house)
  const specification = base64(orders({ title: 'Parcels', operations: { listParcels: [{ oauth: ['orders:audit'] }] } }))
  const { id } = await house.proxies.stage(ACME, { api: 'parcels-v1', specification })
  await house.proxies.activate(ACME, id)
  house.gateway.heard.length = 0
  return consumer
}

describe('a product', () => {
  it('is known to its members and to every thread before it is answered', async () => {
    const house = openHouse()
    await twoApis(house)
    const { id } = await house.products.create(ACME, { name: 'Trade', apis: [API, 'parcels-v1'] })

    const { items } = await house.proxies.list('acme', { limit: 9 })
    expect(items.map(({ MemberOfProductIds }) => MemberOfProductIds)).toEqual([[id], [id]])
    expect(house.gateway.heard.toSorted()).toEqual([`members ${API} ${id}`, `members parcels-v1 ${id}`])
  })

  it('tells only of members that join or leave, and leaves other products alone', async () => {
    const house = openHouse()
    await twoApis(house)
    const other = await house.products.create(ACME, { name: 'Other', apis: [API] })
    const { id } = await house.products.create(ACME, { name: 'Trade', apis: [API] })
    house.gateway.heard.length = 0

    await house.products.replace(ACME, id, { name: 'Trade', apis: ['parcels-v1'] })
    expect(house.gateway.heard.toSorted()).toEqual([`members ${API} ${other.id}`, `members parcels-v1 ${id}`])
    expect(await house.products.get('acme', id)).toEqual({ id, name: 'Trade', apis: ['parcels-v1'] })
  })

  it('keeps its members over activations and a restart', async () => {
    const house = openHouse()
    await twoApis(house)
    const { id } = await house.products.create(ACME, { name: 'Trade', apis: [API] })
    const proxy = (await house.proxies.list('acme', { limit: 9, api: API })).items[0]?.id ?? ''
    await house.proxies.stage(ACME, { api: API, specification: base64(orders()) })
    await house.proxies.activate(ACME, proxy)

    expect(house.gateway.prepared.at(-1)?.plan.memberOfProductIds).toEqual([id])
    const plans = await Array.fromAsync(house.restart().proxies.activePlans())
    expect(plans.find(({ plan }) => plan.api === API)?.plan.memberOfProductIds).toEqual([id])
  })

  it('waits for an activation of a member, so that no swap brings back who has left', async () => {
    const house = openHouse()
    await twoApis(house)
    const { id } = await house.products.create(ACME, { name: 'Trade', apis: [API] })
    const proxy = (await house.proxies.list('acme', { limit: 9, api: API })).items[0]?.id ?? ''
    await house.proxies.stage(ACME, { api: API, specification: base64(orders()) })
    house.gateway.heard.length = 0
    let left: Promise<unknown> = Promise.resolve()
    house.gateway.onPrepare = async () => {
      left = house.products.replace(ACME, id, { name: 'Trade', apis: [] })
    }
    await house.proxies.activate(ACME, proxy)
    await left

    expect(house.gateway.heard).toEqual([`prepare ${API} 2`, `swap ${API} 2`, `members ${API} `])
  })

  it('is refused where a member has as many as the threads hold, and can still be left', async () => {
    const house = openHouse()
    await twoApis(house)
    const { id: own } = await house.products.create(ACME, { name: 'Own', apis: [API] })
    const proxy = await house.registry.find<ProxyBody>('proxy', 'api', API)
    if (proxy === null) throw new Error('the proxy is gone')
    const memberOfProductIds = [own, ...Array.from({ length: 499 }, (_, at) => `prd_${at}`)]
    const full = proxyWrite(proxy.id, 'acme', proxy.revision, { ...proxy.body, memberOfProductIds })
    await house.registry.commit(ACME, 'test', [full])
    house.gateway.heard.length = 0

    const refused = house.products.create(ACME, { name: 'Trade', apis: ['parcels-v1', API] })
    await expect(refused).rejects.toMatchObject({ status: 409, code: 'state_conflict' })
    expect(house.gateway.heard).toEqual([])
    await house.products.replace(ACME, own, { name: 'Own', apis: [] })
    expect(await house.products.create(ACME, { name: 'Trade', apis: [API] })).toMatchObject({ apis: [API] })
  })

  it.each([
    ['an API that is not there', ['none-v1'], '/apis/0'],
    ['the platform itself', [API, 'platform-v1'], '/apis/1'],
  ])('takes no %s', async (_, apis, pointer) => {
    const house = openHouse()
    await twoApis(house)

    const refused = house.products.create(ACME, { name: 'Trade', apis })
    await expect(refused).rejects.toMatchObject({ status: 400, errors: [{ pointer }] })
    expect((await house.products.list('acme', { limit: 9 })).items).toEqual([])
    expect(house.gateway.heard).toEqual([])
  })

  it('is its tenant’s alone, and holds its tenant’s APIs alone', async () => {
    const house = openHouse()
    await twoApis(house)
    const { id } = await house.products.create(ACME, { name: 'Trade', apis: [API] })

    await expect(house.products.get('rival', id)).rejects.toMatchObject({ status: 404 })
    await expect(house.products.replace(RIVAL, id, { name: 'Mine', apis: [] })).rejects.toMatchObject({ status: 404 })
    const stolen = house.products.create(RIVAL, { name: 'Mine', apis: [API] })
    await expect(stolen).rejects.toMatchObject({ status: 400 })
  })
})

describe('a subscription to a product', () => {
  it('keeps to the strictest policy of its members, when it is made and when it is rotated', async () => {
    const house = openHouse()
    const consumer = await twoApis(house)
    const { id: product } = await house.products.create(ACME, { name: 'Trade', apis: [API, 'parcels-v1'] })
    await house.apiPolicies.put(ACME, API, { subscriptionApproval: 'Manual', credentialLifetimeDays: 30 })
    await house.apiPolicies.put(ACME, 'parcels-v1', { credentialLifetimeDays: 7 })
    const { id, state } = await house.subscriptions.create(ACME, { consumer, product })

    expect(state).toBe('Pending')
    const week = new Date(house.clock.nowMs + 7 * 86_400_000).toISOString()
    const { items } = await house.credentials.read(ACME, id)
    expect(items.map(({ expiresAt }) => expiresAt)).toEqual([week, week])
    const rotated = await house.credentials.rotate(ACME, id, 0)
    expect(rotated.items.map(({ expiresAt }) => expiresAt)).toEqual([week, week])
  })

  it('has its tier changed by somebody who decides, where one member says Manual', async () => {
    const house = openHouse()
    const consumer = await twoApis(house)
    const specification = base64(declaration({ variant: 'gold' }))
    await house.specifications.createOpenSla(ACME, { api: API, specification })
    const { id: product } = await house.products.create(ACME, { name: 'Trade', apis: ['parcels-v1', API] })
    const { id } = await house.subscriptions.create(ACME, { consumer, product })
    await house.apiPolicies.put(ACME, API, { subscriptionApproval: 'Manual' })

    const flow = await house.approvals.requestTier(ACME, id, { slaVariant: 'gold' })
    expect(flow.state).toBe('InProgress')
    expect((await house.subscriptions.get('acme', id)).slaVariant).toBeNull()
  })

  it('has one row and one shared credential of each kind, which carries the product', async () => {
    const house = openHouse()
    const consumer = await twoApis(house)
    const { id: product } = await house.products.create(ACME, { name: 'Trade', apis: [API, 'parcels-v1'] })
    const subscription = await house.subscriptions.create(ACME, { consumer, product })

    expect(subscription).toMatchObject({ ApiId: null, ApiProductId: product, state: 'Active' })
    expect(subscription.scopes.toSorted()).toEqual(['orders:audit', 'orders:read', 'orders:write'])
    const { items } = await house.credentials.read(ACME, subscription.id)
    expect(items.map(({ type, ApiProductId }) => [type, ApiProductId])).toEqual([
      ['OAuth2', product],
      ['ApiKey', product],
    ])
    const clientId = items[0]?.clientId ?? ''
    expect((await house.grants.clientFor(clientId))?.grant).toMatchObject({ api: '', apiProductId: product })
    const { items: listed } = await house.subscriptions.list('acme', { limit: 9, product })
    expect(listed.map(({ id }) => id)).toEqual([subscription.id])
  })

  it('may call the operations of all members, as they are now', async () => {
    const house = openHouse()
    const consumer = await twoApis(house)
    const { id: product } = await house.products.create(ACME, { name: 'Trade', apis: [API, 'parcels-v1'] })
    const { id } = await house.subscriptions.create(ACME, { consumer, product })
    const names = async () => (await house.subscriptions.operations('acme', id)).items.map((each) => each.operationId)

    expect(await names()).toEqual(['listOrders', 'createOrder', 'listParcels'])
    await house.products.replace(ACME, product, { name: 'Trade', apis: [API] })
    expect(await names()).toEqual(['listOrders', 'createOrder'])
  })

  it('is refused at its place while a member has no revision', async () => {
    const house = openHouse()
    const consumer = await twoApis(house)
    const bare = await house.proxies.stage(ACME, { api: 'bare-v1', specification: base64(orders({ title: 'Bare' })) })
    await house.proxies.discard(ACME, bare.id)
    const { id: product } = await house.products.create(ACME, { name: 'Trade', apis: [API, 'bare-v1'] })

    const refused = house.subscriptions.create(ACME, { consumer, product })
    await expect(refused).rejects.toMatchObject({ status: 400, errors: [{ pointer: '/product' }] })
  })

  it('takes no scope that no member declares', async () => {
    const house = openHouse()
    const consumer = await twoApis(house)
    const { id: product } = await house.products.create(ACME, { name: 'Trade', apis: [API] })

    const refused = house.subscriptions.create(ACME, { consumer, product, scopes: ['orders:read', 'foreign'] })
    await expect(refused).rejects.toMatchObject({ errors: [{ pointer: '/scopes/1' }] })
  })
})
