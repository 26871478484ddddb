import { describe, expect, it } from 'vitest'
import type { Grant } from '../../../src/plan/grant.ts'
import { ACME, furnish, openHouse, type House } from '../../fixtures/test-catalogue.ts'

async function subscribe(house: House, kind: 'application' | 'agent' = 'application') {
  await furnish(house)
  const consumer = await house.consumers.create(ACME, { name: 'Shop', kind })
  const { id: subscription } = await house.subscriptions.create(ACME, { consumer: consumer.id, api: 'orders-v1' })
  const [client, key] = (await house.credentials.read(ACME, subscription)).items
  if (client === undefined || key === undefined) throw new Error('credentials are missing')
  return { consumer, subscription, client, key }
}

const byClient = (house: House, clientId: string | null): Promise<Grant | null> =>
  house.grants.resolve({ kind: 'client', clientId: clientId ?? '' })

describe('a grant', () => {
  it('tells all that a credential opens, by its client id or by the hash of its key', async () => {
    const house = openHouse()
    const { consumer, subscription, client, key } = await subscribe(house, 'agent')
    const common = {
      valid: true,
      active: true,
      tenant: 'acme',
      subscription,
      consumer: consumer.id,
      consumerName: 'Shop',
      consumerKind: 'agent',
      api: 'orders-v1',
      apiProductId: '',
      scopes: client.scopes,
      variant: '',
      expiresAtMs: Date.parse(client.expiresAt),
    }
    const hash = house.vault.keyedHash(key.apiKey ?? '')

    expect(await byClient(house, client.clientId)).toMatchObject({ ...common, credential: client.id, type: 'OAuth2' })
    expect(await house.grants.resolve({ kind: 'key', hash })).toMatchObject({
      ...common,
      credential: key.id,
      type: 'ApiKey',
    })
  })

  it('is null for what is not known: no name, another kind of name, or the key itself', async () => {
    const house = openHouse()
    const { client, key } = await subscribe(house)

    expect(await byClient(house, '')).toBeNull()
    expect(await byClient(house, key.id)).toBeNull()
    expect(await house.grants.resolve({ kind: 'key', hash: key.apiKey ?? '' })).toBeNull()
    expect(await house.grants.resolve({ kind: 'key', hash: client.clientId ?? '' })).toBeNull()
    expect(await house.grants.resolve({ kind: 'key', hash: '' })).toBeNull()
  })

  it('gives the token endpoint the hash that the secret must have', async () => {
    const house = openHouse()
    const { client } = await subscribe(house)
    const found = await house.grants.clientFor(client.clientId ?? '')

    expect(found?.secretHash).toBe(house.vault.keyedHash(client.clientSecret ?? ''))
    expect(found?.grant.credential).toBe(client.id)
    expect(await house.grants.clientFor('cli_none')).toBeNull()
  })

  it('rises in version with every change of what it was read from', async () => {
    const house = openHouse()
    const { subscription, client } = await subscribe(house)
    const read = async (): Promise<Grant> => {
      const grant = await byClient(house, client.clientId)
      if (grant === null) throw new Error('the credential is gone')
      return grant
    }
    const first = await read()
    await house.credentials.revoke(ACME, subscription, client.id)
    const revoked = await read()
    await house.subscriptions.cancel(ACME, subscription)
    const cancelled = await read()

    expect([first, revoked, cancelled].map(({ valid, active }) => [valid, active])).toEqual([
      [true, true],
      [false, true],
      [false, false],
    ])
    expect(revoked.version).toBeGreaterThan(first.version)
    expect(cancelled.version).toBeGreaterThan(revoked.version)
  })

  it('reaches threads in rising versions, the last of them what holds, whatever ends at once', async () => {
    const house = openHouse()
    const { subscription, client, key } = await subscribe(house)
    await Promise.allSettled([
      house.credentials.revoke(ACME, subscription, client.id),
      house.subscriptions.cancel(ACME, subscription),
      house.credentials.revoke(ACME, subscription, key.id),
    ])

    for (const { id, clientId } of [client, key]) {
      const told = house.gateway.grants.filter(({ credential }) => credential === id)
      const newest = told.toSorted((a, b) => a.version - b.version).at(-1)
      expect(newest).toMatchObject({ valid: false, active: false })
      if (clientId !== null) expect(newest).toEqual(await byClient(house, clientId))
    }
  })
})
