import { describe, expect, it } from 'vitest'
import { announceTenant } from '../../../../src/control/access/announced-grants.ts'
import type { Rotation } from '../../../../src/control/access/credentials.ts'
import { tenantWrite } from '../../../../src/control/access/platform-access.ts'
import { removeTenant } from '../../../../src/control/access/tenant-removal.ts'
import type { Grant } from '../../../../src/boundary/plan/grant.ts'
import { apiWrite } from '../../../../src/control/publishing/apis.ts'
import { ACME, publishApi, openTestCatalogue, RIVAL, type TestCatalogue } from '../../../fixtures/test-catalogue.ts'

const API = 'orders-v1'
const DAY_MS = 86_400_000
const CERTIFICATE = '47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU'

async function subscribe(catalogue: TestCatalogue) {
  const { consumer } = await publishApi(catalogue)
  const subscription = await catalogue.subscriptions.create(ACME, { consumer, api: API })
  return { consumer, id: subscription.id }
}

const statesOf = async (catalogue: TestCatalogue, id: string) =>
  (await catalogue.credentials.read(ACME, id)).items.map(({ type, state }) => `${type} ${state}`)

describe('what the threads get', () => {
  it('after the revocation of a credential is its grant alone', async () => {
    const catalogue = openTestCatalogue()
    const { id } = await subscribe(catalogue)
    for (let times = 0; times < 3; times++) await catalogue.credentials.rotate(ACME, id)
    const [, key] = (await catalogue.credentials.read(ACME, id)).items
    catalogue.gateway.calls.length = 0
    await catalogue.credentials.revoke(ACME, id, key!.id)
    expect(catalogue.gateway.calls).toEqual([`grants ${key!.id}`])
    expect(catalogue.gateway.grants.at(-1)).toMatchObject({ credential: key!.id, valid: false })
  })

  it('after a change of a consumer is one command for all of its subscriptions', async () => {
    const catalogue = openTestCatalogue()
    const { id, consumer } = await subscribe(catalogue)
    const other = await catalogue.subscriptions.create(ACME, { consumer, api: API })
    catalogue.gateway.calls.length = catalogue.gateway.grants.length = 0
    await catalogue.consumers.disable(ACME, consumer)
    expect(catalogue.gateway.calls).toHaveLength(1)
    const granted = catalogue.gateway.grants.map(({ subscription, active }) => `${subscription} ${active}`)
    expect(new Set(granted)).toEqual(new Set([`${id} false`, `${other.id} false`]))
    expect(granted).toHaveLength(6)
  })

  it('after a change of a tenant is one command for all of its subscriptions', async () => {
    const catalogue = openTestCatalogue()
    const { id, consumer } = await subscribe(catalogue)
    const other = await catalogue.subscriptions.create(ACME, { consumer, api: API })
    catalogue.gateway.calls.length = catalogue.gateway.grants.length = 0
    await announceTenant(catalogue, 'acme')
    expect(catalogue.gateway.calls).toHaveLength(1)
    expect(new Set(catalogue.gateway.grants.map(({ subscription }) => subscription))).toEqual(new Set([id, other.id]))
  })

  it('before the removal of a tenant is one command, which refuses all of its credentials', async () => {
    const catalogue = openTestCatalogue()
    const { consumer } = await subscribe(catalogue)
    await catalogue.subscriptions.create(ACME, { consumer, api: API })
    const body = { name: 'Acme', isDisabled: true, exportedAtMs: catalogue.clock.nowMs } as const
    await catalogue.registry.commit(ACME, 'test', [tenantWrite('acme', 0, body)])
    catalogue.gateway.calls.length = catalogue.gateway.grants.length = 0
    await removeTenant({ ...catalogue, lastUses: { remove: async () => {} } }, ACME, 'acme')
    expect(catalogue.gateway.calls.filter((call) => call.startsWith('grants'))).toHaveLength(1)
    expect(catalogue.gateway.grants.map(({ valid }) => valid)).toEqual(Array<boolean>(6).fill(false))
  })
})

