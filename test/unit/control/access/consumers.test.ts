import { describe, expect, it } from 'vitest'
import { ACME, openTestCatalogue, publishApi, RIVAL, type TestCatalogue } from '../../../fixtures/test-catalogue.ts'

async function setUp() {
  const catalogue = openTestCatalogue()
  const { consumer } = await publishApi(catalogue)
  const { id: subscription } = await catalogue.subscriptions.create(ACME, { consumer, api: 'orders-v1' })
  const { items } = await catalogue.credentials.read(ACME, subscription)
  const clientId = items.find((each) => each.clientId !== null)?.clientId ?? ''
  catalogue.gateway.grants.length = 0
  return { catalogue, consumer, subscription, clientId, credentials: items.map(({ id }) => id) }
}

async function isActive({ grants }: TestCatalogue, clientId: string): Promise<boolean | undefined> {
  return (await grants.clientFor(clientId))?.grant.active
}

describe('a disabled consumer', () => {
  it('loses its access on every thread and at the token endpoint before the command returns', async () => {
    const { catalogue, consumer, subscription, clientId, credentials } = await setUp()
    expect(await catalogue.consumers.disable(ACME, consumer)).toMatchObject({ state: 'Disabled' })
    const sent = catalogue.gateway.grants.map(({ credential, active, valid }) => ({ credential, active, valid }))
    // The last one is the access of people to the subscription.
    const refused = [...credentials, subscription].map((credential) => ({ credential, active: false, valid: true }))
    expect(sent).toEqual(refused)
    expect(await isActive(catalogue, clientId)).toBe(false)
    expect(await isActive(catalogue.restart(), clientId)).toBe(false)
  })

  it('gets its access back when it is enabled, with a later version of each grant', async () => {
    const { catalogue, consumer, clientId } = await setUp()
    await catalogue.consumers.disable(ACME, consumer)
    const [before] = catalogue.gateway.grants
    expect(await catalogue.consumers.enable(ACME, consumer)).toMatchObject({ state: 'Active' })
    const after = catalogue.gateway.grants.findLast(({ credential }) => credential === before?.credential)
    expect(after?.active).toBe(true)
    expect(after?.version).toBeGreaterThan(before?.version ?? Infinity)
    expect(await isActive(catalogue, clientId)).toBe(true)
  })

  it('cannot get a subscription', async () => {
    const { catalogue, consumer } = await setUp()
    await catalogue.consumers.disable(ACME, consumer)
    const subscribe = catalogue.subscriptions.create(ACME, { consumer, api: 'orders-v1' })
    await expect(subscribe).rejects.toMatchObject({ code: 'state_conflict' })
  })

  it('is disabled again by a retry, which sends the grants again', async () => {
    const { catalogue, consumer } = await setUp()
    catalogue.gateway.onGrant = () => Promise.reject(new Error('a thread does not respond'))
    await expect(catalogue.consumers.disable(ACME, consumer)).rejects.toThrow()
    catalogue.gateway.onGrant = async () => {}
    await catalogue.consumers.disable(ACME, consumer)
    expect(catalogue.gateway.grants.map(({ active }) => active)).toEqual([false, false, false])
  })

  it('cannot be the author itself', async () => {
    const { catalogue, consumer } = await setUp()
    const disable = catalogue.consumers.disable({ tenant: 'acme', consumer }, consumer)
    await expect(disable).rejects.toMatchObject({ code: 'state_conflict' })
  })
})

