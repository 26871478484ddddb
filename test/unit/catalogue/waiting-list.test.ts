import { onTestFinished, describe, expect, it } from 'vitest'
import { ACME, base64, furnish, openHouse, type House } from './house.ts'

const API = 'orders-v1'

interface Declared {
  readonly variant?: string
  readonly concurrency?: number
  readonly rps?: readonly number[]
  readonly concurrent?: number
  readonly perMinute?: number
}

async function declare(house: House, { variant, concurrency, rps = [], concurrent, perMinute }: Declared) {
  const runtime = {
    name: 'promise',
    ...(concurrency && { concurrency }),
    throughput: rps.map((each) => ({ rps: each })),
  }
  const limit = {
    name: 'all',
    ...(concurrent && { concurrent }),
    ...(perMinute && { rate: { value: perMinute, duration: 'minute' } }),
  }
  const declaration = {
    opensla: '1.0.0',
    info: { version: '1.0.0', ...(variant && { variant }) },
    ...((concurrency ?? rps[0]) && { runtime: [runtime] }),
    limits: [limit],
  }
  const specification = base64(Buffer.from(JSON.stringify(declaration)))
  await house.specifications.createOpenSla(ACME, { api: API, specification })
}

/** An API, and a waiting list that works. */
async function open(...declared: Declared[]) {
  const house = openHouse()
  const { consumer } = await furnish(house)
  for (const each of declared) await declare(house, each)
  await house.waitingList.start()
  onTestFinished(() => house.waitingList.stop())
  const subscribe = async (slaVariant?: string) => {
    const { id } = await house.subscriptions.create(ACME, { consumer, api: API, ...(slaVariant && { slaVariant }) })
    return id
  }
  const stateOf = async (id: string) => (await house.subscriptions.get('acme', id)).state
  const statesOf = async (...ids: string[]) => Promise.all(ids.map(stateOf))
  return { house, consumer, subscribe, stateOf, statesOf }
}

const waits = 'WaitlistedForCapacity'

describe('capacity', () => {
  it('that nobody declares is without end', async () => {
    const { subscribe, stateOf } = await open({ concurrent: 1_000 })
    for (let count = 0; count < 5; count++) expect(await stateOf(await subscribe())).toBe('Active')
  })

  it('is given away to the last, exactly, and the next one waits and is told of', async () => {
    const { house, subscribe, stateOf } = await open({ concurrency: 6, concurrent: 3 })
    const [first, second, third] = [await subscribe(), await subscribe(), await subscribe()]
    expect([await stateOf(first), await stateOf(second), await stateOf(third)]).toEqual(['Active', 'Active', waits])
    const events = await house.registry.list<{ type: string; data: object }>('event', { limit: 9 })
    expect(events.map(({ body }) => body)).toMatchObject([
      { type: 'SubscriptionWaitlistedForCapacity', data: { subscription: third, api: API } },
    ])
    const { items } = await house.credentials.read(ACME, third)
    const client = await house.grants.clientFor(items[0]?.clientId ?? '')
    expect(client?.grant).toMatchObject({ valid: true, active: false })
  })

  it('is the highest throughput of the default variant, and a rate counts by the second', async () => {
    const { subscribe, statesOf } = await open(
      { rps: [5, 20, 10], perMinute: 600 },
      { variant: 'gold', perMinute: 1_200 },
    )
    const ids = [await subscribe(), await subscribe('gold'), await subscribe()]
    expect(await statesOf(...ids)).toEqual(['Active', waits, 'Active'])
  })

  it('is taken by who came by a product too', async () => {
    const { house, consumer, subscribe, stateOf } = await open({ concurrency: 6, concurrent: 3 })
    const { id: product } = await house.products.create(ACME, { name: 'Trade', apis: [API] })
    await house.subscriptions.create(ACME, { consumer, product })
    expect(await stateOf(await subscribe())).toBe('Active')
    expect(await stateOf(await subscribe())).toBe(waits)
  })

  it('is given once to two who come at once', async () => {
    const { subscribe, statesOf } = await open({ concurrency: 3, concurrent: 3 })
    const ids = await Promise.all([subscribe(), subscribe(), subscribe()])
    expect((await statesOf(...ids)).sort()).toEqual(['Active', waits, waits])
  })
})

