/** Which clients get refresh tokens: the provider decides by subscription, and a consumer cannot. */

import { describe, expect, it } from 'vitest'
import { platformScopes } from '../../../src/interfaces/platform/operations.ts'
import { publishApi } from '../../fixtures/published-api.ts'
import { openTestPlatform } from '../../fixtures/test-platform.ts'

const OWN_SCOPES = platformScopes().filter((scope) => scope.endsWith(':own'))
const LOGIN = { securityTypes: ['PKCE'], redirectUris: ['https://app.example/back'] }

async function setUp(more: object = LOGIN) {
  const platform = await openTestPlatform()
  const token = platform.token('acme')
  const send = (method: string, path: string, body?: unknown, by = token) =>
    platform.send(method, path, { token: by, ...(body !== undefined && { body }) })
  await publishApi(platform, token)
  const { body: consumer } = await send('POST', '/v1/consumers', { name: 'App', kind: 'application' })
  const made = await send('POST', '/v1/subscriptions', { consumer: consumer['id'], api: 'payments-v1', ...more })
  expect(made.status, made.text).toBe(201)
  const own = platform.token('acme', OWN_SCOPES, undefined, { consumer: String(consumer['id']) })
  return { send, own, made, path: `/v1/subscriptions/${String(made.body['id'])}` }
}

describe('refresh tokens of a subscription', () => {
  it('are off until the provider switches them on, which is audited', async () => {
    const { send, made, path } = await setUp()
    expect(made.body).toMatchObject({ refreshTokens: false })
    expect(await send('PATCH', path, { refreshTokens: true })).toMatchObject({ body: { refreshTokens: true } })
    expect(await send('PATCH', path, { contact: 'ops' })).toMatchObject({ body: { refreshTokens: true } })
    const { body } = await send('GET', `/v1/audit?id=${path.split('/').at(-1)}&action=subscription.update`)
    const entries = body['items'] as { after: object }[]
    expect(entries.map(({ after }) => after)).toMatchObject([{ contact: 'ops' }, { refreshTokens: true }])
    expect(await send('PATCH', path, { refreshTokens: false })).toMatchObject({ body: { refreshTokens: false } })
  })

  it('cannot be switched on by the consumer', async () => {
    const { send, own, path } = await setUp()
    const answer = await send('PATCH', path, { refreshTokens: true }, own)
    expect([answer.status, answer.body['code']]).toEqual([403, 'operation_forbidden'])
    const created = await send('POST', '/v1/subscriptions', { ...LOGIN, refreshTokens: true }, own)
    expect(created.status).toBe(400)
  })

  it('need clients that people sign in with', async () => {
    const { send, path } = await setUp({})
    const { status, body } = await send('PATCH', path, { refreshTokens: true })
    expect([status, body['errors']]).toMatchObject([400, [{ pointer: '/refreshTokens' }]])
  })
})