describe('a rotation of credentials', () => {
  it('creates a new credential of each type; the old ones expire after the overlap, on every thread', async () => {
    const catalogue = openTestCatalogue()
    const { id } = await subscribe(catalogue)
    const before = (await catalogue.credentials.read(ACME, id)).items
    catalogue.gateway.grants.length = 0
    const made = await catalogue.credentials.rotate(ACME, id, { overlapSeconds: 60 })

    expect(made).toMatchObject({ type: 'OAuth2', state: 'Active' })
    expect(made.items.map(({ type }) => type)).toEqual(['OAuth2', 'ApiKey'])
    expect(before.map(({ id: old }) => old)).not.toContain(made.id)
    const ends = new Map(catalogue.gateway.grants.map(({ credential, expiresAtMs }) => [credential, expiresAtMs]))
    for (const { id: old } of before) expect(ends.get(old)).toBe(catalogue.clock.nowMs + 60_000)
    catalogue.clock.nowMs += 60_000
    expect(await statesOf(catalogue, id)).toEqual([
      'OAuth2 Expired',
      'ApiKey Expired',
      'OAuth2 Active',
      'ApiKey Active',
    ])
  })

  it('has an overlap of one day by default, and none if it is 0', async () => {
    const catalogue = openTestCatalogue()
    const { id } = await subscribe(catalogue)
    await catalogue.credentials.rotate(ACME, id)
    const endsMs = catalogue.gateway.grants.map(({ expiresAtMs }) => expiresAtMs - catalogue.clock.nowMs)
    expect(endsMs.slice(0, 2)).toEqual([DAY_MS, DAY_MS])
    catalogue.gateway.grants.length = 0
    await catalogue.credentials.rotate(ACME, id, { overlapSeconds: 0 })
    expect(catalogue.gateway.grants.filter(({ expiresAtMs }) => expiresAtMs === catalogue.clock.nowMs)).toHaveLength(2)
  })

  it('replaces neither replaced nor revoked credentials, and none of a cancelled subscription', async () => {
    const catalogue = openTestCatalogue()
    const { id } = await subscribe(catalogue)
    const [client, key] = (await catalogue.credentials.read(ACME, id)).items
    await catalogue.credentials.revoke(ACME, id, key?.id ?? '')
    expect((await catalogue.credentials.rotate(ACME, id)).items.map(({ type }) => type)).toEqual(['OAuth2'])
    expect((await catalogue.credentials.rotate(ACME, id)).items).toHaveLength(1)
    expect((await catalogue.credentials.read(ACME, id)).items).toHaveLength(4)
    expect(client?.type).toBe('OAuth2')

    await catalogue.subscriptions.cancel(ACME, id)
    await expect(catalogue.credentials.rotate(ACME, id)).rejects.toMatchObject({ status: 409, code: 'state_conflict' })
  })

  it('binds the new credentials to a certificate, keeps the binding by default, and ends it with null', async () => {
    const catalogue = openTestCatalogue()
    const { id } = await subscribe(catalogue)
    const boundOf = (grants: readonly Grant[]) => [...new Set(grants.map((grant) => grant.certificateThumbprint))]
    const rotate = async (rotation: Rotation = {}) => {
      const { items } = await catalogue.credentials.rotate(ACME, id, { overlapSeconds: 0, ...rotation })
      const ids = new Set(items.map((each) => each.id))
      const sent = catalogue.gateway.grants.filter(({ credential }) => ids.has(credential))
      expect(sent).toHaveLength(2)
      return [[...new Set(items.map(({ certificateThumbprint }) => certificateThumbprint))], boundOf(sent)]
    }
    expect(await rotate()).toEqual([[null], [undefined]])
    expect(await rotate({ certificateThumbprint: CERTIFICATE })).toEqual([[CERTIFICATE], [CERTIFICATE]])
    expect(await rotate()).toEqual([[CERTIFICATE], [CERTIFICATE]])
    expect(await rotate({ certificateThumbprint: null })).toEqual([[null], [undefined]])
  })

  it('is refused for a subscription that was rejected', async () => {
    const catalogue = openTestCatalogue()
    const { consumer } = await publishApi(catalogue)
    await catalogue.apiPolicies.put(ACME, API, { subscriptionApproval: 'Manual' })
    const { id, approvalFlow } = await catalogue.subscriptions.create(ACME, { consumer, api: API })
    const other = { tenant: 'acme', consumer: 'con_other' }
    await catalogue.approvals.decide(other, id, approvalFlow ?? '', { outcome: 'Rejected' })

    const refused = { status: 409, code: 'state_conflict', extensions: { state: 'Rejected', allowed: [] } }
    await expect(catalogue.credentials.rotate(ACME, id)).rejects.toMatchObject(refused)
  })

  it('returns 404 for the subscription of another tenant', async () => {
    const catalogue = openTestCatalogue()
    const { id } = await subscribe(catalogue)
    await expect(catalogue.credentials.rotate(RIVAL, id)).rejects.toMatchObject({ status: 404 })
  })
})

