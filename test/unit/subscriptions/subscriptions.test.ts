import { describe, expect, it } from 'vitest'
import { createLimiter } from '../../../src/gateway/limits/limiter.ts'
import type { SubscriptionInput } from '../../../src/subscriptions/subscriptions.ts'
import { isApiKeyShaped } from '../../../src/plan/credential-format.ts'
import type { Problem } from '../../../src/domain/problem.ts'
import {
  ACME,
  base64,
  declaration,
  publishApi,
  NOW_MS,
  openTestCatalogue,
  orders,
  RIVAL,
  type TestCatalogue,
  OFFERED,
} from '../../fixtures/test-catalogue.ts'
import { CREDENTIAL_KIND } from '../../../src/access/credential-document.ts'

const DAY_MS = 86_400_000
const API = 'orders-v1'

async function subscribe(catalogue: TestCatalogue, more: Partial<SubscriptionInput> = {}) {
  const { consumer, proxy } = await publishApi(catalogue)
  const subscription = await catalogue.subscriptions.create(ACME, { consumer, api: API, ...more })
  const { items } = await catalogue.credentials.read(ACME, subscription.id)
  return { consumer, proxy, subscription, credentials: items }
}

async function notesOf(catalogue: TestCatalogue): Promise<string[]> {
  const changes: string[] = []
  catalogue.registry.watch(0, ({ document }) => changes.push(`${document.kind} ${JSON.stringify(document.body)}`))()
  return changes
}

function bytesIn(text: string): string {
  return base64(Buffer.from(text))
}

const HOME = 'https://app.example/back'

