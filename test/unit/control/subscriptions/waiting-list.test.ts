import { onTestFinished, describe, expect, it } from 'vitest'
import { ACME, base64, orders } from '../../../fixtures/test-catalogue.ts'
import { OUTBOX_EVENT_KIND } from '../../../../src/control/command/event-outbox.ts'
import { StoreUnwritable } from '../../../../src/storage/store/unwritable.ts'
import { API, declare, openWaitingList, WAITING } from './capacity-declarations.ts'

describe('a waiting subscription', () => {
  it('is admitted when another is cancelled, first come first served, on every thread', async () => {
    const { catalogue, subscribe, statesOf } = await openWaitingList({ concurrency: 3, concurrent: 3 })
    const ids = [await subscribe(), await subscribe(), await subscribe()] as const
    catalogue.gateway.grants.length = 0
    await catalogue.subscriptions.cancel(ACME, ids[0])
    await catalogue.waitingList.settled()
    expect(await statesOf(...ids)).toEqual(['Cancelled', 'Active', WAITING])
    const notified = catalogue.gateway.grants.filter(({ subscription }) => subscription === ids[1])
    expect(notified.map(({ active }) => active)).toEqual([true, true, true])
  })

  it('is admitted when another is suspended, which then cannot be resumed', async () => {
    const { catalogue, subscribe, statesOf } = await openWaitingList({ concurrency: 3, concurrent: 3 })
    const ids = [await subscribe(), await subscribe()] as const
    await catalogue.subscriptions.suspend(ACME, ids[0])
    await catalogue.waitingList.settled()
    expect(await statesOf(...ids)).toEqual(['Suspended', 'Active'])
    await expect(catalogue.subscriptions.resume(ACME, ids[0])).rejects.toMatchObject({ code: 'state_conflict' })
    await catalogue.subscriptions.cancel(ACME, ids[1])
    expect(await catalogue.subscriptions.resume(ACME, ids[0])).toMatchObject({ state: 'Active' })
  })

  it('is admitted when a declaration raises the capacity', async () => {
    const { catalogue, subscribe, statesOf } = await openWaitingList({ concurrency: 3, concurrent: 3 })
    const ids = [await subscribe(), await subscribe(), await subscribe()]
    await declare(catalogue, { concurrency: 6, concurrent: 3 })
    await catalogue.waitingList.settled()
    expect(await statesOf(...ids)).toEqual(['Active', 'Active', WAITING])
  })

  it('is not overtaken by a later one that needs less', async () => {
    const { catalogue, subscribe, statesOf } = await openWaitingList(
      { concurrency: 4, concurrent: 1 },
      { variant: 'large', concurrent: 4 },
    )
    const ids = [await subscribe(), await subscribe('large'), await subscribe()] as const
    await catalogue.waitingList.settled()
    expect(await statesOf(...ids)).toEqual(['Active', WAITING, WAITING])
    await catalogue.subscriptions.cancel(ACME, ids[0])
    await catalogue.waitingList.settled()
    expect(await statesOf(...ids)).toEqual(['Cancelled', 'Active', WAITING])
    await catalogue.subscriptions.cancel(ACME, ids[1])
    await catalogue.waitingList.settled()
    expect(await statesOf(...ids)).toEqual(['Cancelled', 'Cancelled', 'Active'])
  })

  it('does not block one that needs no capacity', async () => {
    const { subscribe, statesOf } = await openWaitingList({ concurrency: 1, concurrent: 1 }, { variant: 'free' })
    const ids = [await subscribe(), await subscribe(), await subscribe('free')]
    expect(await statesOf(...ids)).toEqual(['Active', WAITING, 'Active'])
  })

  it('can be cancelled', async () => {
    const { catalogue, subscribe, stateOf } = await openWaitingList({ concurrency: 3, concurrent: 3 })
    await subscribe()
    const id = await subscribe()
    await catalogue.subscriptions.cancel(ACME, id)
    expect(await stateOf(id)).toBe('Cancelled')
  })

  it('is admitted when the registry is back, if it could not be read when another was cancelled', async () => {
    const { catalogue, timers, subscribe, statesOf } = await openWaitingList({ concurrency: 3, concurrent: 3 })
    const ids = [await subscribe(), await subscribe()] as const
    await catalogue.waitingList.settled()
    const { list } = catalogue.registry
    catalogue.registry.list = async (kind, query) => {
      if (query.where?.['state'] === WAITING) throw new StoreUnwritable('away')
      return list(kind, query)
    }
    await catalogue.subscriptions.cancel(ACME, ids[0])
    await timers.advance(60_000)
    catalogue.registry.list = list
    expect(await statesOf(...ids)).toEqual(['Cancelled', WAITING])
    await timers.advance(2_000)
    await catalogue.waitingList.settled()
    expect(await statesOf(...ids)).toEqual(['Cancelled', 'Active'])
    expect(timers.pending).toBe(0)
  })

  it('is admitted a little later if another command changes it at the same time', async () => {
    const { catalogue, timers, subscribe, stateOf } = await openWaitingList({ concurrency: 3, concurrent: 3 })
    const ids = [await subscribe(), await subscribe()] as const
    const { registry } = catalogue
    const { commit } = registry
    registry.commit = async (author, action, writes) => {
      if (action === 'subscription.capacity.freed') {
        registry.commit = commit
        await catalogue.subscriptions.update(ACME, ids[1], { labels: { team: 'red' } })
      }
      return commit(author, action, writes)
    }
    await catalogue.subscriptions.cancel(ACME, ids[0])
    await catalogue.waitingList.settled()
    expect(await stateOf(ids[1])).toBe(WAITING)
    await timers.advance(5_000)
    await catalogue.waitingList.settled()
    expect(await stateOf(ids[1])).toBe('Active')
  })

  it('is admitted at the next start after a crash', async () => {
    const { catalogue, subscribe, stateOf } = await openWaitingList({ concurrency: 3, concurrent: 3 })
    const [first, second] = [await subscribe(), await subscribe()]
    await catalogue.waitingList.settled()
    catalogue.waitingList.stop()
    await catalogue.subscriptions.cancel(ACME, first)
    expect(await stateOf(second)).toBe(WAITING)
    const again = catalogue.restart()
    await again.waitingList.start()
    onTestFinished(() => again.waitingList.stop())
    expect((await again.subscriptions.get('acme', second)).state).toBe('Active')
  })

  it('is approved before it WAITING, if the policy requires approval', async () => {
    const { catalogue, subscribe, stateOf } = await openWaitingList({ concurrency: 3, concurrent: 3 })
    const first = await subscribe()
    await catalogue.apiPolicies.put(ACME, API, { subscriptionApproval: 'Manual' })
    const second = await subscribe()
    expect(await stateOf(second)).toBe('Pending')
    const flow = (await catalogue.subscriptions.get('acme', second)).approvalFlow ?? ''
    await catalogue.approvals.decide({ tenant: 'acme', consumer: 'con_boss' }, second, flow, { outcome: 'Approved' })
    expect(await stateOf(second)).toBe(WAITING)
    await catalogue.subscriptions.cancel(ACME, first)
    await catalogue.waitingList.settled()
    expect(await stateOf(second)).toBe('Active')
  })
})