describe('a consumer', () => {
  it('is renamed on every thread before the command returns', async () => {
    const { catalogue, consumer } = await setUp()
    const change = { name: 'Store', contact: 'ops@shop.example' }
    expect(await catalogue.consumers.update(ACME, consumer, change)).toMatchObject(change)
    expect(catalogue.gateway.grants.map(({ consumerName }) => consumerName)).toEqual(['Store', 'Store', 'Store'])
    expect(await catalogue.consumers.update(ACME, consumer, { contact: null })).not.toHaveProperty('contact')
  })

  it('cannot be removed while a subscription has not ended, and the problem names that subscription', async () => {
    const { catalogue, consumer, subscription } = await setUp()
    const remove = () => catalogue.consumers.remove(ACME, consumer)
    const refusal = { code: 'subscriptions_active', extensions: { subscriptions: [subscription] } }
    await expect(remove()).rejects.toMatchObject(refusal)
    await catalogue.subscriptions.suspend(ACME, subscription)
    await expect(remove()).rejects.toMatchObject(refusal)
    await catalogue.subscriptions.cancel(ACME, subscription)
    await remove()
    await expect(catalogue.consumers.get('acme', consumer)).rejects.toMatchObject({ code: 'not_found' })
    expect(await catalogue.subscriptions.get('acme', subscription)).toMatchObject({ consumer, state: 'Cancelled' })
  })

  it('is not removed while its subscription is being created', async () => {
    const { catalogue } = await setUp()
    const { id } = await catalogue.consumers.create(ACME, { name: 'Late', kind: 'agent' })
    const [subscribed, removed] = await Promise.allSettled([
      catalogue.subscriptions.create(ACME, { consumer: id, api: 'orders-v1' }),
      catalogue.consumers.remove(ACME, id),
    ])
    expect([subscribed.status, removed.status]).toEqual(['fulfilled', 'rejected'])
  })

  it('of another tenant cannot be changed, disabled, enabled or removed', async () => {
    const { catalogue, consumer } = await setUp()
    const { consumers } = catalogue
    const before = await consumers.get('acme', consumer)
    for (const work of [
      consumers.update(RIVAL, consumer, { name: 'Mine' }),
      consumers.disable(RIVAL, consumer),
      consumers.enable(RIVAL, consumer),
      consumers.remove(RIVAL, consumer),
    ]) {
      await expect(work).rejects.toMatchObject({ code: 'not_found' })
    }
    expect(await consumers.get('acme', consumer)).toEqual(before)
  })
})

describe('consumers', () => {
  it('are found by the beginning of their name, in any case, page by page, in their tenant', async () => {
    const { consumers } = openTestCatalogue()
    const long = 'Zeta '.repeat(25)
    for (const name of ['zebra', 'Zebra', 'ZEBRA crossing', 'Zoo', long, 'Ｚｅｂｒａ wide', 'a zebra', '\u202ezebra'])
      await consumers.create(ACME, { name, kind: 'application' })
    await consumers.create(RIVAL, { name: 'zebra of a rival', kind: 'application' })
    const namesOf = async (name: string, more = {}) => {
      const found: string[] = []
      for (let cursor: string | null = ''; cursor !== null;) {
        const query = { name, limit: 2, ...more, ...(cursor !== '' && { cursor }) }
        const page: Awaited<ReturnType<typeof consumers.list>> = await consumers.list('acme', query)
        found.push(...page.items.map((each) => each.name))
        cursor = page.next
      }
      return found
    }
    expect(await namesOf('ZEB')).toEqual(['zebra', 'Zebra', 'ZEBRA crossing', 'Ｚｅｂｒａ wide'])
    expect(await namesOf(long)).toEqual([long])
    expect(await namesOf('%')).toEqual([])
    const [first] = (await consumers.list('acme', { name: 'zebra', limit: 1 })).items
    await consumers.update(ACME, first!.id, { name: 'Yak' })
    await consumers.disable(ACME, first!.id)
    expect(await namesOf('zebra')).toHaveLength(3)
    expect(await namesOf('YAK', { state: 'Disabled' })).toEqual(['Yak'])
    expect(await namesOf('YAK', { state: 'Active' })).toEqual([])
    expect((await consumers.list('acme', { state: 'Disabled', limit: 9 })).items.map(({ name }) => name)).toEqual([
      'Yak',
    ])
    await consumers.remove(ACME, first!.id)
    expect(await namesOf('yak')).toEqual([])
    await expect(consumers.list('acme', { name: 'z', limit: 2, cursor: 'MSBub25l' })).rejects.toMatchObject({
      code: 'cursor_invalid',
    })
  })
})
