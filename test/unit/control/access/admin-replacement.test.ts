import { randomBytes } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { resetAdmin } from '../../../../src/control/access/admin-replacement.ts'
import { createFirstAdmin } from '../../../../src/control/access/first-admin.ts'
import { createVault } from '../../../../src/foundation/runtime/vault.ts'
import { createOtherAdmin } from '../../../fixtures/other-admin.ts'
import { ACME, NOW_MS, openTestCatalogue, type TestCatalogue } from '../../../fixtures/test-catalogue.ts'
import { USER_KIND, userWrite } from '../../../../src/control/access/people/user-document.ts'
import { openTestPeople, PASSWORD } from '../../../fixtures/test-people.ts'
import { OUTBOX_EVENT_KIND } from '../../../../src/control/command/event-outbox.ts'

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
  resetAdmin({ ...catalogue, vault, randomBytes, clock, gatewayUrl: 'https://gateway.example' })

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
    await createOtherAdmin(catalogue, 'acme', SCOPES)
    await catalogue.subscriptions.cancel(ACME, subscription)
    const second = await reset(catalogue)
    expect((await catalogue.grants.clientFor(second.clientId))?.grant).toMatchObject({ valid: true, active: true })
  })

  it('changes nothing if the folder has no admin or the master key is wrong', async () => {
    const catalogue = openTestCatalogue()
    await expect(reset(catalogue)).rejects.toThrow('has no admin yet')
    const { made } = await start(catalogue)
    await expect(reset(catalogue, createVault(randomBytes(32)))).rejects.toThrow(
      'master key does not match this registry',
    )
    expect((await catalogue.grants.clientFor(made?.clientId ?? ''))?.grant.valid).toBe(true)
  })
})

describe('first use: the owner link of a reset', () => {
  const linkText = (url: string): string => new URL(url).searchParams.get('link') ?? ''

  it('lets the owner of the first start set a password, and replaces the earlier link', async () => {
    const catalogue = openTestCatalogue()
    const { ownerLink: first } = await start(catalogue)
    const { owner, ownerLink } = await reset(catalogue)
    const { signIn } = await openTestPeople(catalogue)
    expect(owner).toBe('owner')
    expect(await signIn.useLink(linkText(first?.url ?? ''), PASSWORD)).toBe(false)
    expect(await signIn.useLink(linkText(ownerLink.url), PASSWORD)).toBe(true)
    expect(await signIn.verify('acme', 'owner', PASSWORD)).not.toBeNull()
    expect(await signIn.useLink(linkText(ownerLink.url), PASSWORD)).toBe(false)
  })

  it('makes an owner in a data folder of an earlier version, which has none', async () => {
    const catalogue = openTestCatalogue()
    await start(catalogue)
    await removeOwners(catalogue)
    const { users, signIn } = await openTestPeople(catalogue)
    // Somebody else has the name.
    await users.create(ACME, { username: 'owner', name: 'Someone', password: PASSWORD })
    const { owner, ownerLink } = await reset(catalogue)
    expect(owner).toMatch(/^owner-[0-9a-z]{5}$/)
    expect(await signIn.useLink(linkText(ownerLink.url), PASSWORD)).toBe(true)
    const person = await signIn.verify('acme', owner, PASSWORD)
    expect(await users.get('acme', person?.id ?? '')).toMatchObject({ state: 'Active', roles: [{ role: 'owner' }] })
  })

  it('enables an owner who is disabled, and keeps a password until the link is used', async () => {
    const catalogue = openTestCatalogue()
    const { ownerLink: first } = await start(catalogue)
    const { signIn } = await openTestPeople(catalogue)
    await signIn.useLink(linkText(first?.url ?? ''), PASSWORD)
    const [found] = await catalogue.registry.list(USER_KIND, { tenant: 'acme', limit: 1 })
    const { id = '', revision = 0, body } = found ?? {}
    if (body === undefined) throw new Error('there is no owner')
    await catalogue.registry.commit(ACME, 'test', [userWrite(id, 'acme', revision, { ...body, disabled: true })])
    const { ownerLink } = await reset(catalogue)
    expect(await signIn.verify('acme', 'owner', PASSWORD)).not.toBeNull()
    expect(await signIn.useLink(linkText(ownerLink.url), 'another long password')).toBe(true)
    expect(await signIn.verify('acme', 'owner', PASSWORD)).toBeNull()
  })
})

async function removeOwners({ registry }: TestCatalogue): Promise<void> {
  for (const { id, kind, tenant, revision } of await registry.list(USER_KIND, { tenant: 'acme', limit: 9 })) {
    await registry.commit(ACME, 'test', [{ kind, id, tenant, expected: revision, body: null }])
  }
}
