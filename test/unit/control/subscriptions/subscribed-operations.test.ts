import { describe, expect, it } from 'vitest'
import { CREDENTIAL_KIND } from '../../../../src/control/access/credential-document.ts'
import { createLimiter } from '../../../../src/limits/limiter.ts'
import {
  ACME,
  base64,
  declaration,
  publishApi,
  NOW_MS,
  openTestCatalogue,
  orders,
  type TestCatalogue,
} from '../../../fixtures/test-catalogue.ts'

const API = 'orders-v1'

function encoded(text: string): string {
  return base64(Buffer.from(text))
}

describe('the operations of a subscription', () => {
  const operationsOf = async (
    catalogue: TestCatalogue,
    scopes: readonly string[],
    operations: Record<string, unknown>,
    securityTypes?: readonly ('OAuth2' | 'ApiKey')[],
  ) => {
    const stage = {
      api: API,
      specification: base64(orders({ operations })),
      allowedScopes: ['orders:read', 'orders:write'],
    }
    const { id } = await catalogue.proxies.stage(ACME, stage)
    await catalogue.proxies.activate(ACME, id)
    const { id: consumer } = await catalogue.consumers.create(ACME, { name: 'Shop', kind: 'application' })
    const subscription = await catalogue.subscriptions.create(ACME, {
      ...{ consumer, api: API, scopes },
      ...(securityTypes && { securityTypes }),
    })
    return (await catalogue.subscriptions.operations('acme', subscription.id)).items
  }

  it('are those that any security alternative grants, as at the gateway', async () => {
    const items = await operationsOf(openTestCatalogue(), ['orders:read', 'orders:audit'], {
      open: [],
      read: [{ oauth: ['orders:read'] }, { key: [] }],
      write: [{ oauth: ['orders:write'] }],
      either: [{ oauth: ['orders:write'] }, { oauth: ['orders:read'] }],
      both: [{ oauth: ['orders:read', 'orders:write'] }],
      notAllowed: [{ oauth: ['orders:audit'] }],
    })

    expect(items.map(({ operationId, scopes, security }) => [operationId, scopes, security])).toEqual([
      ['open', [], []],
      ['read', ['orders:read'], ['OAuth2', 'ApiKey']],
      ['either', ['orders:read'], ['OAuth2']],
    ])
  })

  it.each([
    [['ApiKey'], ['open', 'key', 'any']],
    [['OAuth2'], ['open', 'token', 'any']],
    [
      ['OAuth2', 'ApiKey'],
      ['open', 'token', 'key', 'any', 'both'],
    ],
  ] as const)('are those that credentials of the types %j open', async (types, expected) => {
    const documented = {
      open: [],
      token: [{ oauth: ['orders:read'] }],
      key: [{ key: [] }],
      any: [{ oauth: ['orders:read'] }, { key: [] }],
      both: [{ oauth: ['orders:read'], key: [] }],
    }
    const items = await operationsOf(openTestCatalogue(), ['orders:read'], documented, types)
    expect(items.map(({ operationId }) => operationId)).toEqual(expected)
    const kinds = new Set(items.flatMap(({ security }) => security))
    expect([...kinds].toSorted()).toEqual([...types].toSorted())
  })

  it('are those that its scopes open if it has no credential, because people use it by shared clients', async () => {
    const catalogue = openTestCatalogue()
    const { registry } = catalogue
    const { consumer } = await publishApi(catalogue)
    const { id } = await catalogue.subscriptions.create(ACME, { consumer, api: API })
    const own = await registry.list(CREDENTIAL_KIND, { where: { subscription: id }, limit: 9 })
    const removal = own.map(({ kind, id: each, tenant, revision }) => ({ kind, id: each, tenant, expected: revision }))
    await registry.commit(
      ACME,
      'test',
      removal.map((write) => ({ ...write, body: null })),
    )
    expect((await catalogue.subscriptions.operations('acme', id)).items).not.toEqual([])
  })

  it('are only the public ones after the last credential was revoked', async () => {
    const catalogue = openTestCatalogue()
    const { consumer } = await publishApi(catalogue)
    const { id } = await catalogue.subscriptions.create(ACME, { consumer, api: API, securityTypes: ['ApiKey'] })
    const [credential] = await catalogue.registry.list(CREDENTIAL_KIND, { where: { subscription: id }, limit: 1 })
    await catalogue.credentials.revoke(ACME, id, credential?.id ?? '')
    expect((await catalogue.subscriptions.operations('acme', id)).items).toEqual([])
  })

  it('have the limits of the subscribed variant', async () => {
    const catalogue = openTestCatalogue()
    const { consumer } = await publishApi(catalogue)
    for (const [variant, perMinute] of [['gold', 100] as const, ['plain', 5] as const]) {
      const specification = base64(declaration({ variant, perMinute }))
      await catalogue.specifications.createOpenSla(ACME, { api: API, specification })
    }
    const { id } = await catalogue.subscriptions.create(ACME, { consumer, api: API, slaVariant: 'gold' })
    const { items } = await catalogue.subscriptions.operations('acme', id)

    expect(items[0]).toMatchObject({ method: 'GET', path: '/listOrders', resourceUnits: 1 })
    expect(items[0]?.limits).toEqual([
      {
        name: 'all',
        kind: 'total',
        value: 100,
        per: 'minute',
        validity: [],
        appliesNow: true,
        remaining: 100,
        resetsAt: '2027-01-15T12:01:00.000Z',
      },
    ])
  })

  it('show the remaining calls, the definition that applies now, and the end of its window', async () => {
    const catalogue = openTestCatalogue()
    const { consumer } = await publishApi(catalogue)
    const specification = encoded(`opensla: 1.0.0
limits:
  - { name: noon, totals: { period: 9 }, concurrent: 0, validity: [{ start: '11:00', end: '12:30' }] }
  - { name: always, totals: { hour: 50 }, concurrent: 4 }
quotas: { period: Monthly, resourceUnits: 2.5 }`)
    await catalogue.specifications.createOpenSla(ACME, { api: API, specification })
    const { id } = await catalogue.subscriptions.create(ACME, { consumer, api: API })
    const [plan] = await catalogue.specifications.plansInForce(API, [])
    const limiter = createLimiter({ thread: 0, threads: 1 })
    const block = limiter.open(catalogue.limits.memory.blockFor(id, plan!)!)
    for (let call = 0; call < 2; call++) limiter.take(limiter.compile(plan!, ['open']), block, 0, NOW_MS)
    const first = async () => (await catalogue.subscriptions.operations('acme', id)).items[0]

    expect(await first()).toMatchObject({
      limits: [
        { name: 'noon', per: 'period', remaining: 7, appliesNow: true, resetsAt: '2027-01-15T12:30:00.000Z' },
        { name: 'noon', kind: 'concurrent', value: 0, remaining: null, appliesNow: true },
        { name: 'always', kind: 'concurrent', remaining: 4, appliesNow: false, resetsAt: null },
        { name: 'always', per: 'hour', remaining: 48, appliesNow: true, resetsAt: '2027-01-15T13:00:00.000Z' },
      ],
      quota: {
        period: 'Monthly',
        resourceUnits: 2.5,
        used: 2,
        remaining: 0.5,
        resetsAt: '2027-02-01T00:00:00.000Z',
      },
    })
    catalogue.clock.nowMs = NOW_MS + 1_800_000
    const validity = [{ start: '11:00:00', end: '12:30:00' }]
    expect((await first())?.limits.slice(1, 3)).toMatchObject([{ validity, appliesNow: false }, { appliesNow: true }])
  })
})
