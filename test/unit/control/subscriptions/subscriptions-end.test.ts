import { describe, expect, it } from 'vitest'
import type { SubscriptionInput } from '../../../../src/control/subscriptions/subscriptions.ts'
import { ACME, publishApi, openTestCatalogue, RIVAL, type TestCatalogue } from '../../../fixtures/test-catalogue.ts'

const API = 'orders-v1'

async function subscribe(catalogue: TestCatalogue, more: Partial<SubscriptionInput> = {}) {
  const { consumer, proxy } = await publishApi(catalogue)
  const subscription = await catalogue.subscriptions.create(ACME, { consumer, api: API, ...more })
  const { items } = await catalogue.credentials.read(ACME, subscription.id)
  return { consumer, proxy, subscription, credentials: items }
}

describe('the end of', () => {
  it('a subscription is on disk first, then on every thread, then returned', async () => {
    const catalogue = openTestCatalogue()
    const { subscription, credentials } = await subscribe(catalogue)
    const states: string[] = []
    catalogue.gateway.onGrant = async () => {
      states.push((await catalogue.subscriptions.get('acme', subscription.id)).state)
    }
    const cancelled = await catalogue.subscriptions.cancel(ACME, subscription.id)

    expect(cancelled.state).toBe('Cancelled')
    expect(states).toEqual(['Cancelled', 'Cancelled', 'Cancelled'])
    expect(catalogue.gateway.grants.map(({ credential, valid }) => [credential, valid])).toEqual(
      // The last one is the access of people to the subscription.
      [...credentials, subscription].map(({ id }) => [id, false]),
    )
  })

  it('a subscription happens once; the second time returns 409 with the state', async () => {
    const catalogue = openTestCatalogue()
    const { subscription } = await subscribe(catalogue)
    await catalogue.subscriptions.cancel(ACME, subscription.id)

    await expect(catalogue.subscriptions.cancel(ACME, subscription.id)).rejects.toMatchObject({
      status: 409,
      code: 'state_conflict',
      extensions: { state: 'Cancelled', allowed: [] },
    })
  })

  it('a credential has reached every thread before the command returns; the other credential stays', async () => {
    const catalogue = openTestCatalogue()
    const { subscription, credentials } = await subscribe(catalogue)
    const [client] = credentials.map(({ id }) => id)
    const acknowledged = Promise.withResolvers<void>()
    const notified = Promise.withResolvers<void>()
    catalogue.gateway.onGrant = async () => {
      notified.resolve()
      await acknowledged.promise
    }
    let isAnswered = false
    const revoked = catalogue.credentials
      .revoke(ACME, subscription.id, client ?? '')
      .then(() => void (isAnswered = true))
    await notified.promise
    expect(isAnswered).toBe(false)
    acknowledged.resolve()
    await revoked

    const now = new Map(catalogue.gateway.grants.map(({ credential, valid }) => [credential, valid]))
    expect([...now]).toEqual([[client, false]])
    const { items } = await catalogue.credentials.read(ACME, subscription.id)
    expect(items.map(({ state }) => state)).toEqual(['Revoked', 'Active'])
  })

  it('a credential holds if a thread did not acknowledge it, and can be repeated', async () => {
    const catalogue = openTestCatalogue()
    const { subscription, credentials } = await subscribe(catalogue)
    const id = credentials[0]?.id ?? ''
    catalogue.gateway.onGrant = async () => {
      throw new Error('no acknowledgement')
    }
    await expect(catalogue.credentials.revoke(ACME, subscription.id, id)).rejects.toThrow('no acknowledgement')
    catalogue.gateway.onGrant = async () => {}
    await catalogue.credentials.revoke(ACME, subscription.id, id)

    expect(catalogue.gateway.grants.find(({ credential }) => credential === id)?.valid).toBe(false)
  })

  it('a subscription of another tenant, or a credential of another subscription, returns 404', async () => {
    const catalogue = openTestCatalogue()
    const { subscription, credentials, consumer } = await subscribe(catalogue)
    const other = await catalogue.subscriptions.create(ACME, { consumer, api: API })
    const { subscriptions } = catalogue
    const credential = credentials[0]?.id ?? ''
    catalogue.gateway.grants.length = 0

    const missing = { status: 404, code: 'not_found' }
    await expect(subscriptions.cancel(RIVAL, subscription.id)).rejects.toMatchObject(missing)
    await expect(catalogue.credentials.read(RIVAL, subscription.id)).rejects.toMatchObject(missing)
    await expect(subscriptions.operations('rival', subscription.id)).rejects.toMatchObject(missing)
    await expect(catalogue.credentials.revoke(RIVAL, subscription.id, credential)).rejects.toMatchObject(missing)
    await expect(catalogue.credentials.revoke(ACME, other.id, credential)).rejects.toMatchObject(missing)
    expect(catalogue.gateway.grants).toEqual([])
  })
})

it('a repeated cancellation reaches a thread that missed the first', async () => {
  const catalogue = openTestCatalogue()
  const { subscription } = await subscribe(catalogue)
  catalogue.gateway.onGrant = () => Promise.reject(new Error('a thread does not respond'))
  await expect(catalogue.subscriptions.cancel(ACME, subscription.id)).rejects.toThrow('a thread does not respond')
  catalogue.gateway.onGrant = async () => {}
  await expect(catalogue.subscriptions.cancel(ACME, subscription.id)).rejects.toMatchObject({ code: 'state_conflict' })
  expect(catalogue.gateway.grants.map(({ valid }) => valid)).toEqual([false, false, false])
})
