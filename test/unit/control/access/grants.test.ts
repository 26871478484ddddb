import { describe, expect, it } from 'vitest'
import { createGrants } from '../../../../src/control/access/grants.ts'
import type { Grant } from '../../../../src/boundary/plan/grant.ts'
import type { Registry } from '../../../../src/storage/store/registry.ts'
import { ACME, publishApi, openTestCatalogue, type TestCatalogue } from '../../../fixtures/test-catalogue.ts'

async function subscribe(catalogue: TestCatalogue, kind: 'application' | 'agent' = 'application') {
  await publishApi(catalogue)
  const consumer = await catalogue.consumers.create(ACME, { name: 'Shop', kind })
  const { id: subscription } = await catalogue.subscriptions.create(ACME, { consumer: consumer.id, api: 'orders-v1' })
  const [client, key] = (await catalogue.credentials.read(ACME, subscription)).items
  if (client === undefined || key === undefined) throw new Error('credentials are missing')
  return { consumer, subscription, client, key }
}

const grantForClient = (catalogue: TestCatalogue, clientId: string | null): Promise<Grant | null> =>
  catalogue.grants.resolve({ kind: 'client', clientId: clientId ?? '' })

describe('a grant', () => {
  it('describes the access of a credential, found by client id or by key hash', async () => {
    const catalogue = openTestCatalogue()
    const { consumer, subscription, client, key } = await subscribe(catalogue, 'agent')
    const common = {
      valid: true,
      active: true,
      tenant: 'acme',
      subscription,
      consumer: consumer.id,
      consumerName: 'Shop',
      consumerKind: 'agent',
      api: 'orders-v1',
      apiProductId: '',
      scopes: client.scopes,
      variant: '',
      expiresAtMs: Date.parse(client.expiresAt),
    }
    const hash = catalogue.vault.keyedHash(key.apiKey ?? '')

    expect(await grantForClient(catalogue, client.clientId)).toMatchObject({
      ...common,
      credential: client.id,
      type: 'OAuth2',
    })
    expect(await catalogue.grants.resolve({ kind: 'key', hash })).toMatchObject({
      ...common,
      credential: key.id,
      type: 'ApiKey',
    })
  })

  it('is not found for an empty id, an id of another kind, or an unhashed key', async () => {
    const catalogue = openTestCatalogue()
    const { client, key } = await subscribe(catalogue)

    expect(await grantForClient(catalogue, '')).toBeNull()
    expect(await grantForClient(catalogue, key.id)).toBeNull()
    expect(await catalogue.grants.resolve({ kind: 'key', hash: key.apiKey ?? '' })).toBeNull()
    expect(await catalogue.grants.resolve({ kind: 'key', hash: client.clientId ?? '' })).toBeNull()
    expect(await catalogue.grants.resolve({ kind: 'key', hash: '' })).toBeNull()
  })

  it('needs the same reads for an unknown client as for a known one, so that both take the same time', async () => {
    const catalogue = openTestCatalogue()
    const { client } = await subscribe(catalogue)
    const { registry } = catalogue
    let reads = 0
    const grants = createGrants({
      registry: {
        ...registry,
        get: (...args: Parameters<Registry['get']>) => {
          reads++
          return registry.get(...args)
        },
        find: (...args: Parameters<Registry['find']>) => {
          reads++
          return registry.find(...args)
        },
      } as Registry,
    })
    expect(await grants.clientFor(client.clientId ?? '')).not.toBeNull()
    const ofKnown = reads
    expect(await grants.clientFor('cli_unknown')).toBeNull()
    expect(reads).toBe(2 * ofKnown)
  })

  it('is returned together with the hash of the client secret for the token endpoint', async () => {
    const catalogue = openTestCatalogue()
    const { client } = await subscribe(catalogue)
    const found = await catalogue.grants.clientFor(client.clientId ?? '')

    expect(found?.secretHash).toBe(catalogue.vault.keyedHash(client.clientSecret ?? ''))
    expect(found?.grant.credential).toBe(client.id)
    expect(await catalogue.grants.clientFor('cli_none')).toBeNull()
  })

  it('gets a higher version with each change to its credential or subscription', async () => {
    const catalogue = openTestCatalogue()
    const { subscription, client } = await subscribe(catalogue)
    const read = async (): Promise<Grant> => {
      const grant = await grantForClient(catalogue, client.clientId)
      if (grant === null) throw new Error('the credential is gone')
      return grant
    }
    const first = await read()
    await catalogue.credentials.revoke(ACME, subscription, client.id)
    const revoked = await read()
    await catalogue.subscriptions.cancel(ACME, subscription)
    const cancelled = await read()

    expect([first, revoked, cancelled].map(({ valid, active }) => [valid, active])).toEqual([
      [true, true],
      [false, true],
      [false, false],
    ])
    expect(revoked.version).toBeGreaterThan(first.version)
    expect(cancelled.version).toBeGreaterThan(revoked.version)
    expect(revoked.subscriptionRevision).toBe(first.subscriptionRevision)
    expect(cancelled.subscriptionRevision).toBe(first.subscriptionRevision + 1)
  })

  it('sends its newest version to the gateway threads after concurrent changes', async () => {
    const catalogue = openTestCatalogue()
    const { subscription, client, key } = await subscribe(catalogue)
    await Promise.allSettled([
      catalogue.credentials.revoke(ACME, subscription, client.id),
      catalogue.subscriptions.cancel(ACME, subscription),
      catalogue.credentials.revoke(ACME, subscription, key.id),
    ])

    for (const { id, clientId } of [client, key]) {
      const sentGrants = catalogue.gateway.grants.filter(({ credential }) => credential === id)
      const newest = sentGrants.toSorted((a, b) => a.version - b.version).at(-1)
      expect(newest).toMatchObject({ valid: false, active: false })
      if (clientId !== null) expect(newest).toEqual(await grantForClient(catalogue, clientId))
    }
  })
})
