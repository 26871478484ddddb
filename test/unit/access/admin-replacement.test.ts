import { randomBytes } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { resetAdmin } from '../../../src/access/admin-replacement.ts'
import { createFirstAdmin } from '../../../src/access/first-admin.ts'
import { createVault } from '../../../src/runtime/vault.ts'
import { ACME, NOW_MS, openHouse, type House } from '../../fixtures/test-catalogue.ts'

const SCOPES = ['apis:read', 'platform:admin']
const clock = { nowMs: () => NOW_MS, after: () => () => {}, every: () => () => {} }

const start = (house: House, chosen: { clientId: string; clientSecret: string } | null = null) =>
  createFirstAdmin({ ...house, randomBytes, clock, tenant: 'acme', scopes: SCOPES, chosen })
const reset = (house: House, vault = house.vault) => resetAdmin({ ...house, vault, randomBytes, clock })

describe('first use: a reset of the admin', () => {
  it('makes a credential with all scopes and revokes every other one, each with its event', async () => {
    const house = openHouse()
    const { made } = await start(house)
    const { clientId, clientSecret, revoked } = await reset(house)

    expect(revoked).toEqual([made?.clientId])
    expect((await house.grants.clientFor(made?.clientId ?? ''))?.grant.valid).toBe(false)
    const client = await house.grants.clientFor(clientId)
    expect(client).toMatchObject({
      secretHash: house.vault.keyedHash(clientSecret),
      grant: { valid: true, active: true, scopes: SCOPES, tenant: 'acme' },
    })
    const events = await house.registry.list<{ type: string }>('event', { tenant: 'acme', limit: 9 })
    expect(events.map(({ body }) => body.type)).toEqual(['CredentialRevoked'])
  })

  it('works again after a reset, and after the subscription was cancelled', async () => {
    const house = openHouse()
    await start(house)
    const first = await reset(house)
    const { subscription = '' } = (await house.grants.clientFor(first.clientId))?.grant ?? {}
    await house.subscriptions.cancel(ACME, subscription)
    const second = await reset(house)
    expect((await house.grants.clientFor(second.clientId))?.grant).toMatchObject({ valid: true, active: true })
  })

  it('refuses a folder without an admin, and another master key, and changes nothing', async () => {
    const house = openHouse()
    await expect(reset(house)).rejects.toThrow('has no admin yet')
    const { made } = await start(house)
    await expect(reset(house, createVault(randomBytes(32)))).rejects.toThrow(
      'master key is not that of this data folder',
    )
    expect((await house.grants.clientFor(made?.clientId ?? ''))?.grant.valid).toBe(true)
  })
})