describe('the capacity of a product', () => {
  const OTHER = 'parcels-v1'

  async function withProduct() {
    const opened = await openWaitingList({ concurrency: 3, concurrent: 3 })
    const { catalogue, consumer } = opened
    const { id } = await catalogue.proxies.stage(ACME, {
      api: OTHER,
      specification: base64(orders({ title: 'Parcels' })),
    })
    await catalogue.proxies.activate(ACME, id)
    const product = await catalogue.products.create(ACME, { name: 'Trade', apis: [API, OTHER] })
    const subscribeTo = async (to: { product: string } | { api: string }) =>
      (await catalogue.subscriptions.create(ACME, { consumer, ...to })).id
    return { ...opened, subscribeTo, product: product.id }
  }

  it('is exhausted if that of one member is, and its subscriptions wait in order with those to the member', async () => {
    const { catalogue, subscribe, subscribeTo, product, statesOf } = await withProduct()
    const ids = [await subscribe(), await subscribeTo({ product }), await subscribe()] as const
    const other = await subscribeTo({ api: OTHER })
    expect(await statesOf(...ids, other)).toEqual(['Active', WAITING, WAITING, 'Active'])
    await catalogue.subscriptions.cancel(ACME, ids[0])
    await catalogue.waitingList.settled()
    expect(await statesOf(...ids)).toEqual(['Cancelled', 'Active', WAITING])
  })

  it('admits all waiting subscriptions when the exhausted member leaves it, and releases their reservations there', async () => {
    const { catalogue, subscribe, subscribeTo, product, statesOf } = await withProduct()
    const ids = [await subscribeTo({ product }), await subscribeTo({ product }), await subscribe()] as const
    expect(await statesOf(...ids)).toEqual(['Active', WAITING, WAITING])
    await catalogue.products.replace(ACME, product, { name: 'Trade', apis: [OTHER] })
    await catalogue.waitingList.settled()
    expect(await statesOf(...ids)).toEqual(['Active', 'Active', 'Active'])
  })
})

