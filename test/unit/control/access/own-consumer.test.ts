import { describe, expect, it } from 'vitest'
import { ensureOwnConsumers } from '../../../../src/control/access/own-consumer.ts'
import { TENANT_KIND, tenantWrite } from '../../../../src/control/access/platform-access.ts'
import { SUBSCRIPTION_KIND } from '../../../../src/control/subscriptions/document/subscription-document.ts'
import { ACME, openTestCatalogue, RIVAL, type TestCatalogue } from '../../../fixtures/test-catalogue.ts'

const SCOPES = ['apis:read', 'platform:admin', 'usage:read']

const ensure = ({ registry, createId }: TestCatalogue, scopes: readonly string[] = SCOPES) =>
  ensureOwnConsumers({ registry, createId, operator: 'acme', scopes })

/** Two tenants of an earlier version. */
async function openTenants(): Promise<TestCatalogue> {
  const catalogue = openTestCatalogue()
  for (const author of [ACME, RIVAL]) {
    await catalogue.registry.commit(author, 'test', [tenantWrite(author.tenant, 0, { name: author.tenant })])
  }
  return catalogue
}

async function accessOf({ registry }: TestCatalogue, tenant: string) {
  const consumer = (await registry.get(TENANT_KIND, tenant))?.body.ownConsumer ?? ''
  const found = await registry.list(SUBSCRIPTION_KIND, { tenant, where: { consumer }, limit: 9 })
  return found.map(({ id, revision, body }) => ({ id, revision, state: body.actor.value, scopes: body.scopes }))
}

describe('the own consumer of a tenant of an earlier version', () => {
  it('is created once, with every scope that the tenant may hold', async () => {
    const catalogue = await openTenants()
    await ensure(catalogue)
    const before = await accessOf(catalogue, 'acme')
    expect(before).toMatchObject([{ state: 'Active', scopes: SCOPES }])
    expect(await accessOf(catalogue, 'rival')).toMatchObject([{ state: 'Active', scopes: ['apis:read', 'usage:read'] }])
    await ensure(catalogue)
    expect(await accessOf(catalogue, 'acme')).toEqual(before)
  })

  it('gets the scopes of a later version', async () => {
    const catalogue = await openTenants()
    await ensure(catalogue)
    await ensure(catalogue, [...SCOPES, 'webhooks:read'])
    expect(await accessOf(catalogue, 'rival')).toMatchObject([{ scopes: ['apis:read', 'usage:read', 'webhooks:read'] }])
  })

  it('can be renamed, and subscribed to other APIs, but not be disabled or removed', async () => {
    const catalogue = await openTenants()
    await ensure(catalogue)
    const id = (await catalogue.registry.get(TENANT_KIND, 'acme'))?.body.ownConsumer ?? ''
    const refused = { code: 'state_conflict' }
    await expect(catalogue.consumers.disable(ACME, id)).rejects.toMatchObject(refused)
    await expect(catalogue.consumers.remove(ACME, id)).rejects.toMatchObject(refused)
    const [access] = await accessOf(catalogue, 'acme')
    await expect(catalogue.subscriptions.cancel(ACME, access?.id ?? '')).rejects.toMatchObject(refused)
    await expect(
      catalogue.subscriptions.update(ACME, access?.id ?? '', { expiresAt: '2027-02-01T00:00:00Z' }),
    ).rejects.toMatchObject(refused)
    expect(await catalogue.consumers.update(ACME, id, { name: 'Staff' })).toMatchObject({ name: 'Staff' })
  })
})
