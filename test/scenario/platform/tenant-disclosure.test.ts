/** The information about the operator that a new tenant can read. */

import { expect, describe, it } from 'vitest'
import { platformScopes } from '../../../src/interfaces/platform/operations.ts'
import { openTestPlatform, type TestPlatform } from '../../fixtures/test-platform.ts'

async function openTenant(): Promise<{ platform: TestPlatform; token: string; tenant: string }> {
  const platform = await openTestPlatform()
  const operator = platform.token('default')
  const { status, body } = await platform.send('POST', '/v1/tenants', { token: operator, body: { name: 'Acme' } })
  expect(status).toBe(201)
  const tenant = String(body['id'])
  return { platform, tenant, token: platform.token(tenant) }
}

type Items = readonly { readonly actor: object; readonly action: string }[]

describe('a new tenant', () => {
  it('sees in its audit log that the operator created it, and none of the operator’s ids', async () => {
    const { platform, token } = await openTenant()
    const { body, text } = await platform.send('GET', '/v1/audit', { token })
    const items = body['items'] as Items
    expect(items.length).toBeGreaterThanOrEqual(4)
    expect(items.map(({ action, actor }) => [action, actor])).toEqual(
      items.map(() => ['tenant.create', { consumer: 'operator' }]),
    )
    expect(text).not.toMatch(/con_default|sub_default|crd_default|"default"/)
  })

  it('cannot confirm an id of the operator with a filter', async () => {
    const { platform, token } = await openTenant()
    const found = async (consumer: string) =>
      ((await platform.send('GET', `/v1/audit?consumer=${consumer}`, { token })).body['items'] as Items).length
    expect(await found('con_default')).toBe(0)
    expect(await found('operator')).toBeGreaterThanOrEqual(4)
  })

  it('sees its own changes under its own ids', async () => {
    const { platform, token, tenant } = await openTenant()
    await platform.send('POST', '/v1/consumers', { token, body: { name: 'Shop', kind: 'application' } })
    const { body } = await platform.send('GET', `/v1/audit?consumer=con_${tenant}`, { token })
    expect(body['items']).toMatchObject([{ action: 'consumer.create', actor: { consumer: `con_${tenant}` } }])
  })

  it('finds none of the operator’s ids in any answer', async () => {
    const { platform, token } = await openTenant()
    const document = JSON.parse((await platform.send('GET', '/openapi.json')).text) as {
      paths: Record<string, { get?: { security: readonly object[] } }>
    }
    const paths = Object.entries(document.paths)
      .filter(([path, { get }]) => get !== undefined && get.security.length > 0 && !path.includes('{'))
      .map(([path]) => path)
      .filter((path) => path !== '/v1/events/subscribe')
    expect(paths.length).toBeGreaterThan(15)
    for (const path of paths) {
      const answer = await platform.send('GET', path, { token })
      expect(answer.text + JSON.stringify(answer.headers), path).not.toMatch(/(?:con|sub|crd)_default/)
    }
    expect(platformScopes()).toContain('audit:read')
  })
})
