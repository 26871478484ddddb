import { randomBytes } from 'node:crypto'
import { expect, it } from 'vitest'
import { createFirstAdmin } from '../../../../src/control/access/first-admin.ts'
import { createTenants } from '../../../../src/control/access/tenants.ts'
import { createKeyedMutex } from '../../../../src/control/command/keyed-mutex.ts'
import { createOtherAdmin } from '../../../fixtures/other-admin.ts'
import { ACME, NOW_MS, openTestCatalogue } from '../../../fixtures/test-catalogue.ts'

const OLD = ['apis:read', 'apis:write', 'platform:admin']
const NEW = [...OLD, 'roles:read']

it('An admin of each tenant gets the scopes of a new version at the start, unless its scopes were reduced', async () => {
  const catalogue = openTestCatalogue()
  const { registry, vault, createId, gateway, grants } = catalogue
  const never = (): (() => void) => () => {}
  const clock = { nowMs: () => NOW_MS, after: never, every: never }
  const options = { registry, vault, createId, randomBytes, clock, gateway, mutex: createKeyedMutex() }
  const start = (scopes: readonly string[]) =>
    createFirstAdmin({ ...options, tenant: 'acme', chosen: null, scopes, gatewayUrl: 'https://gateway.example' })
  await start(OLD)
  const tenants = createTenants({ ...options, scopes: OLD, lastUses: { remove: async () => {} } })
  const whole = await tenants.create(ACME, { name: 'Whole' })
  const reduced = await tenants.create(ACME, { name: 'Reduced' })
  const clientOf = async ({ credential }: typeof whole) => grants.clientFor(credential.clientId)
  const subscription = (await clientOf(reduced))?.grant.subscription ?? ''
  await createOtherAdmin(catalogue, reduced.id, ['apis:read', 'apis:write'])
  await catalogue.subscriptions.setScopes({ tenant: reduced.id, consumer: 'x' }, subscription, ['apis:read'])
  const scopesOf = async () => [(await clientOf(whole))?.grant.scopes, (await clientOf(reduced))?.grant.scopes]

  await start(OLD)
  expect(await scopesOf()).toEqual([['apis:read', 'apis:write'], ['apis:read']])
  await start(NEW)
  expect(await scopesOf()).toEqual([['apis:read', 'apis:write', 'roles:read'], ['apis:read']])
  await start(NEW)
  expect(await scopesOf()).toEqual([['apis:read', 'apis:write', 'roles:read'], ['apis:read']])
})