describe('a tier change with limited capacity', () => {
  const tiers = [{ concurrency: 5 }, { variant: 'silver', concurrent: 2 }, { variant: 'gold', concurrent: 4 }] as const

  async function withTiers() {
    const opened = await openWaitingList(...tiers)
    const { catalogue, subscribe } = opened
    const ids = [await subscribe('silver'), await subscribe('silver')] as const
    const ask = (id: string, slaVariant: string) => catalogue.approvals.requestTier(ACME, id, { slaVariant })
    const tierOf = async (id: string) => (await catalogue.subscriptions.get('acme', id)).slaVariant
    const stateOfFlow = async (id: string, flow: string) => (await catalogue.approvals.flow('acme', id, flow)).state
    return { ...opened, ids, ask, tierOf, stateOfFlow }
  }

  it('waits for capacity with the current tier, and takes effect when another subscription ends', async () => {
    const { catalogue, ids, ask, tierOf, stateOfFlow } = await withTiers()
    const flow = await ask(ids[0], 'gold')
    expect(flow.state).toBe('Approved')
    expect(await tierOf(ids[0])).toBe('silver')
    catalogue.gateway.grants.length = 0
    await catalogue.subscriptions.cancel(ACME, ids[1])
    await catalogue.waitingList.settled()
    expect(await tierOf(ids[0])).toBe('gold')
    expect(await stateOfFlow(ids[0], flow.id)).toBe('Complete')
    const notified = catalogue.gateway.grants.filter(({ subscription }) => subscription === ids[0])
    expect(notified.map(({ variant }) => variant)).toEqual(['gold', 'gold', 'gold'])
    const events = await catalogue.registry.list(OUTBOX_EVENT_KIND, { limit: 9 })
    expect(events.map(({ body }) => body.type)).toEqual([
      'TierChangeRequested',
      'SubscriptionWaitlistedForCapacity',
      'SlaChanged',
    ])
  })

  it('waits before later claims and after earlier ones', async () => {
    const { catalogue, subscribe, ids, ask, tierOf, stateOf } = await withTiers()
    await ask(ids[0], 'gold')
    const late = await subscribe('silver')
    await ask(ids[1], 'gold')
    expect(await stateOf(late)).toBe(WAITING)
    await declare(catalogue, { concurrency: 6 })
    await catalogue.waitingList.settled()
    expect([await tierOf(ids[0]), await stateOf(late), await tierOf(ids[1])]).toEqual(['gold', WAITING, 'silver'])
    await declare(catalogue, { concurrency: 8 })
    await catalogue.waitingList.settled()
    expect([await stateOf(late), await tierOf(ids[1])]).toEqual(['Active', 'silver'])
  })

  it('to less never WAITING, and admits a claim that fits the released capacity', async () => {
    const { catalogue, subscribe, ids, ask, tierOf, stateOf } = await withTiers()
    const waiting = await subscribe('silver')
    expect(await stateOf(waiting)).toBe(WAITING)
    await declare(catalogue, { variant: 'bronze', concurrent: 1 })
    expect((await ask(ids[0], 'bronze')).state).toBe('Complete')
    await catalogue.waitingList.settled()
    expect([await tierOf(ids[0]), await stateOf(waiting)]).toEqual(['bronze', 'Active'])
  })

  it('is withdrawn with the subscription', async () => {
    const { catalogue, ids, ask, stateOfFlow } = await withTiers()
    const flow = await ask(ids[0], 'gold')
    await catalogue.subscriptions.cancel(ACME, ids[0])
    await catalogue.waitingList.settled()
    expect(await stateOfFlow(ids[0], flow.id)).toBe('Complete')
    expect((await catalogue.subscriptions.get('acme', ids[0])).slaVariant).toBe('silver')
  })

  it('is admitted at the next start after a crash', async () => {
    const { catalogue, ids, ask } = await withTiers()
    await ask(ids[0], 'gold')
    await catalogue.waitingList.settled()
    catalogue.waitingList.stop()
    await catalogue.subscriptions.cancel(ACME, ids[1])
    const again = catalogue.restart()
    await again.waitingList.start()
    onTestFinished(() => again.waitingList.stop())
    expect((await again.subscriptions.get('acme', ids[0])).slaVariant).toBe('gold')
  })
})
