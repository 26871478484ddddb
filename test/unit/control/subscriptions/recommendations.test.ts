import { describe, expect, it } from 'vitest'
import { ACME, publishApi, NOW_MS, openTestCatalogue } from '../../../fixtures/test-catalogue.ts'

const API = 'orders-v1'

describe('the recommendations of a subscription', () => {
  it('begin with the third breach in 30 days, and end with the subscription', async () => {
    const catalogue = openTestCatalogue()
    const { consumer } = await publishApi(catalogue)
    const { id } = await catalogue.subscriptions.create(ACME, { consumer, api: API })
    const shown = async () => (await catalogue.subscriptions.get('acme', id)).recommendations
    const times = [1, 2, 3].map((day) => NOW_MS - day * 86_400_000)

    catalogue.limits.breaches.set(id, times.slice(0, 2))
    expect(await shown()).toEqual([])
    catalogue.limits.breaches.set(id, times)
    expect(await shown()).toMatchObject([{ kind: 'TierChange', api: API, breaches: { length: 3 } }])
    const { items } = await catalogue.subscriptions.list('acme', { limit: 50 })
    expect(items.find((each) => each.id === id)?.recommendations).toEqual(await shown())
    expect((await catalogue.subscriptions.cancel(ACME, id)).recommendations).toEqual([])
  })

  it('of a product name the API', async () => {
    const catalogue = openTestCatalogue()
    const { consumer } = await publishApi(catalogue)
    const { id: product } = await catalogue.products.create(ACME, { name: 'Bundle', apis: [API] })
    const { id } = await catalogue.subscriptions.create(ACME, { consumer, product })
    catalogue.limits.breaches.set(id, [1, 2, 3])

    expect((await catalogue.subscriptions.get('acme', id)).recommendations).toMatchObject([{ api: API }])
  })
})
