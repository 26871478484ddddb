import { describe, expect, it } from 'vitest'
import { PROXY_KIND, proxyWrite } from '../../../../src/control/publishing/proxy-document.ts'
import {
  ACME,
  base64,
  declaration,
  publishApi,
  openTestCatalogue,
  orders,
  RIVAL,
  type TestCatalogue,
} from '../../../fixtures/test-catalogue.ts'

const API = 'orders-v1'

/** Publishes two APIs of acme. */
async function twoApis(catalogue: TestCatalogue): Promise<string> {
  const { consumer } = await publishApi(catalogue)
  const specification = base64(orders({ title: 'Parcels', operations: { listParcels: [{ oauth: ['orders:audit'] }] } }))
  const { id } = await catalogue.proxies.stage(ACME, { api: 'parcels-v1', specification })
  await catalogue.proxies.activate(ACME, id)
  catalogue.gateway.calls.length = 0
  return consumer
}

describe('a product', () => {
  it('is refused with a member that has the name of a lock, and later changes are made', async () => {
    const catalogue = openTestCatalogue()
    await twoApis(catalogue)
    const { id } = await catalogue.products.create(ACME, { name: 'Trade', apis: [API] })
    for (const apis of [['product'], ['capacity acme'], [API, 'product']]) {
      await expect(catalogue.products.replace(ACME, id, { name: 'Trade', apis })).rejects.toMatchObject({
        code: 'payload_invalid',
      })
    }
    expect(await catalogue.products.update(ACME, id, { name: 'Trade 2' })).toMatchObject({
      name: 'Trade 2',
      apis: [API],
    })
  })

  it('loses its members on every thread when it is removed, and cannot be removed while it is subscribed', async () => {
    const catalogue = openTestCatalogue()
    const consumer = await twoApis(catalogue)
    const { id } = await catalogue.products.create(ACME, { name: 'Trade', apis: [API, 'parcels-v1'] })
    const { id: subscription } = await catalogue.subscriptions.create(ACME, { consumer, product: id })
    const remove = () => catalogue.products.remove(ACME, id)
    const refusal = { code: 'subscriptions_active', extensions: { subscriptions: [subscription] } }
    await expect(remove()).rejects.toMatchObject(refusal)
    await expect(catalogue.products.remove(RIVAL, id)).rejects.toMatchObject({ code: 'not_found' })
    await catalogue.subscriptions.cancel(ACME, subscription)
    catalogue.gateway.calls.length = 0
    await remove()

    expect(catalogue.gateway.calls.toSorted()).toEqual([`members ${API} `, 'members parcels-v1 '])
    const { items } = await catalogue.proxies.list('acme', { limit: 9 })
    expect(items.map(({ MemberOfProductIds }) => MemberOfProductIds)).toEqual([[], []])
    await expect(catalogue.products.get('acme', id)).rejects.toMatchObject({ code: 'not_found' })
  })

  it('is not removed while a subscription to it is being created', async () => {
    const catalogue = openTestCatalogue()
    const consumer = await twoApis(catalogue)
    const { id } = await catalogue.products.create(ACME, { name: 'Trade', apis: [API] })
    const [subscribed, removed] = await Promise.allSettled([
      catalogue.subscriptions.create(ACME, { consumer, product: id }),
      catalogue.products.remove(ACME, id),
    ])
    expect([subscribed.status, removed.status].toSorted()).toEqual(['fulfilled', 'rejected'])
  })

  it('is applied to its members and to every thread before the command returns', async () => {
    const catalogue = openTestCatalogue()
    await twoApis(catalogue)
    const { id } = await catalogue.products.create(ACME, { name: 'Trade', apis: [API, 'parcels-v1'] })

    const { items } = await catalogue.proxies.list('acme', { limit: 9 })
    expect(items.map(({ MemberOfProductIds }) => MemberOfProductIds)).toEqual([[id], [id]])
    expect(catalogue.gateway.calls.toSorted()).toEqual([`members ${API} ${id}`, `members parcels-v1 ${id}`])
  })

  it('updates only members that join or leave, and does not affect other products', async () => {
    const catalogue = openTestCatalogue()
    await twoApis(catalogue)
    const other = await catalogue.products.create(ACME, { name: 'Other', apis: [API] })
    const { id } = await catalogue.products.create(ACME, { name: 'Trade', apis: [API] })
    catalogue.gateway.calls.length = 0

    await catalogue.products.replace(ACME, id, { name: 'Trade', apis: ['parcels-v1'] })
    expect(catalogue.gateway.calls.toSorted()).toEqual([`members ${API} ${other.id}`, `members parcels-v1 ${id}`])
    expect(await catalogue.products.get('acme', id)).toEqual({ id, labels: {}, name: 'Trade', apis: ['parcels-v1'] })
  })

  it('retains its members after activations and a restart', async () => {
    const catalogue = openTestCatalogue()
    await twoApis(catalogue)
    const { id } = await catalogue.products.create(ACME, { name: 'Trade', apis: [API] })
    const proxy = (await catalogue.proxies.list('acme', { limit: 9, api: API })).items[0]?.id ?? ''
    await catalogue.proxies.stage(ACME, { api: API, specification: base64(orders()) })
    await catalogue.proxies.activate(ACME, proxy)

    expect(catalogue.gateway.prepared.at(-1)?.plan.memberOfProductIds).toEqual([id])
    const plans = await Array.fromAsync(catalogue.restart().proxies.activePlans())
    expect(plans.find(({ plan }) => plan.api === API)?.plan.memberOfProductIds).toEqual([id])
  })

  it('changes after a running activation of a member, so that no swap restores a removed member', async () => {
    const catalogue = openTestCatalogue()
    await twoApis(catalogue)
    const { id } = await catalogue.products.create(ACME, { name: 'Trade', apis: [API] })
    const proxy = (await catalogue.proxies.list('acme', { limit: 9, api: API })).items[0]?.id ?? ''
    await catalogue.proxies.stage(ACME, { api: API, specification: base64(orders()) })
    catalogue.gateway.calls.length = 0
    let left: Promise<unknown> = Promise.resolve()
    catalogue.gateway.onPrepare = async () => {
      left = catalogue.products.replace(ACME, id, { name: 'Trade', apis: [] })
    }
    await catalogue.proxies.activate(ACME, proxy)
    await left

    expect(catalogue.gateway.calls).toEqual([`prepare ${API} 2`, `swap ${API} 2`, `members ${API} `])
  })

  it('is refused if a member has the maximum number of products, and can still lose members', async () => {
    const catalogue = openTestCatalogue()
    await twoApis(catalogue)
    const { id: own } = await catalogue.products.create(ACME, { name: 'Own', apis: [API] })
    const proxy = await catalogue.registry.find(PROXY_KIND, 'api', API)
    if (proxy === null) throw new Error('the proxy is gone')
    const memberOfProductIds = [own, ...Array.from({ length: 499 }, (_, at) => `prd_${at}`)]
    const full = proxyWrite(proxy.id, 'acme', proxy.revision, { ...proxy.body, memberOfProductIds })
    await catalogue.registry.commit(ACME, 'test', [full])
    catalogue.gateway.calls.length = 0

    const refused = catalogue.products.create(ACME, { name: 'Trade', apis: ['parcels-v1', API] })
    await expect(refused).rejects.toMatchObject({ status: 409, code: 'state_conflict' })
    expect(catalogue.gateway.calls).toEqual([])
    await catalogue.products.replace(ACME, own, { name: 'Own', apis: [] })
    expect(await catalogue.products.create(ACME, { name: 'Trade', apis: [API] })).toMatchObject({ apis: [API] })
  })

  it.each([
    ['an unknown API', ['none-v1'], '/apis/0'],
    ['the platform API', [API, 'platform-v1'], '/apis/1'],
  ])('refuses %s as a member', async (_, apis, pointer) => {
    const catalogue = openTestCatalogue()
    await twoApis(catalogue)

    const refused = catalogue.products.create(ACME, { name: 'Trade', apis })
    await expect(refused).rejects.toMatchObject({ status: 400, errors: [{ pointer }] })
    expect((await catalogue.products.list('acme', { limit: 9 })).items).toEqual([])
    expect(catalogue.gateway.calls).toEqual([])
  })

  it('is visible to its tenant only, and contains APIs of its tenant only', async () => {
    const catalogue = openTestCatalogue()
    await twoApis(catalogue)
    const { id } = await catalogue.products.create(ACME, { name: 'Trade', apis: [API] })

    await expect(catalogue.products.get('rival', id)).rejects.toMatchObject({ status: 404 })
    await expect(catalogue.products.replace(RIVAL, id, { name: 'Mine', apis: [] })).rejects.toMatchObject({
      status: 404,
    })
    const stolen = catalogue.products.create(RIVAL, { name: 'Mine', apis: [API] })
    await expect(stolen).rejects.toMatchObject({ status: 400 })
  })
})

