import { randomBytes } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import {
  createFirstAdmin,
  type FirstAdmin,
  type FirstAdminOptions,
} from '../../../../src/control/access/first-admin.ts'
import { createOtherAdmin } from '../../../fixtures/other-admin.ts'
import { ACME, publishApi, NOW_MS, openTestCatalogue, type TestCatalogue } from '../../../fixtures/test-catalogue.ts'
import { openTestPeople, PASSWORD } from '../../../fixtures/test-people.ts'

const SCOPES = ['apis:read', 'consumers:write', 'platform:admin']
const CHOSEN = { clientId: 'operator', clientSecret: 'a-secret-of-the-operator' }

function start(catalogue: TestCatalogue, more: Partial<FirstAdminOptions> = {}): Promise<FirstAdmin> {
  const { registry, vault, createId } = catalogue
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
    gatewayUrl: 'https://gateway.example',
    ...more,
  })
}

const clientOf = (catalogue: TestCatalogue, clientId: string) => catalogue.grants.clientFor(clientId)

async function changesOf(catalogue: TestCatalogue): Promise<number> {
  let changes = 0
  catalogue.registry.watch(0, () => changes++)()
  return changes
}

describe('the first admin', () => {
  it('has a valid credential with all scopes of the platform API', async () => {
    const catalogue = openTestCatalogue()
    const { made, consumer } = await start(catalogue)
    const client = await clientOf(catalogue, made?.clientId ?? '')

    expect(client?.secretHash).toBe(catalogue.vault.keyedHash(made?.clientSecret ?? ''))
    expect(client?.grant).toMatchObject({
      valid: true,
      active: true,
      tenant: 'acme',
      consumer,
      api: 'platform-v1',
      scopes: SCOPES,
    })
    expect(await catalogue.apis.get('acme', 'platform-v1')).toMatchObject({ state: 'Active', owner: 'system' })
    expect(await catalogue.consumers.get('acme', consumer)).toMatchObject({ name: 'admin', kind: 'application' })
    expect((await catalogue.subscriptions.list('acme', { limit: 9 })).items).toMatchObject([
      { consumer, state: 'Active' },
      { state: 'Active', scopes: SCOPES },
    ])
  })

  it('is created once: later starts find it and change nothing', async () => {
    const catalogue = openTestCatalogue()
    const { consumer } = await start(catalogue)
    const changes = await changesOf(catalogue)

    expect(await start(catalogue)).toEqual({ made: null, consumer, replaced: [] })
    expect(await start(catalogue.restart())).toEqual({ made: null, consumer, replaced: [] })
    expect(await changesOf(catalogue)).toBe(changes)
  })

  it('first use: is replaced if the operator chooses another client id later; the start reports the revoked ones', async () => {
    const catalogue = openTestCatalogue()
    const { made } = await start(catalogue)
    const { replaced } = await start(catalogue, { chosen: CHOSEN })
    const changes = await changesOf(catalogue)
    expect((await start(catalogue, { chosen: CHOSEN })).replaced).toEqual([])

    expect(await changesOf(catalogue)).toBe(changes)
    expect(replaced).toEqual([made?.clientId])
    expect((await clientOf(catalogue, made?.clientId ?? ''))?.grant.valid).toBe(false)
    const chosen = await clientOf(catalogue, CHOSEN.clientId)
    expect(chosen).toMatchObject({ secretHash: catalogue.vault.keyedHash(CHOSEN.clientSecret), grant: { valid: true } })
  })

  it('keeps rotated credentials if the operator still names the previous client id', async () => {
    const catalogue = openTestCatalogue()
    await start(catalogue, { chosen: CHOSEN })
    const { subscription = '' } = (await clientOf(catalogue, 'operator'))?.grant ?? {}
    const { clientId } = await catalogue.credentials.rotate(ACME, subscription)
    expect((await start(catalogue, { chosen: CHOSEN })).replaced).toEqual([])
    expect((await clientOf(catalogue, clientId ?? ''))?.grant.valid).toBe(true)
  })

  it('gets the client id that the operator chooses', async () => {
    const fresh = openTestCatalogue()
    // The operator has the secret, so that a start does not print it.
    expect((await start(fresh, { chosen: CHOSEN })).made).toEqual({ ...CHOSEN, clientSecret: null })
  })

  it('has the secret that the operator sets now', async () => {
    const catalogue = openTestCatalogue()
    await start(catalogue, { chosen: CHOSEN })
    await start(catalogue, { chosen: { ...CHOSEN, clientSecret: 'another' } })

    expect((await clientOf(catalogue, 'operator'))?.secretHash).toBe(catalogue.vault.keyedHash('another'))
  })

  it('gets the scopes of a new version, in its subscription and its credentials', async () => {
    const catalogue = openTestCatalogue()
    const { made } = await start(catalogue)
    const scopes = [...SCOPES, 'webhooks:read']
    await start(catalogue, { scopes })

    expect((await clientOf(catalogue, made?.clientId ?? ''))?.grant.scopes).toEqual(scopes)
    expect((await catalogue.subscriptions.list('acme', { limit: 9 })).items).toMatchObject([{ scopes }, { scopes }])
  })

  it('stays revoked or cancelled if the operator still names the credential', async () => {
    const catalogue = openTestCatalogue()
    await start(catalogue, { chosen: CHOSEN })
    const client = await clientOf(catalogue, 'operator')
    const { credential = '', subscription = '' } = client?.grant ?? {}
    await createOtherAdmin(catalogue, 'acme', SCOPES)
    await catalogue.credentials.revoke(ACME, subscription, credential)
    await start(catalogue, { chosen: { ...CHOSEN, clientSecret: 'another' } })
    expect((await clientOf(catalogue, 'operator'))?.grant.valid).toBe(false)

    await catalogue.subscriptions.cancel(ACME, subscription)
    expect((await start(catalogue, { chosen: CHOSEN })).made).toBeNull()
    expect((await clientOf(catalogue, 'operator'))?.grant.valid).toBe(false)
  })

  it('is restored after a cancellation if the operator chooses another client id', async () => {
    const catalogue = openTestCatalogue()
    const { made, consumer } = await start(catalogue)
    const first = await clientOf(catalogue, made?.clientId ?? '')
    await createOtherAdmin(catalogue, 'acme', SCOPES)
    await catalogue.subscriptions.cancel(ACME, first?.grant.subscription ?? '')
    expect(await start(catalogue)).toEqual({ made: null, consumer, replaced: [] })
    expect(await start(catalogue, { chosen: CHOSEN })).toEqual({ made: null, consumer, replaced: [] })

    const back = await clientOf(catalogue, 'operator')
    expect(back?.grant).toMatchObject({ valid: true, active: true, consumer, scopes: SCOPES })
    await start(catalogue, { scopes: [...SCOPES, 'x'] })
    expect((await clientOf(catalogue, 'operator'))?.grant.scopes).toContain('x')
  })

  it('refuses the start under another tenant than the first, and names that tenant', async () => {
    const catalogue = openTestCatalogue()
    await start(catalogue)
    await expect(start(catalogue, { tenant: 'rival' })).rejects.toThrow(/set up for acme/)
  })

  it('refuses the start if the client id belongs to another subscription', async () => {
    const catalogue = openTestCatalogue()
    await start(catalogue)
    const { consumer } = await publishApi(catalogue)
    const { id } = await catalogue.subscriptions.create(ACME, { consumer, api: 'orders-v1' })
    const [client] = (await catalogue.credentials.read(ACME, id)).items

    const chosen = { clientId: client?.clientId ?? '', clientSecret: 'x' }
    await expect(start(catalogue, { chosen })).rejects.toThrow(/client of another subscription/)
    expect((await clientOf(catalogue, chosen.clientId))?.grant.api).toBe('orders-v1')
  })
})

describe('the first owner', () => {
  it('is created once, with a link that sets the password', async () => {
    const catalogue = openTestCatalogue()
    const { ownerLink } = await start(catalogue)
    expect((await start(catalogue)).ownerLink).toBeUndefined()
    const { users, signIn } = await openTestPeople(catalogue)
    const { items } = await users.list('acme', { limit: 9 })
    expect(items).toMatchObject([{ username: 'owner', state: 'Pending', roles: [{ role: 'owner' }] }])
    expect(await signIn.useLink(new URL(ownerLink?.url ?? '').searchParams.get('link') ?? '', PASSWORD)).toBe(true)
    expect(await signIn.verify('acme', 'owner', PASSWORD)).toMatchObject({ username: 'owner' })
  })
})
