import { describe, expect, it } from 'vitest'
import { createApiPolicies } from '../../../src/publishing/api-policy.ts'
import { createTurns } from '../../../src/command/keyed-mutex.ts'
import { createCredentialExpiry, CREDENTIAL_DUE } from '../../../src/access/credential-expiry.ts'
import type { DueTime } from '../../../src/command/due-times.ts'
import { ACME, furnish, openHouse, type House } from '../../fixtures/test-catalogue.ts'

const DAY_MS = 86_400_000

/** Does what is due until `untilMs`, as the scheduler would; how many days before the end each warning came. */
async function live(house: House, untilMs: number): Promise<void> {
  const { registry, createId } = house
  const warn = createCredentialExpiry({ registry, createId, clock: { nowMs: () => house.clock.nowMs } })
  for (;;) {
    const [due] = await registry.list<DueTime>('due', { limit: 1 })
    if (due === undefined || due.body.atMs > untilMs) break
    house.clock.nowMs = Math.max(house.clock.nowMs, due.body.atMs)
    expect(due.body.kind).toBe(CREDENTIAL_DUE)
    await warn(due.body)
    const left = await registry.get('due', due.id)
    if (left === null) continue
    await registry.commit(ACME, 'test.done', [
      { kind: 'due', id: due.id, tenant: 'acme', expected: left.revision, body: null },
    ])
  }
  house.clock.nowMs = untilMs
}

const eventsOf = async ({ registry }: House) =>
  (await registry.list<{ type: string; data: { expiresAt?: string; credential: string } }>('event', { limit: 99 })).map(
    ({ body, createdAtMs }) => ({ ...body, createdAtMs }),
  )

async function subscribe(house: House) {
  const { consumer } = await furnish(house)
  const { id } = await house.subscriptions.create(ACME, { consumer, api: 'orders-v1', securityTypes: ['OAuth2'] })
  const { items } = await house.credentials.read(ACME, id)
  return { id, credential: items[0]?.id ?? '', endsMs: Date.parse(items[0]?.expiresAt ?? '') }
}

describe('a credential near its end', () => {
  it('is warned of 30, 7 and 1 days before, and then no more', async () => {
    const house = openHouse()
    const { credential, endsMs } = await subscribe(house)
    await live(house, endsMs + DAY_MS)
    const events = await eventsOf(house)
    expect(events.map(({ createdAtMs }) => (endsMs - createdAtMs) / DAY_MS)).toEqual([30, 7, 1])
    for (const { type, data } of events) {
      expect(type).toBe('CredentialExpiringSoon')
      expect(data).toMatchObject({ credential, expiresAt: new Date(endsMs).toISOString() })
      expect(JSON.stringify(data)).not.toMatch(/secret/i)
    }
    expect(await house.registry.list('due', { limit: 9 })).toEqual([])
  })

  it.each([
    [30, [30, 7, 1]],
    [20, [20, 7, 1]],
    [7, [7, 1]],
    [5, [5, 1]],
    [1, [1]],
  ])('is warned of once when it is issued for %i days, and at the windows that are left', async (days, expected) => {
    const house = openHouse()
    const { consumer } = await furnish(house)
    const policies = createApiPolicies({ registry: house.registry, turns: createTurns() })
    await policies.put(ACME, 'orders-v1', { credentialLifetimeDays: days })
    const { id } = await house.subscriptions.create(ACME, { consumer, api: 'orders-v1', securityTypes: ['OAuth2'] })
    const { items } = await house.credentials.read(ACME, id)
    await live(house, Date.parse(items[0]?.expiresAt ?? '') + DAY_MS)
    const daysBefore = (await eventsOf(house)).map(
      ({ createdAtMs, data }) => (Date.parse(data.expiresAt ?? '') - createdAtMs) / DAY_MS,
    )
    expect(daysBefore).toEqual(expected)
  })

  it('is warned of once when it is issued by a rotation', async () => {
    const house = openHouse()
    const { id } = await subscribe(house)
    const policies = createApiPolicies({ registry: house.registry, turns: createTurns() })
    await policies.put(ACME, 'orders-v1', { credentialLifetimeDays: 3 })
    const made = await house.credentials.rotate(ACME, id, 0)
    await live(house, house.clock.nowMs)
    expect((await eventsOf(house)).map(({ data }) => data.credential)).toEqual([made.id])
  })

  it('is warned of once for what fell due while the process was down', async () => {
    const house = openHouse()
    const { endsMs } = await subscribe(house)
    house.clock.nowMs = endsMs - 2 * DAY_MS
    await live(house, endsMs)
    const daysBefore = (await eventsOf(house)).map(({ createdAtMs }) => (endsMs - createdAtMs) / DAY_MS)
    expect(daysBefore).toEqual([2, 1])
  })

  it.each(['revoked', 'replaced'])('is not warned of when it was %s', async (how) => {
    const house = openHouse()
    const { id, credential, endsMs } = await subscribe(house)
    if (how === 'revoked') await house.credentials.revoke(ACME, id, credential)
    else await house.credentials.rotate(ACME, id, 0)
    await live(house, endsMs - 31 * DAY_MS)
    house.clock.nowMs = endsMs - 20 * DAY_MS
    await live(house, endsMs - 20 * DAY_MS)
    const warned = (await eventsOf(house)).filter(({ type }) => type === 'CredentialExpiringSoon')
    expect(warned.filter(({ data }) => data.credential === credential)).toEqual([])
  })
})

it('tells once of a credential that is revoked, however often it is', async () => {
  const house = openHouse()
  const { id, credential } = await subscribe(house)
  await house.credentials.revoke(ACME, id, credential)
  await house.credentials.revoke(ACME, id, credential)
  const events = await eventsOf(house)
  expect(events).toMatchObject([{ type: 'CredentialRevoked', data: { credential, subscription: id, type: 'OAuth2' } }])
  expect(house.gateway.grants).toHaveLength(2)
})