describe('a subscription to a product', () => {
  it('follows the strictest policy of its members at creation and rotation', async () => {
    const catalogue = openTestCatalogue()
    const consumer = await twoApis(catalogue)
    const { id: product } = await catalogue.products.create(ACME, { name: 'Trade', apis: [API, 'parcels-v1'] })
    await catalogue.apiPolicies.put(ACME, API, { subscriptionApproval: 'Manual', credentialLifetimeDays: 30 })
    await catalogue.apiPolicies.put(ACME, 'parcels-v1', { credentialLifetimeDays: 7 })
    const { id, state } = await catalogue.subscriptions.create(ACME, { consumer, product })

    expect(state).toBe('Pending')
    const week = new Date(catalogue.clock.nowMs + 7 * 86_400_000).toISOString()
    const { items } = await catalogue.credentials.read(ACME, id)
    expect(items.map(({ expiresAt }) => expiresAt)).toEqual([week, week])
    const rotated = await catalogue.credentials.rotate(ACME, id, { overlapSeconds: 0 })
    expect(rotated.items.map(({ expiresAt }) => expiresAt)).toEqual([week, week])
  })

  it('needs approval for a tier change if one member requires it', async () => {
    const catalogue = openTestCatalogue()
    const consumer = await twoApis(catalogue)
    const specification = base64(declaration({ variant: 'gold' }))
    await catalogue.specifications.createOpenSla(ACME, { api: API, specification })
    const { id: product } = await catalogue.products.create(ACME, { name: 'Trade', apis: ['parcels-v1', API] })
    const { id } = await catalogue.subscriptions.create(ACME, { consumer, product })
    await catalogue.apiPolicies.put(ACME, API, { subscriptionApproval: 'Manual' })

    const flow = await catalogue.approvals.requestTier(ACME, id, { slaVariant: 'gold' })
    expect(flow.state).toBe('InProgress')
    expect((await catalogue.subscriptions.get('acme', id)).slaVariant).toBeNull()
  })

  it('has one row and one shared credential of each kind, which carries the product', async () => {
    const catalogue = openTestCatalogue()
    const consumer = await twoApis(catalogue)
    const { id: product } = await catalogue.products.create(ACME, { name: 'Trade', apis: [API, 'parcels-v1'] })
    const subscription = await catalogue.subscriptions.create(ACME, { consumer, product })

    expect(subscription).toMatchObject({ ApiId: null, ApiProductId: product, state: 'Active' })
    expect(subscription.scopes.toSorted()).toEqual(['orders:audit', 'orders:read', 'orders:write'])
    const { items } = await catalogue.credentials.read(ACME, subscription.id)
    expect(items.map(({ type, ApiProductId }) => [type, ApiProductId])).toEqual([
      ['OAuth2', product],
      ['ApiKey', product],
    ])
    const clientId = items[0]?.clientId ?? ''
    expect((await catalogue.grants.clientFor(clientId))?.grant).toMatchObject({ api: '', apiProductId: product })
    const { items: listed } = await catalogue.subscriptions.list('acme', { limit: 9, product })
    expect(listed.map(({ id }) => id)).toEqual([subscription.id])
  })

  it('gives access to the operations of all current members', async () => {
    const catalogue = openTestCatalogue()
    const consumer = await twoApis(catalogue)
    const { id: product } = await catalogue.products.create(ACME, { name: 'Trade', apis: [API, 'parcels-v1'] })
    const { id } = await catalogue.subscriptions.create(ACME, { consumer, product })
    const names = async () =>
      (await catalogue.subscriptions.operations('acme', id)).items.map((each) => each.operationId)

    expect(await names()).toEqual(['listOrders', 'createOrder', 'listParcels'])
    await catalogue.products.replace(ACME, product, { name: 'Trade', apis: [API] })
    expect(await names()).toEqual(['listOrders', 'createOrder'])
  })

  it('is refused with a pointer if a member has no revision', async () => {
    const catalogue = openTestCatalogue()
    const consumer = await twoApis(catalogue)
    const bare = await catalogue.proxies.stage(ACME, {
      api: 'bare-v1',
      specification: base64(orders({ title: 'Bare' })),
    })
    await catalogue.proxies.discard(ACME, bare.id)
    const { id: product } = await catalogue.products.create(ACME, { name: 'Trade', apis: [API, 'bare-v1'] })

    const refused = catalogue.subscriptions.create(ACME, { consumer, product })
    await expect(refused).rejects.toMatchObject({ status: 400, errors: [{ pointer: '/product' }] })
  })

  it('refuses a scope that no member declares', async () => {
    const catalogue = openTestCatalogue()
    const consumer = await twoApis(catalogue)
    const { id: product } = await catalogue.products.create(ACME, { name: 'Trade', apis: [API] })

    const refused = catalogue.subscriptions.create(ACME, { consumer, product, scopes: ['orders:read', 'foreign'] })
    await expect(refused).rejects.toMatchObject({ errors: [{ pointer: '/scopes/1' }] })
  })
})
