import { describe, expect, it } from 'vitest'
import { ACME } from '../../../fixtures/test-catalogue.ts'
import { OUTBOX_EVENT_KIND } from '../../../../src/control/command/event-outbox.ts'
import { StoreUnwritable } from '../../../../src/storage/store/unwritable.ts'
import { API, openWaitingList, WAITING } from './capacity-declarations.ts'

describe('capacity', () => {
  it('is unlimited if it is not declared', async () => {
    const { subscribe, stateOf } = await openWaitingList({ concurrent: 1_000 })
    for (let count = 0; count < 5; count++) expect(await stateOf(await subscribe())).toBe('Active')
  })

  it('is known again after the change feed could not be opened', async () => {
    const { catalogue, subscribe, stateOf } = await openWaitingList({ concurrency: 3, concurrent: 3 })
    const { end } = catalogue.registry
    catalogue.registry.end = async () => {
      throw new StoreUnwritable('away')
    }
    await expect(subscribe()).rejects.toThrow('away')
    catalogue.registry.end = end
    expect(await stateOf(await subscribe())).toBe('Active')
  })

  it('is reserved up to exactly its limit; the next subscription waits and emits an event', async () => {
    const { catalogue, subscribe, stateOf } = await openWaitingList({ concurrency: 6, concurrent: 3 })
    const [first, second, third] = [await subscribe(), await subscribe(), await subscribe()]
    expect([await stateOf(first), await stateOf(second), await stateOf(third)]).toEqual(['Active', 'Active', WAITING])
    const events = await catalogue.registry.list(OUTBOX_EVENT_KIND, { limit: 9 })
    expect(events.map(({ body }) => body)).toMatchObject([
      { type: 'SubscriptionWaitlistedForCapacity', data: { subscription: third, api: API } },
    ])
    const { items } = await catalogue.credentials.read(ACME, third)
    const client = await catalogue.grants.clientFor(items[0]?.clientId ?? '')
    expect(client?.grant).toMatchObject({ valid: true, active: false })
  })

  it('is the highest throughput of the default variant, and rates count per second', async () => {
    const { subscribe, statesOf } = await openWaitingList(
      { rps: [5, 20, 10], perMinute: 600 },
      { variant: 'gold', perMinute: 1_200 },
    )
    const ids = [await subscribe(), await subscribe(), await subscribe('gold')]
    expect(await statesOf(...ids)).toEqual(['Active', 'Active', WAITING])
  })

  it('is also reserved by subscriptions to a product', async () => {
    const { catalogue, consumer, subscribe, stateOf } = await openWaitingList({ concurrency: 6, concurrent: 3 })
    const { id: product } = await catalogue.products.create(ACME, { name: 'Trade', apis: [API] })
    await catalogue.subscriptions.create(ACME, { consumer, product })
    expect(await stateOf(await subscribe())).toBe('Active')
    expect(await stateOf(await subscribe())).toBe(WAITING)
  })

  it('is reserved once by two concurrent subscriptions', async () => {
    const { subscribe, statesOf } = await openWaitingList({ concurrency: 3, concurrent: 3 })
    const ids = await Promise.all([subscribe(), subscribe(), subscribe()])
    expect((await statesOf(...ids)).sort()).toEqual(['Active', WAITING, WAITING])
  })
})