describe('a public client', () => {
  it('has a client id and no secret, and is found with its redirect URIs', async () => {
    const catalogue = openTestCatalogue()
    const { consumer } = await publishApi(catalogue)
    const redirectUris = ['https://app.example/back', 'com.example.app:/back', 'http://127.0.0.1:4000/']
    const { id } = await catalogue.subscriptions.create(ACME, {
      consumer,
      api: API,
      securityTypes: ['PKCE'],
      redirectUris,
    })
    const { items } = await catalogue.credentials.read(ACME, id)

    expect(items).toMatchObject([{ type: 'PKCE', clientSecret: null, apiKey: null }])
    expect(await catalogue.grants.clientFor(items[0]?.clientId ?? '')).toMatchObject({ secretHash: '', redirectUris })
  })
})

describe('the policy of an API', () => {
  it('leaves a subscription pending if it is Manual, and sets the lifetime of credentials', async () => {
    const catalogue = openTestCatalogue()
    const { consumer } = await publishApi(catalogue)
    const policy = { subscriptionApproval: 'Manual', credentialLifetimeDays: 10 } as const
    await catalogue.apiPolicies.put(ACME, API, policy)
    const { id, state } = await catalogue.subscriptions.create(ACME, { consumer, api: API })

    expect(state).toBe('Pending')
    const { items } = await catalogue.credentials.read(ACME, id)
    expect(items[0]?.expiresAt).toBe(new Date(catalogue.clock.nowMs + 10 * DAY_MS).toISOString())
    expect((await catalogue.grants.clientFor(items[0]?.clientId ?? ''))?.grant).toMatchObject({
      valid: true,
      active: false,
    })
  })

  it('is the default until it is set, is replaced as a whole, and is visible to its tenant only', async () => {
    const catalogue = openTestCatalogue()
    await publishApi(catalogue)
    const whole = {
      subscriptionApproval: 'Auto',
      exposure: 'Internal',
      tokenAlgorithm: 'ES256',
      credentialLifetimeDays: 365,
      mcp: false,
      cors: null,
    }
    expect(await catalogue.apiPolicies.get('acme', API)).toEqual(whole)
    await catalogue.apiPolicies.put(ACME, API, { tokenAlgorithm: 'RS256' })
    expect(await catalogue.apiPolicies.get('acme', API)).toEqual({ ...whole, tokenAlgorithm: 'RS256' })
    await catalogue.apiPolicies.put(ACME, API, { exposure: 'Public' })
    expect(await catalogue.apiPolicies.get('acme', API)).toEqual({ ...whole, exposure: 'Public' })
    await expect(catalogue.apiPolicies.get('rival', API)).rejects.toMatchObject({ status: 404 })
    await expect(catalogue.apiPolicies.put(RIVAL, API, {})).rejects.toMatchObject({ status: 404 })
  })
})

