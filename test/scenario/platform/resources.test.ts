import { describe, expect, it } from 'vitest'
import { platformScopes } from '../../../src/interfaces/platform/operations.ts'
import type { Write } from '../../../src/storage/store/registry.ts'
import { publishApi } from '../../fixtures/published-api.ts'
import { BASE_URL, openTestPlatform, PAYMENTS, PAYMENTS_SLA } from '../../fixtures/test-platform.ts'

describe('the platform API', () => {
  it('answers 201 with the address of the new resource, which then reads the same', async () => {
    const platform = await openTestPlatform()
    const token = platform.token('acme')
    const body = { name: 'Shöp ✓', kind: 'agent', contact: 'ops@acme.example' }
    const made = await platform.send('POST', '/v1/consumers', { token, body })

    expect(made.status).toBe(201)
    expect(made.headers['location']).toBe(`${BASE_URL}/v1/consumers/${String(made.body['id'])}`)
    const read = await platform.send('GET', `/v1/consumers/${String(made.body['id'])}`, { token })
    expect(read.body).toEqual(made.body)
    expect(read.body).toMatchObject(body)
  })

  it('serves a proxy from staging over activation to its revisions', async () => {
    const platform = await openTestPlatform()
    const token = platform.token('acme')
    const { proxy } = await publishApi(platform, token)
    const staged = await platform.send('POST', '/v1/proxies', { token, body: { api: 'payments-v1', fromRevision: 1 } })
    expect(staged.body).toMatchObject({ id: proxy, activeRevision: 1, stagingRevision: 2, revision: 1 })

    expect((await platform.send('POST', `/v1/proxies/${proxy}/discard`, { token })).body['stagingRevision']).toBeNull()
    const again = await platform.send('POST', `/v1/proxies/${proxy}/activate`, { token, body: {} })
    expect(again).toMatchObject({ status: 409, body: { code: 'no_staging_revision' } })
    const revisions = await platform.send('GET', `/v1/proxies/${proxy}/revisions`, { token })
    expect((revisions.body['items'] as unknown[]).length).toBeGreaterThan(0)
    expect((await platform.send('GET', '/v1/apis/payments-v1', { token })).body).toMatchObject({ state: 'Active' })
  })

  it('returns documents byte for byte', async () => {
    const platform = await openTestPlatform()
    const token = platform.token('acme')
    const { openApi, openSla } = await publishApi(platform, token)

    const content = await platform.send('GET', `/v1/openapispecs/${openApi}/content`, { token })
    expect(content.bytes.equals(PAYMENTS)).toBe(true)
    expect(content.headers['content-type']).toBe('application/yaml')
    const declaration = await platform.send('GET', `/v1/openslaspecs/${openSla}/content`, { token })
    expect(declaration.bytes.equals(PAYMENTS_SLA)).toBe(true)
  })

  it('forbids caching of credentials, and refuses a second revocation', async () => {
    const platform = await openTestPlatform()
    const token = platform.token('acme')
    const { subscription, credential } = await publishApi(platform, token)
    const path = `/v1/subscriptions/${subscription}/credentials`

    const shown = await platform.send('GET', path, { token })
    expect(shown.headers['cache-control']).toBe('no-store')
    const types = (shown.body['items'] as { type: string }[]).map(({ type }) => type)
    expect(types.sort()).toEqual(['ApiKey', 'OAuth2'])
    expect((await platform.send('DELETE', `${path}/${credential}`, { token })).status).toBe(204)
    const after = (await platform.send('GET', path, { token })).body['items'] as { id: string; state: string }[]
    expect(after.find(({ id }) => id === credential)?.state).toBe('Revoked')
  })

  it('cancels a subscription once: the second time it answers 409 with the state and the allowed events', async () => {
    const platform = await openTestPlatform()
    const token = platform.token('acme')
    const { subscription } = await publishApi(platform, token)
    const path = `/v1/subscriptions/${subscription}`

    expect((await platform.send('GET', `${path}/operations`, { token })).status).toBe(200)
    expect((await platform.send('POST', `${path}/cancel`, { token })).body).toMatchObject({ state: 'Cancelled' })
    const again = await platform.send('POST', `${path}/cancel`, { token })
    expect(again).toMatchObject({ status: 409, body: { code: 'state_conflict', state: 'Cancelled', allowed: [] } })
  })

  it('lists the operations that a subscription to the platform may call', async () => {
    const platform = await openTestPlatform()
    const token = platform.token('acme')
    const { consumer } = await publishApi(platform, token)
    await platform.registry.commit({ tenant: 'acme', consumer: 'system' }, 'platform.start', [platformEntry()])
    const scopes = ['consumers:read', 'risks:read']
    const body = { consumer, api: 'platform-v1', scopes }
    const made = await platform.send('POST', '/v1/subscriptions', { token, body })
    const path = `/v1/subscriptions/${String(made.body['id'])}/operations`
    const operations = (await platform.send('GET', path, { token })).body['items'] as { operationId: string }[]
    expect(operations.map(({ operationId }) => operationId)).toEqual(
      expect.arrayContaining(['listConsumers', 'getConsumer', 'listRisks', 'subscribeToRisks', 'getHealth']),
    )
    expect(operations.map(({ operationId }) => operationId)).not.toContain('createConsumer')
  })

  it('reads a list page by page, each item once, and filters it by fields', async () => {
    const platform = await openTestPlatform()
    const token = platform.token('acme')
    for (let number = 0; number < 5; number++) {
      const kind = number % 2 === 0 ? 'agent' : 'application'
      await platform.send('POST', '/v1/consumers', { token, body: { name: `c${number}`, kind } })
    }
    const names: string[] = []
    for (let cursor = ''; ;) {
      const page = await platform.send('GET', `/v1/consumers?limit=2${cursor}`, { token })
      names.push(...(page.body['items'] as { name: string }[]).map(({ name }) => name))
      if (page.body['next'] === null) break
      cursor = `&cursor=${String(page.body['next'])}`
    }
    expect(names).toEqual(['c0', 'c1', 'c2', 'c3', 'c4'])
    const agents = await platform.send('GET', '/v1/consumers?kind=agent', { token })
    expect(agents.body['items']).toHaveLength(3)
  })
})

function platformEntry(): Write {
  const body = { title: 'Platform', major: 1, version: '1.0.0', state: 'Active', ownScopes: platformScopes() }
  return { kind: 'api', id: 'platform-v1', tenant: 'acme', expected: 0, body, keys: { state: 'Active' } }
}
