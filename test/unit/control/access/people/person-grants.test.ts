/** What people may do through a client without a subscription of its own, compared with a plain model over random people. */

import { describe, expect, it } from 'vitest'
import { newOwnConsumer } from '../../../../../src/control/access/own-consumer.ts'
import { approvedPlatformBody, tenantWrite } from '../../../../../src/control/access/platform-access.ts'
import { USER_KIND, userWrite, type RoleAssignment } from '../../../../../src/control/access/people/user-document.ts'
import { PLATFORM_API } from '../../../../../src/foundation/domain/platform-api.ts'
import { isOwnScope, wideScope } from '../../../../../src/foundation/domain/scope-width.ts'
import { toSharedClientGrant } from '../../../../../src/boundary/plan/grant.ts'
import { entitledTo, isSubscribed, scopesFor } from '../../../../../src/control/identity/access-token.ts'
import {
  SUBSCRIPTION_KIND,
  subscriptionWrite,
} from '../../../../../src/control/subscriptions/document/subscription-document.ts'
import { ACME, openTestCatalogue, publishApi, RIVAL } from '../../../../fixtures/test-catalogue.ts'
import { openTestPeople } from '../../../../fixtures/test-people.ts'
import { createRandom } from '../../../../random.ts'

const SCOPES = ['apis:read', 'apis:write', 'platform:admin', 'roles:write', 'usage:read', 'usage:read:own']
const CLIENT = toSharedClientGrant('acme', 'The tollgate command line')
const SEEDS = 500

/** Consumers of `acme`: one without subscriptions, one with all, one disabled, and that of the tenant. */
async function setUp() {
  const catalogue = openTestCatalogue()
  const { registry, createId, subscriptions, consumers } = catalogue
  const people = await openTestPeople(catalogue)
  const { consumer: all } = await publishApi(catalogue)
  const create = async (name: string) => (await consumers.create(ACME, { name, kind: 'application' })).id
  const [none, disabled] = [await create('None'), await create('Disabled')]
  const own = newOwnConsumer(createId, 'acme', SCOPES)
  const body = { name: 'acme', ownConsumer: own.id }
  await registry.commit(ACME, 'test', [...own.writes, tenantWrite('acme', 0, body)])
  for (const consumer of [all, disabled]) {
    const access = approvedPlatformBody(consumer, ['usage:read:own', 'apis:read'])
    await registry.commit(ACME, 'test', [subscriptionWrite(createId('sub'), 'acme', 0, access)])
    await subscriptions.create(ACME, { consumer, api: 'orders-v1', scopes: ['orders:read'] })
  }
  await consumers.disable(ACME, disabled)
  const user = createId('usr')
  const write = (revision: number, roles: readonly RoleAssignment[]) =>
    registry.commit(ACME, 'test', [
      userWrite(user, 'acme', revision, { username: 'ada', name: 'Ada', passwordHash: null, roles }),
    ])
  await write(0, [])
  return { ...people, registry, own: own.id, all, none, disabled, user, write }
}

const TARGETS = {
  [PLATFORM_API]: { tenant: 'acme', isShared: true, declared: SCOPES, allowed: SCOPES, productIds: [] },
  'orders-v1': { tenant: 'acme', declared: ['orders:read'], allowed: ['orders:read'], productIds: [] },
} as const
const HELD = {
  [PLATFORM_API]: { own: SCOPES, all: ['usage:read:own', 'apis:read'], none: ['usage:read:own'] },
  'orders-v1': { own: [], all: ['orders:read'], none: [] },
}