describe('a subscription', () => {
  it('is active at once, with a client and a key', async () => {
    const { subscription, consumer, credentials } = await subscribe(openTestCatalogue())

    expect(subscription).toEqual({
      id: expect.stringMatching(/^sub_/) as string,
      consumer,
      ApiId: API,
      ApiProductId: null,
      state: 'Active',
      slaVariant: null,
      scopes: ['orders:audit', 'orders:read', 'orders:write'],
      redirectUris: [],
      approvalFlow: null,
      recommendations: [],
      createdAt: '2027-01-15T12:00:00.000Z',
    })
    expect(credentials).toMatchObject([
      { type: 'OAuth2', clientId: expect.stringMatching(/^cli_/), apiKey: null, state: 'Active' },
      { type: 'ApiKey', clientId: null, clientSecret: null, state: 'Active' },
    ])
    for (const { scopes, expiresAt, ApiProductId } of credentials) {
      expect({ scopes, ApiProductId }).toEqual({ scopes: subscription.scopes, ApiProductId: null })
      expect(expiresAt).toBe('2028-01-15T12:00:00.000Z')
    }
    expect(isApiKeyShaped(credentials[1]?.apiKey ?? '')).toBe(true)
    expect(new Set(credentials.map(({ clientSecret, apiKey }) => clientSecret ?? apiKey)).size).toBe(2)
  })

  it('has no readable secret in the registry or its feed', async () => {
    const catalogue = openTestCatalogue()
    const { credentials } = await subscribe(catalogue)
    const secrets = credentials.flatMap(({ clientSecret, apiKey }) => [clientSecret ?? '', apiKey ?? ''])
    const stored = (await notesOf(catalogue)).join('\n')

    for (const secret of secrets.filter((text) => text !== '')) expect(stored).not.toContain(secret)
  })

  it('has one credential for each requested type', async () => {
    const { credentials } = await subscribe(openTestCatalogue(), {
      securityTypes: ['ApiKey', 'ApiKey'],
      scopes: ['orders:read'],
    })
    expect(credentials.map(({ type, scopes }) => [type, scopes])).toEqual([['ApiKey', ['orders:read']]])
  })

  it.each<[string, Partial<SubscriptionInput>, string]>([
    ['an API and a product', { product: 'prd_1' }, '/api'],
    ['a product that is not there', { api: undefined as never, product: 'prd_1' }, '/product'],
    ['no API', { api: undefined as never }, '/api'],
    ['an API that is not there', { api: 'none-v1' }, '/api'],
    ['a consumer that is not there', { consumer: 'con_none' }, '/consumer'],
    ['a scope that the API does not declare', { scopes: ['orders:read', 'other'] }, '/scopes/1'],
    ['a variant that is not declared', { slaVariant: 'gold' }, '/slaVariant'],
    ['a public client without an address', { securityTypes: ['PKCE'] as const }, '/redirectUris'],
    ['addresses that nobody is sent to', { securityTypes: ['ApiKey'] as const, redirectUris: [HOME] }, '/redirectUris'],
    ['a relative address', { redirectUris: [HOME, '/back'] }, '/redirectUris/1'],
    ['an address with a fragment', { redirectUris: [`${HOME}#top`] }, '/redirectUris/0'],
    ['an address with a password', { redirectUris: ['https://a:b@app.example/'] }, '/redirectUris/0'],
    ['an address with an empty user', { redirectUris: ['https://@app.example/'] }, '/redirectUris/0'],
    ['an address with a user of its own scheme', { redirectUris: ['com.example.app://@back'] }, '/redirectUris/0'],
    ['an address without its slashes', { redirectUris: ['https:app.example/back'] }, '/redirectUris/0'],
    ['an address with one slash', { redirectUris: ['https:/app.example/back'] }, '/redirectUris/0'],
    ['an address with three slashes', { redirectUris: ['https:///app.example/back'] }, '/redirectUris/0'],
    ['a loopback address without its slashes', { redirectUris: ['http:localhost/back'] }, '/redirectUris/0'],
    ['http to another machine', { redirectUris: ['http://app.example/back'] }, '/redirectUris/0'],
    ['a scheme that is anybody’s', { redirectUris: ['myapp:/back'] }, '/redirectUris/0'],
    ['a script', { redirectUris: ['javascript:alert(1)'] }, '/redirectUris/0'],
    ['a federated client without its name', { securityTypes: ['Federated'] as const }, '/federated'],
    ['a name without the kind', { federated: { issuer: 'https://idp.example', clientId: 'a' } }, '/federated'],
    [
      'an issuer that is not registered',
      { securityTypes: ['Federated'] as const, federated: { issuer: 'https://idp.example', clientId: 'a' } },
      '/federated/issuer',
    ],
  ])('is refused for %s, with a pointer, and nothing is created', async (_, more, pointer) => {
    const catalogue = openTestCatalogue()
    const { consumer } = await publishApi(catalogue)
    const input = { consumer, api: API, ...more }
    if (input.api === undefined) delete (input as { api?: string }).api

    const refused = catalogue.subscriptions.create(ACME, input)
    await expect(refused).rejects.toMatchObject({ status: 400, errors: [{ pointer }] })
    expect((await catalogue.subscriptions.list('acme', { limit: 9 })).items).toEqual([])
    expect(await catalogue.registry.list(CREDENTIAL_KIND, { limit: 9 })).toEqual([])
  })

  it('accepts neither the consumer nor the API of another tenant', async () => {
    const catalogue = openTestCatalogue()
    const { consumer } = await publishApi(catalogue)
    const own = await catalogue.consumers.create(RIVAL, { name: 'Rival', kind: 'agent' })
    const refusalOf = (input: SubscriptionInput): Promise<Problem> =>
      catalogue.subscriptions.create(RIVAL, input).then(
        () => Promise.reject(new Error('it was made')),
        (problem: Problem) => problem,
      )

    expect(await refusalOf({ consumer, api: API })).toMatchObject({ errors: [{ pointer: '/consumer' }] })
    expect(await refusalOf({ consumer: own.id, api: API })).toMatchObject({ errors: [{ pointer: '/api' }] })
  })

  it('is refused without an error for an API whose only revision was discarded', async () => {
    const catalogue = openTestCatalogue()
    const { id } = await catalogue.proxies.stage(ACME, { api: API, specification: base64(orders()) })
    await catalogue.proxies.discard(ACME, id)
    const consumer = await catalogue.consumers.create(ACME, { name: 'Shop', kind: 'application' })

    const refused = catalogue.subscriptions.create(ACME, { consumer: consumer.id, api: API })
    await expect(refused).rejects.toMatchObject({ status: 400, errors: [{ pointer: '/api' }] })
  })

  it('gets the scopes of the active revision, not of a staged one', async () => {
    const catalogue = openTestCatalogue()
    const { consumer } = await publishApi(catalogue)
    const specification = base64(orders({ operations: { ...OFFERED, other: [] } }))
    const { stagingRevision } = await catalogue.proxies.stage(ACME, { api: API, specification })
    expect(stagingRevision).toBe(2)

    const { scopes, id } = await catalogue.subscriptions.create(ACME, { consumer, api: API })
    expect(scopes).toContain('orders:read')
    const { items } = await catalogue.subscriptions.operations('acme', id)
    expect(items.map(({ operationId }) => operationId)).toEqual(['listOrders', 'createOrder'])
  })

  it('is listed by its fields, in the order of creation', async () => {
    const catalogue = openTestCatalogue()
    const { subscription, consumer } = await subscribe(catalogue)
    const other = await catalogue.consumers.create(ACME, { name: 'Agent', kind: 'agent' })
    const second = await catalogue.subscriptions.create(ACME, { consumer: other.id, api: API })
    await catalogue.subscriptions.cancel(ACME, second.id)
    const idsOf = async (query: object, tenant = 'acme'): Promise<string[]> =>
      (await catalogue.subscriptions.list(tenant, { limit: 9, ...query })).items.map(({ id }) => id)

    expect(await idsOf({})).toEqual([subscription.id, second.id])
    expect(await idsOf({ consumer })).toEqual([subscription.id])
    expect(await idsOf({ state: 'Cancelled' })).toEqual([second.id])
    expect(await idsOf({ api: API, state: 'Active' })).toEqual([subscription.id])
    expect(await idsOf({}, 'rival')).toEqual([])
  })
})

