import { describe, expect, it } from 'vitest'
import type { SubscriptionInput } from '../../../../src/control/subscriptions/subscriptions.ts'
import { isApiKeyShaped } from '../../../../src/boundary/plan/credential-format.ts'
import type { Problem } from '../../../../src/foundation/domain/problem.ts'
import {
  ACME,
  base64,
  publishApi,
  NOW_MS,
  openTestCatalogue,
  orders,
  RIVAL,
  type TestCatalogue,
  OFFERED,
} from '../../../fixtures/test-catalogue.ts'
import { CREDENTIAL_KIND } from '../../../../src/control/access/credential-document.ts'

const DAY_MS = 86_400_000
const API = 'orders-v1'

async function subscribe(catalogue: TestCatalogue, more: Partial<SubscriptionInput> = {}) {
  const { consumer, proxy } = await publishApi(catalogue)
  const subscription = await catalogue.subscriptions.create(ACME, { consumer, api: API, ...more })
  const { items } = await catalogue.credentials.read(ACME, subscription.id)
  return { consumer, proxy, subscription, credentials: items }
}

async function changesOf(catalogue: TestCatalogue): Promise<string[]> {
  const changes: string[] = []
  catalogue.registry.watch(0, ({ document }) => changes.push(`${document.kind} ${JSON.stringify(document.body)}`))()
  return changes
}

const HOME = 'https://app.example/back'

describe('a subscription', () => {
  it('is active immediately, with a client and a key', async () => {
    const { subscription, consumer, credentials } = await subscribe(openTestCatalogue())

    expect(subscription).toEqual({
      id: expect.stringMatching(/^sub_/) as string,
      consumer,
      consumerName: 'Shop',
      ApiId: API,
      ApiProductId: null,
      state: 'Active',
      slaVariant: null,
      scopes: ['orders:audit', 'orders:read', 'orders:write'],
      securityTypes: ['ApiKey', 'OAuth2'],
      federated: null,
      certificateThumbprints: [null],
      redirectUris: [],
      refreshTokens: false,
      approvalFlow: null,
      contact: null,
      expiresAt: null,
      labels: {},
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
    const stored = (await changesOf(catalogue)).join('\n')

    for (const secret of secrets.filter((text) => text !== '')) expect(stored).not.toContain(secret)
  })

  it('has one credential for each requested type', async () => {
    const { credentials } = await subscribe(openTestCatalogue(), {
      securityTypes: ['ApiKey', 'ApiKey'],
      scopes: ['orders:read'],
    })
    expect(credentials.map(({ type, scopes }) => [type, scopes])).toEqual([['ApiKey', ['orders:read']]])
  })

  it('has credentials that are bound to a client certificate if it names one', async () => {
    const certificateThumbprint = '47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU'
    const { credentials } = await subscribe(openTestCatalogue(), { certificateThumbprint })
    expect(credentials).toMatchObject([{ certificateThumbprint }, { certificateThumbprint }])
    const unbound = await subscribe(openTestCatalogue())
    expect(unbound.credentials).toMatchObject([{ certificateThumbprint: null }, { certificateThumbprint: null }])
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

  it('is refused with a problem for an API whose only revision was discarded', async () => {
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
