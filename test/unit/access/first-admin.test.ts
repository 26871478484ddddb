import { randomBytes } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { createFirstAdmin, type FirstAdmin, type FirstAdminOptions } from '../../../src/access/first-admin.ts'
import { ACME, furnish, NOW_MS, openHouse, type House } from '../../fixtures/test-catalogue.ts'

const SCOPES = ['apis:read', 'consumers:write', 'platform:admin']
const CHOSEN = { clientId: 'operator', clientSecret: 'a-secret-of-the-operator' }

function start(house: House, more: Partial<FirstAdminOptions> = {}): Promise<FirstAdmin> {
  const { registry, vault, createId } = house
  const never = (): (() => void) => () => {}
  const clock = { nowMs: () => NOW_MS, after: never, every: never }
  return createFirstAdmin({
    registry,
    vault,
    createId,
    randomBytes,
    clock,
    tenant: 'acme',
    scopes: SCOPES,
    chosen: null,
    ...more,
  })
}

const clientOf = (house: House, clientId: string) => house.grants.clientFor(clientId)

async function changesOf(house: House): Promise<number> {
  let changes = 0
  house.registry.watch(0, () => changes++)()
  return changes
}

describe('the first admin', () => {
  it('holds all scopes of the platform API by a credential that works', async () => {
    const house = openHouse()
    const { made, consumer } = await start(house)
    const client = await clientOf(house, made?.clientId ?? '')

    expect(client?.secretHash).toBe(house.vault.keyedHash(made?.clientSecret ?? ''))
    expect(client?.grant).toMatchObject({
      valid: true,
      active: true,
      tenant: 'acme',
      consumer,
      api: 'platform-v1',
      scopes: SCOPES,
    })
    expect(await house.apis.get('acme', 'platform-v1')).toMatchObject({ state: 'Active', owner: 'system' })
    expect(await house.consumers.get('acme', consumer)).toMatchObject({ name: 'admin', kind: 'application' })
    expect((await house.subscriptions.list('acme', { limit: 9 })).items).toMatchObject([{ consumer, state: 'Active' }])
  })

  it('is made once: later starts find it and change nothing', async () => {
    const house = openHouse()
    const { consumer } = await start(house)
    const changes = await changesOf(house)

    expect(await start(house)).toEqual({ made: null, consumer, replaced: [] })
    expect(await start(house.restart())).toEqual({ made: null, consumer, replaced: [] })
    expect(await changesOf(house)).toBe(changes)
  })

  it('first use: is replaced by the one that the operator names later; the start says which it revoked', async () => {
    const house = openHouse()
    const { made } = await start(house)
    const { replaced } = await start(house, { chosen: CHOSEN })
    const changes = await changesOf(house)
    expect((await start(house, { chosen: CHOSEN })).replaced).toEqual([])

    expect(await changesOf(house)).toBe(changes)
    expect(replaced).toEqual([made?.clientId])
    expect((await clientOf(house, made?.clientId ?? ''))?.grant.valid).toBe(false)
    const chosen = await clientOf(house, CHOSEN.clientId)
    expect(chosen).toMatchObject({ secretHash: house.vault.keyedHash(CHOSEN.clientSecret), grant: { valid: true } })
  })

  it('keeps what was rotated over the platform API, though the operator still names the credential of before', async () => {
    const house = openHouse()
    await start(house, { chosen: CHOSEN })
    const { subscription = '' } = (await clientOf(house, 'operator'))?.grant ?? {}
    const { clientId } = await house.credentials.rotate(ACME, subscription)
    expect((await start(house, { chosen: CHOSEN })).replaced).toEqual([])
    expect((await clientOf(house, clientId ?? ''))?.grant.valid).toBe(true)
  })

  it('is made to the name that the operator gives', async () => {
    const fresh = openHouse()
    expect((await start(fresh, { chosen: CHOSEN })).made).toEqual(CHOSEN)
  })

  it('has the secret that the operator names now', async () => {
    const house = openHouse()
    await start(house, { chosen: CHOSEN })
    await start(house, { chosen: { ...CHOSEN, clientSecret: 'another' } })

    expect((await clientOf(house, 'operator'))?.secretHash).toBe(house.vault.keyedHash('another'))
  })

  it('gets the scopes that a version brings, in its subscription and its credentials', async () => {
    const house = openHouse()
    const { made } = await start(house)
    const scopes = [...SCOPES, 'webhooks:read']
    await start(house, { scopes })

    expect((await clientOf(house, made?.clientId ?? ''))?.grant.scopes).toEqual(scopes)
    expect((await house.subscriptions.list('acme', { limit: 9 })).items).toMatchObject([{ scopes }])
  })

  it('stays revoked, and cancelled, though the operator still names the credential', async () => {
    const house = openHouse()
    await start(house, { chosen: CHOSEN })
    const client = await clientOf(house, 'operator')
    const { credential = '', subscription = '' } = client?.grant ?? {}
    await house.credentials.revoke(ACME, subscription, credential)
    await start(house, { chosen: { ...CHOSEN, clientSecret: 'another' } })
    expect((await clientOf(house, 'operator'))?.grant.valid).toBe(false)

    await house.subscriptions.cancel(ACME, subscription)
    expect((await start(house, { chosen: CHOSEN })).made).toBeNull()
    expect((await clientOf(house, 'operator'))?.grant.valid).toBe(false)
  })

  it('comes back after its subscription was cancelled where the operator names another credential', async () => {
    const house = openHouse()
    const { made, consumer } = await start(house)
    const first = await clientOf(house, made?.clientId ?? '')
    await house.subscriptions.cancel(ACME, first?.grant.subscription ?? '')
    expect(await start(house)).toEqual({ made: null, consumer, replaced: [] })
    expect(await start(house, { chosen: CHOSEN })).toEqual({ made: null, consumer, replaced: [] })

    const back = await clientOf(house, 'operator')
    expect(back?.grant).toMatchObject({ valid: true, active: true, consumer, scopes: SCOPES })
    await start(house, { scopes: [...SCOPES, 'x'] })
    expect((await clientOf(house, 'operator'))?.grant.scopes).toContain('x')
  })

  it('refuses the start under another tenant than the first, and says which', async () => {
    const house = openHouse()
    await start(house)
    await expect(start(house, { tenant: 'rival' })).rejects.toThrow(/set up for acme/)
  })

  it('refuses the start where the name is a client of another subscription', async () => {
    const house = openHouse()
    await start(house)
    const { consumer } = await furnish(house)
    const { id } = await house.subscriptions.create(ACME, { consumer, api: 'orders-v1' })
    const [client] = (await house.credentials.read(ACME, id)).items

    const chosen = { clientId: client?.clientId ?? '', clientSecret: 'x' }
    await expect(start(house, { chosen })).rejects.toThrow(/client of another subscription/)
    expect((await clientOf(house, chosen.clientId))?.grant.api).toBe('orders-v1')
  })
})