describe('the credentials of a subscription', () => {
  it('are expiring in their last 30 days, and then expired', async () => {
    const catalogue = openTestCatalogue()
    const { subscription } = await subscribe(catalogue)
    const stateAfter = async (days: number): Promise<unknown> => {
      catalogue.clock.nowMs = NOW_MS + days * DAY_MS
      const { items } = await catalogue.credentials.read(ACME, subscription.id)
      return [...new Set(items.map(({ state }) => state))]
    }

    expect(await stateAfter(334)).toEqual(['Active'])
    expect(await stateAfter(335)).toEqual(['Expiring'])
    expect(await stateAfter(365)).toEqual(['Expired'])
  })

  it('are read with an audit entry', async () => {
    const catalogue = openTestCatalogue()
    const { subscription } = await subscribe(catalogue)
    const notes: unknown[] = []
    const { audit } = catalogue.registry
    catalogue.registry.audit = async (author, action, of) => {
      notes.push([author, action, of.id])
      await audit(author, action, of)
    }
    await catalogue.credentials.read(ACME, subscription.id)

    expect(notes).toEqual([[ACME, 'credentials.read', subscription.id]])
  })

  it('are not returned if the audit entry cannot be written', async () => {
    const catalogue = openTestCatalogue()
    const { subscription } = await subscribe(catalogue)
    catalogue.registry.audit = async () => {
      throw new Error('disk full')
    }

    await expect(catalogue.credentials.read(ACME, subscription.id)).rejects.toThrow('disk full')
  })
})

describe('the end of', () => {
  it('a subscription is on disk first, then on every thread, then returned', async () => {
    const catalogue = openTestCatalogue()
    const { subscription, credentials } = await subscribe(catalogue)
    const states: string[] = []
    catalogue.gateway.onGrant = async () => {
      states.push((await catalogue.subscriptions.get('acme', subscription.id)).state)
    }
    const cancelled = await catalogue.subscriptions.cancel(ACME, subscription.id)

    expect(cancelled.state).toBe('Cancelled')
    expect(states).toEqual(['Cancelled', 'Cancelled'])
    expect(catalogue.gateway.grants.map(({ credential, valid }) => [credential, valid])).toEqual(
      credentials.map(({ id }) => [id, false]),
    )
  })

  it('a subscription happens once; the second time returns 409 with the state', async () => {
    const catalogue = openTestCatalogue()
    const { subscription } = await subscribe(catalogue)
    await catalogue.subscriptions.cancel(ACME, subscription.id)

    await expect(catalogue.subscriptions.cancel(ACME, subscription.id)).rejects.toMatchObject({
      status: 409,
      code: 'state_conflict',
      extensions: { state: 'Cancelled', allowed: [] },
    })
  })

  it('a credential has reached every thread before the command returns; the other credential stays', async () => {
    const catalogue = openTestCatalogue()
    const { subscription, credentials } = await subscribe(catalogue)
    const [client, key] = credentials.map(({ id }) => id)
    const acknowledged = Promise.withResolvers<void>()
    const told = Promise.withResolvers<void>()
    catalogue.gateway.onGrant = async () => {
      told.resolve()
      await acknowledged.promise
    }
    let isAnswered = false
    const revoked = catalogue.credentials
      .revoke(ACME, subscription.id, client ?? '')
      .then(() => void (isAnswered = true))
    await told.promise
    expect(isAnswered).toBe(false)
    acknowledged.resolve()
    await revoked

    const now = new Map(catalogue.gateway.grants.map(({ credential, valid }) => [credential, valid]))
    expect(now.get(client ?? '')).toBe(false)
    expect(now.get(key ?? '')).toBe(true)
    const { items } = await catalogue.credentials.read(ACME, subscription.id)
    expect(items.map(({ state }) => state)).toEqual(['Revoked', 'Active'])
  })

  it('a credential holds if a thread did not acknowledge it, and can be repeated', async () => {
    const catalogue = openTestCatalogue()
    const { subscription, credentials } = await subscribe(catalogue)
    const id = credentials[0]?.id ?? ''
    catalogue.gateway.onGrant = async () => {
      throw new Error('no acknowledgement')
    }
    await expect(catalogue.credentials.revoke(ACME, subscription.id, id)).rejects.toThrow('no acknowledgement')
    catalogue.gateway.onGrant = async () => {}
    await catalogue.credentials.revoke(ACME, subscription.id, id)

    expect(catalogue.gateway.grants.find(({ credential }) => credential === id)?.valid).toBe(false)
  })

  it('a subscription of another tenant, or a credential of another subscription, returns 404', async () => {
    const catalogue = openTestCatalogue()
    const { subscription, credentials, consumer } = await subscribe(catalogue)
    const other = await catalogue.subscriptions.create(ACME, { consumer, api: API })
    const { subscriptions } = catalogue
    const credential = credentials[0]?.id ?? ''
    catalogue.gateway.grants.length = 0

    const missing = { status: 404, code: 'not_found' }
    await expect(subscriptions.cancel(RIVAL, subscription.id)).rejects.toMatchObject(missing)
    await expect(catalogue.credentials.read(RIVAL, subscription.id)).rejects.toMatchObject(missing)
    await expect(subscriptions.operations('rival', subscription.id)).rejects.toMatchObject(missing)
    await expect(catalogue.credentials.revoke(RIVAL, subscription.id, credential)).rejects.toMatchObject(missing)
    await expect(catalogue.credentials.revoke(ACME, other.id, credential)).rejects.toMatchObject(missing)
    expect(catalogue.gateway.grants).toEqual([])
  })
})

