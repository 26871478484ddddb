import { expect, it } from 'vitest'
import { migrateScopes } from '../../../../src/control/access/scope-migration.ts'
import { apiWrite } from '../../../../src/control/publishing/apis.ts'
import { ACME, openTestCatalogue, publishApi } from '../../../fixtures/test-catalogue.ts'

const EARLIER = ['apis:read', 'credentials:read', 'risks:read']
const LATER = [...EARLIER, 'credentials:reveal', 'requests:read']

async function setUp() {
  const catalogue = openTestCatalogue()
  const { consumer } = await publishApi(catalogue)
  const body = { title: 'Platform', major: 1, version: '1.0.0', state: 'Active', owner: 'system' } as const
  const rest = { complianceScore: null, programme: null, retirementDate: null, successor: null }
  const entry = apiWrite('platform-v1', 'acme', 0, { ...body, ...rest, ownScopes: LATER })
  await catalogue.registry.commit(ACME, 'test', [entry])
  const { registry, subscriptions, credentials } = catalogue
  const create = (scopes: readonly string[]) =>
    subscriptions.create(ACME, { consumer, api: 'platform-v1', securityTypes: ['OAuth2'], scopes })
  return {
    create,
    scopesOf: async (id: string) => [
      [...(await subscriptions.get('acme', id)).scopes].sort(),
      ...(await credentials.of('acme', id)).map((each) => [...each.body.scopes].sort()),
    ],
    migrate: (before: readonly string[]) => migrateScopes({ registry, author: ACME, before, after: LATER }),
  }
}

it('gives holders of a scope the new scopes that it included before, in subscriptions and credentials', async () => {
  const { create, scopesOf, migrate } = await setUp()
  const [both, risks, none] = [await create(EARLIER), await create(['risks:read']), await create(['apis:read'])]
  await migrate(EARLIER)
  expect(await scopesOf(both.id)).toEqual([LATER.toSorted(), LATER.toSorted()])
  expect(await scopesOf(risks.id)).toEqual([
    ['requests:read', 'risks:read'],
    ['requests:read', 'risks:read'],
  ])
  expect(await scopesOf(none.id)).toEqual([['apis:read'], ['apis:read']])
})

it('adds nothing once the new scopes are known, so that an operator can remove them', async () => {
  const { create, scopesOf, migrate } = await setUp()
  const { id } = await create(['risks:read'])
  await migrate(LATER)
  expect(await scopesOf(id)).toEqual([['risks:read'], ['risks:read']])
})