describe('who waits', () => {
  it('is let in when somebody leaves, first come first served, and every thread knows', async () => {
    const { house, subscribe, statesOf } = await open({ concurrency: 3, concurrent: 3 })
    const ids = [await subscribe(), await subscribe(), await subscribe()] as const
    house.gateway.grants.length = 0
    await house.subscriptions.cancel(ACME, ids[0])
    await house.waitingList.settled()
    expect(await statesOf(...ids)).toEqual(['Cancelled', 'Active', waits])
    const told = house.gateway.grants.filter(({ subscription }) => subscription === ids[1])
    expect(told.map(({ active }) => active)).toEqual([true, true])
  })

  it('is let in when somebody rests, who then cannot go on', async () => {
    const { house, subscribe, statesOf } = await open({ concurrency: 3, concurrent: 3 })
    const ids = [await subscribe(), await subscribe()] as const
    await house.subscriptions.suspend(ACME, ids[0])
    await house.waitingList.settled()
    expect(await statesOf(...ids)).toEqual(['Suspended', 'Active'])
    await expect(house.subscriptions.resume(ACME, ids[0])).rejects.toMatchObject({ code: 'state_conflict' })
    await house.subscriptions.cancel(ACME, ids[1])
    expect(await house.subscriptions.resume(ACME, ids[0])).toMatchObject({ state: 'Active' })
  })

  it('is let in when more is promised', async () => {
    const { house, subscribe, statesOf } = await open({ concurrency: 3, concurrent: 3 })
    const ids = [await subscribe(), await subscribe(), await subscribe()]
    await declare(house, { concurrency: 6, concurrent: 3 })
    await house.waitingList.settled()
    expect(await statesOf(...ids)).toEqual(['Active', 'Active', waits])
  })

  it('is not overtaken by who needs less', async () => {
    const { house, subscribe, statesOf } = await open(
      { concurrency: 4, concurrent: 1 },
      { variant: 'large', concurrent: 4 },
    )
    const ids = [await subscribe(), await subscribe('large')] as const
    const small = await subscribe()
    await house.waitingList.settled()
    expect(await statesOf(...ids, small)).toEqual(['Active', waits, 'Active'])
    await house.subscriptions.cancel(ACME, ids[0])
    await house.waitingList.settled()
    expect(await statesOf(ids[1])).toEqual([waits])
    await house.subscriptions.cancel(ACME, small)
    await house.waitingList.settled()
    expect(await statesOf(ids[1])).toEqual(['Active'])
  })

  it('may leave', async () => {
    const { house, subscribe, stateOf } = await open({ concurrency: 3, concurrent: 3 })
    await subscribe()
    const id = await subscribe()
    await house.subscriptions.cancel(ACME, id)
    expect(await stateOf(id)).toBe('Cancelled')
  })

  it('is let in by the next start, where the process died before', async () => {
    const { house, subscribe, stateOf } = await open({ concurrency: 3, concurrent: 3 })
    const [first, second] = [await subscribe(), await subscribe()]
    await house.waitingList.settled()
    house.waitingList.stop()
    await house.subscriptions.cancel(ACME, first)
    expect(await stateOf(second)).toBe(waits)
    const again = house.restart()
    await again.waitingList.start()
    onTestFinished(() => again.waitingList.stop())
    expect((await again.subscriptions.get('acme', second)).state).toBe('Active')
  })

  it('has been approved before, where the policy wants that', async () => {
    const { house, subscribe, stateOf } = await open({ concurrency: 3, concurrent: 3 })
    const first = await subscribe()
    await house.apiPolicies.put(ACME, API, { subscriptionApproval: 'Manual' })
    const second = await subscribe()
    expect(await stateOf(second)).toBe('Pending')
    const flow = (await house.subscriptions.get('acme', second)).approvalFlow ?? ''
    await house.approvals.decide({ tenant: 'acme', consumer: 'con_boss' }, second, flow, { outcome: 'Approved' })
    expect(await stateOf(second)).toBe(waits)
    await house.subscriptions.cancel(ACME, first)
    await house.waitingList.settled()
    expect(await stateOf(second)).toBe('Active')
  })
})
