import { randomBytes } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { resetAdmin } from '../../../src/access/admin-replacement.ts'
import { createFirstAdmin } from '../../../src/access/first-admin.ts'
import { createVault } from '../../../src/runtime/vault.ts'
import { ACME, NOW_MS, openTestCatalogue, type TestCatalogue } from '../../fixtures/test-catalogue.ts'
import { OUTBOX_EVENT_KIND } from '../../../src/command/event-outbox.ts'

const SCOPES = ['apis:read', 'platform:admin']
const clock = { nowMs: () => NOW_MS, after: () => () => {}, every: () => () => {} }

const start = (catalogue: TestCatalogue, chosen: { clientId: string; clientSecret: string } | null = null) =>
  createFirstAdmin({
    ...catalogue,
    randomBytes,
    clock,
    tenant: 'acme',
    scopes: SCOPES,
    gatewayUrl: 'https://gateway.example',
    chosen,
  })
const reset = (catalogue: TestCatalogue, vault = catalogue.vault) =>
  resetAdmin({ ...catalogue, vault, randomBytes, clock })

describe('first use: a reset of the admin credential', () => {
  it('creates a credential with all scopes and revokes all others, each with an event', async () => {
    const catalogue = openTestCatalogue()
    const { made } = await start(catalogue)
    const { clientId, clientSecret, revoked } = await reset(catalogue)

    expect(revoked).toEqual([made?.clientId])
    expect((await catalogue.grants.clientFor(made?.clientId ?? ''))?.grant.valid).toBe(false)
    const client = await catalogue.grants.clientFor(clientId)
    expect(client).toMatchObject({
      secretHash: catalogue.vault.keyedHash(clientSecret),
      grant: { valid: true, active: true, scopes: SCOPES, tenant: 'acme' },
    })
    const events = await catalogue.registry.list(OUTBOX_EVENT_KIND, { tenant: 'acme', limit: 9 })
    expect(events.map(({ body }) => body.type)).toEqual(['CredentialRevoked'])
  })

  it('works after an earlier reset, and after the subscription was cancelled', async () => {
    const catalogue = openTestCatalogue()
    await start(catalogue)
    const first = await reset(catalogue)
    const { subscription = '' } = (await catalogue.grants.clientFor(first.clientId))?.grant ?? {}
    await catalogue.subscriptions.cancel(ACME, subscription)
    const second = await reset(catalogue)
    expect((await catalogue.grants.clientFor(second.clientId))?.grant).toMatchObject({ valid: true, active: true })
  })

  it('changes nothing if the folder has no admin or the master key is wrong', async () => {
    const catalogue = openTestCatalogue()
    await expect(reset(catalogue)).rejects.toThrow('has no admin yet')
    const { made } = await start(catalogue)
    await expect(reset(catalogue, createVault(randomBytes(32)))).rejects.toThrow(
      'master key does not match this data folder',
    )
    expect((await catalogue.grants.clientFor(made?.clientId ?? ''))?.grant.valid).toBe(true)
  })
})