describe('the platform scopes that a caller can grant', () => {
  const held = new Set(['orders:read'])

  async function platformOf(catalogue: TestCatalogue): Promise<string> {
    const { consumer } = await publishApi(catalogue)
    const body = { title: 'Platform', major: 1, version: '1.0.0', state: 'Active', owner: 'system' } as const
    const rest = { complianceScore: null, programme: null, retirementDate: null, successor: null }
    const ownScopes = ['orders:read', 'orders:read:own', 'orders:write']
    const write = apiWrite('platform-v1', 'acme', 0, { ...body, ...rest, ownScopes })
    await catalogue.registry.commit(ACME, 'test', [write])
    return consumer
  }

  it('are those of its own token: by default, by name and by a later change', async () => {
    const catalogue = openTestCatalogue()
    const consumer = await platformOf(catalogue)
    const { subscriptions } = catalogue
    const own = await subscriptions.create(ACME, { consumer, api: 'platform-v1' }, held)
    expect(own.scopes).toEqual(['orders:read:own'])

    const forbidden = { status: 403, code: 'operation_forbidden' }
    const scopes = ['orders:read', 'orders:write']
    const more = subscriptions.create(ACME, { consumer, api: 'platform-v1', scopes }, held)
    await expect(more).rejects.toMatchObject(forbidden)
    await expect(subscriptions.setScopes(ACME, own.id, scopes, { held, isConsumer: false })).rejects.toMatchObject(
      forbidden,
    )
  })

  it('also bound the existing credentials that it can read and rotate', async () => {
    const catalogue = openTestCatalogue()
    const consumer = await platformOf(catalogue)
    const scopes = ['orders:read', 'orders:write']
    const { id } = await catalogue.subscriptions.create(ACME, { consumer, api: 'platform-v1', scopes })

    const forbidden = { status: 403, code: 'operation_forbidden' }
    const reader = { held, isRevealed: true }
    await expect(catalogue.credentials.read(ACME, id, reader)).rejects.toMatchObject(forbidden)
    await expect(catalogue.credentials.rotate(ACME, id, { overlapSeconds: 0 }, reader)).rejects.toMatchObject(forbidden)
    expect((await catalogue.credentials.read(ACME, id)).items).toHaveLength(2)
  })

  it('are never bound to a client certificate, which the port of the platform does not ask for', async () => {
    const catalogue = openTestCatalogue()
    const consumer = await platformOf(catalogue)
    const bound = { certificateThumbprint: CERTIFICATE }
    const refused = { status: 400, errors: [{ pointer: '/certificateThumbprint' }] }
    const { id } = await catalogue.subscriptions.create(ACME, { consumer, api: 'platform-v1' })
    await expect(catalogue.credentials.rotate(ACME, id, bound)).rejects.toMatchObject(refused)
    const input = { consumer, api: 'platform-v1', ...bound }
    await expect(catalogue.subscriptions.create(ACME, input)).rejects.toMatchObject(refused)
    expect((await catalogue.credentials.rotate(ACME, id, { certificateThumbprint: null })).items).toHaveLength(2)
  })
})

describe('the name and the labels of a credential', () => {
  it('are changed apart from each other, pass on to its replacement, and change nothing for the threads', async () => {
    const catalogue = openTestCatalogue()
    const { id } = await subscribe(catalogue)
    const [client, key] = (await catalogue.credentials.read(ACME, id)).items
    expect(key).toMatchObject({ name: null, labels: {}, lastUsedAt: null })
    const change = (body: object) => catalogue.credentials.update(ACME, id, key!.id, body)
    catalogue.gateway.calls.length = 0
    const named = await change({ name: 'Billing run' })
    expect(named).toEqual({ ...key!, name: 'Billing run', apiKey: null })
    expect(await change({ labels: { team: 'a' } })).toMatchObject({ name: 'Billing run', labels: { team: 'a' } })
    expect(catalogue.gateway.calls).toEqual([])

    const { items } = await catalogue.credentials.rotate(ACME, id)
    expect(items.map(({ type, name, labels }) => [type, name, labels])).toEqual([
      ['OAuth2', null, {}],
      ['ApiKey', 'Billing run', { team: 'a' }],
    ])
    expect(await change({ name: null })).toMatchObject({ name: null, labels: { team: 'a' } })
    expect((await catalogue.credentials.read(ACME, id)).items[0]).toMatchObject({ id: client!.id, name: null })
  })

  it('cannot be changed through another subscription or by another tenant', async () => {
    const catalogue = openTestCatalogue()
    const { id, consumer } = await subscribe(catalogue)
    const other = await catalogue.subscriptions.create(ACME, { consumer, api: API })
    const [client] = (await catalogue.credentials.read(ACME, id)).items
    const refused = { code: 'not_found' }
    await expect(catalogue.credentials.update(ACME, other.id, client!.id, { name: 'x' })).rejects.toMatchObject(refused)
    await expect(catalogue.credentials.update(RIVAL, id, client!.id, { name: 'x' })).rejects.toMatchObject(refused)
  })
})