it('a repeated cancellation reaches a thread that missed the first', async () => {
  const catalogue = openTestCatalogue()
  const { subscription } = await subscribe(catalogue)
  catalogue.gateway.onGrant = () => Promise.reject(new Error('a thread does not answer'))
  await expect(catalogue.subscriptions.cancel(ACME, subscription.id)).rejects.toThrow('a thread does not answer')
  catalogue.gateway.onGrant = async () => {}
  await expect(catalogue.subscriptions.cancel(ACME, subscription.id)).rejects.toMatchObject({ code: 'state_conflict' })
  expect(catalogue.gateway.grants.map(({ valid }) => valid)).toEqual([false, false])
})

describe('the operations of a subscription', () => {
  const operationsOf = async (
    catalogue: TestCatalogue,
    scopes: readonly string[],
    operations: Record<string, unknown>,
  ) => {
    const stage = {
      api: API,
      specification: base64(orders({ operations })),
      allowedScopes: ['orders:read', 'orders:write'],
    }
    const { id } = await catalogue.proxies.stage(ACME, stage)
    await catalogue.proxies.activate(ACME, id)
    const { id: consumer } = await catalogue.consumers.create(ACME, { name: 'Shop', kind: 'application' })
    const subscription = await catalogue.subscriptions.create(ACME, { consumer, api: API, scopes })
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
    const specification = bytesIn(`opensla: 1.0.0
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

describe('the recommendations of a subscription', () => {
  it('begin with the third breach in 30 days, and end with the subscription', async () => {
    const catalogue = openTestCatalogue()
    const { consumer } = await publishApi(catalogue)
    const { id } = await catalogue.subscriptions.create(ACME, { consumer, api: API })
    const shown = async () => (await catalogue.subscriptions.get('acme', id)).recommendations
    const times = [1, 2, 3].map((day) => NOW_MS - day * 86_400_000)

    catalogue.limits.breaches.set(id, times.slice(0, 2))
    expect(await shown()).toEqual([])
    catalogue.limits.breaches.set(id, times)
    expect(await shown()).toMatchObject([{ kind: 'TierChange', api: API, breaches: { length: 3 } }])
    const { items } = await catalogue.subscriptions.list('acme', { limit: 50 })
    expect(items.find((each) => each.id === id)?.recommendations).toEqual(await shown())
    expect((await catalogue.subscriptions.cancel(ACME, id)).recommendations).toEqual([])
  })

  it('of a product name the API', async () => {
    const catalogue = openTestCatalogue()
    const { consumer } = await publishApi(catalogue)
    const { id: product } = await catalogue.products.create(ACME, { name: 'Bundle', apis: [API] })
    const { id } = await catalogue.subscriptions.create(ACME, { consumer, product })
    catalogue.limits.breaches.set(id, [1, 2, 3])

    expect((await catalogue.subscriptions.get('acme', id)).recommendations).toMatchObject([{ api: API }])
  })
})