describe('a person at a client without a subscription', () => {
  it(`has only rights of the roles and of the first subscribed consumer, over ${SEEDS} seeds`, async () => {
    const { grantPerson, entitlements, registry, own, all, none, disabled, user, write } = await setUp()
    // The platform subscribes a consumer that has never been subscribed, if no other one of the person is.
    const ofPlatform = new Set([own, all])
    for (let seed = 1; seed <= SEEDS; seed++) {
      const random = createRandom(seed)
      const known = [all, none, disabled]
      const roles: RoleAssignment[] = ['owner', 'admin', 'auditor', 'billing', 'consumer']
        .filter(() => random.below(3) === 0)
        .sort(() => random.next() - 0.5)
        .map((role) => {
          const consumers = known.filter(() => random.below(3) === 0)
          return consumers.length === 0 ? { role } : { role, consumers }
        })
      await write((await registry.get(USER_KIND, user))?.revision ?? 0, roles)
      const acting = roles.length === 0 ? [own] : roles.flatMap(({ consumers }) => consumers ?? [own])
      for (const api of [PLATFORM_API, 'orders-v1'] as const) {
        const isPlatform = api === PLATFORM_API
        const subscribed = acting.find((consumer) => (isPlatform ? ofPlatform.has(consumer) : consumer === all))
        const expected = subscribed ?? acting.find((consumer) => isPlatform && consumer === none)
        if (isPlatform && expected !== undefined) ofPlatform.add(expected)
        const login = { client: CLIENT, tenant: 'acme', api, person: { id: user, epoch: 0 } }
        const granted = await grantPerson(login)
        if (granted === 'unsubscribed' || granted === null) {
          expect([granted, expected], `seed ${seed}`).toEqual(['unsubscribed', undefined])
          continue
        }
        const { grant, scopes } = granted
        expect([grant.consumer, grant.tenant, grant.type], `seed ${seed}`).toEqual([expected, 'acme', 'Shared'])
        expect(isSubscribed(grant, api, TARGETS[api])).toBe(true)
        const given = scopesFor(grant, entitledTo(TARGETS[api], scopes), null)
        const held: readonly string[] =
          expected === own ? HELD[api].own : expected === none ? HELD[api].none : HELD[api].all
        const entitled = await entitlements.ofRoles('acme', roles)
        // The own width is part of a scope for the tenant; it counts if the subscription has only the own one.
        const isIncluded = (scope: string) => entitled.scopes.has(wideScope(scope)) && !held.includes(wideScope(scope))
        const wanted = held.filter((scope) => api !== PLATFORM_API || entitled.scopes.has(scope) || isIncluded(scope))
        expect(given.toSorted(), `seed ${seed}`).toEqual(wanted.toSorted())
        const covers = given.filter(isOwnScope).every((scope) => entitled.consumers.has(scope) || isIncluded(scope))
        expect(api !== PLATFORM_API || covers, `seed ${seed}`).toBe(true)
      }
    }
  })

  it('has nothing in another tenant, or with an earlier epoch', async () => {
    const { grantPerson, user } = await setUp()
    const login = { client: CLIENT, tenant: 'acme', api: PLATFORM_API, person: { id: user, epoch: 0 } }
    expect(await grantPerson({ ...login, tenant: RIVAL.tenant })).toBeNull()
    expect(await grantPerson({ ...login, tenant: '' })).toBeNull()
    expect(await grantPerson({ ...login, person: { id: user, epoch: 1 } })).toBeNull()
    expect(await grantPerson(login)).not.toBeNull()
  })

  it('acts under no subscription that its provider has cancelled, and no new one is made', async () => {
    const { grantPerson, registry, none, user, write } = await setUp()
    await write(1, [{ role: 'consumer', consumers: [none] }])
    const login = { client: CLIENT, tenant: 'acme', api: PLATFORM_API, person: { id: user, epoch: 0 } }
    expect(await grantPerson(login)).toMatchObject({
      grant: { consumer: none, scopes: expect.arrayContaining(['me:read']) },
    })
    const where = { consumer: none, api: PLATFORM_API }
    const [made] = await registry.list(SUBSCRIPTION_KIND, { tenant: 'acme', where, limit: 9 })
    const body = { ...made!.body, actor: { ...made!.body.actor, value: 'Cancelled' } }
    await registry.commit(ACME, 'test', [subscriptionWrite(made!.id, 'acme', made!.revision, body)])
    expect(await grantPerson(login)).toBe('unsubscribed')
    expect(await registry.list(SUBSCRIPTION_KIND, { tenant: 'acme', where, limit: 9 })).toHaveLength(1)
  })
})
