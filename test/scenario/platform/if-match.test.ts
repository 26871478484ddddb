/** `If-Match` for changes whose resource has another address than the change, or is one of a list. */

import { describe, expect, it } from 'vitest'
import { settled } from '../../fixtures/created-resources.ts'
import { publishApi } from '../../fixtures/published-api.ts'
import { riskEvent } from '../../fixtures/risk-event.ts'
import { NOW_MS, openTestPlatform } from '../../fixtures/test-platform.ts'

async function setUp() {
  const platform = await openTestPlatform()
  const token = platform.token('acme')
  const send = (method: string, path: string, body?: unknown, headers = {}) =>
    platform.send(method, path, { token, headers, ...(body !== undefined && { body }) })
  const system = { tenant: 'system', consumer: 'system' }
  const tenant = { kind: 'tenant', id: 'acme', tenant: 'acme', expected: 0, body: { name: 'Acme' }, keys: {} }
  await platform.registry.commit(system, 'test', [tenant])
  const { subscription, receiver, proxy, flow, waiting, credential } = await publishApi(platform, token)
  const { body: user } = await send('POST', '/v1/users', { username: 'ada', name: 'Ada' })
  const event = riskEvent()
  platform.risks.positions.push({ event, state: 'open' })
  const until = new Date(NOW_MS + 60_000).toISOString()
  const { body: mute } = await send('POST', `/v1/risks/${event.riskId}/mutes`, { until, reason: 'Known' })
  const broken = { name: 'Broken', specification: Buffer.from('openapi: 3.1.0').toString('base64') }
  const programme = String((await send('POST', '/v1/programmes', broken)).body['id'])
  await settled(platform, token, programme)
  return {
    ...{ send, platform },
    ids: {
      ...{ subscription, receiver, flow, waiting, credential, proxy, programme, event: event.riskId },
      ...{ user: String(user['id']), mute: String(mute['id']) },
    },
  }
}

const CREDENTIALS = '/v1/subscriptions/$subscription/credentials'
const LISTED = `${CREDENTIALS}?reveal=false&limit=500`
const FLOW = '/v1/subscriptions/$waiting/approvalFlows/$flow'
const TIER = { slaVariant: 'none' }

/** The read, the change, its body, and the status with the current ETag. */
const CHANGES = [
  ['/v1/approvals/$flow', 'PATCH /v1/approvals/$flow', { labels: { team: 'a' } }, 200],
  [FLOW, 'PATCH /v1/approvals/$flow', { labels: { team: 'a' } }, 200],
  [FLOW, `POST ${FLOW}/approvals`, { outcome: 'Approved' }, 403],
  ['/v1/portal', 'PATCH /v1/portal', { name: 'Acme' }, 200],
  ['/v1/eventsubscriptions/$receiver', 'POST /v1/eventsubscriptions/$receiver/rotateSecret', undefined, 200],
  [LISTED, `POST ${CREDENTIALS}/rotate`, {}, 200],
  [LISTED, `DELETE ${CREDENTIALS}/$credential`, undefined, 204],
  [LISTED, `PATCH ${CREDENTIALS}/$credential`, { name: 'Billing' }, 200],
  ['/v1/subscriptions/$subscription', 'POST /v1/subscriptions/$subscription/tierChanges', TIER, 400],
  ['/v1/risks/$event/mutes/$mute', 'DELETE /v1/risks/$event/mutes/$mute', undefined, 204],
  ['/v1/proxies/$proxy', 'POST /v1/proxies', { api: 'payments-v1', fromRevision: 1 }, 201],
  ['/v1/programmes/$programme', 'POST /v1/programmes/$programme/retry', undefined, 202],
  ['/v1/users/$user', 'POST /v1/users/$user/invite', undefined, 200],
  ['/v1/users/$user', 'POST /v1/users/$user/resetPassword', undefined, 200],
  ['/v1/users/$user/sessions', 'DELETE /v1/users/$user/sessions', undefined, 204],
] as const

describe('a change with `If-Match`', () => {
  it.each(CHANGES)('with the ETag of GET %s: %s', async (read, change, body, status) => {
    const { send, ids } = await setUp()
    const fill = (text: string) => text.replace(/\$(\w+)/g, (_, name: keyof typeof ids) => ids[name])
    const [method = '', path = ''] = fill(change).split(' ')
    const before = await send('GET', fill(read))
    expect(before.status, before.text).toBe(200)

    const stale = await send(method, path, body, { 'if-match': '"stale"' })
    expect(stale).toMatchObject({ status: 412, body: { code: 'version_conflict' } })
    expect((await send('GET', fill(read))).text).toBe(before.text)
    const made = await send(method, path, body, { 'if-match': before.headers['etag'] ?? '' })
    expect(made.status, made.text).toBe(status)
  })

  it('matches after the credential was used, because its last use is no part of the ETag', async () => {
    const { send, ids, platform } = await setUp()
    const path = `/v1/subscriptions/${ids.subscription}/credentials`
    const read = () => send('GET', `${path}?reveal=false&limit=500`)
    const before = await read()
    platform.lastUses.note([ids.credential])
    const after = await read()
    expect(after.text).not.toBe(before.text)
    const etag = String(before.headers['etag'])
    expect(after.headers['etag']).toBe(etag)
    // A client that keeps the answer gets the new time.
    const known = await send('GET', `${path}?reveal=false&limit=500`, undefined, { 'if-none-match': etag })
    expect(known).toMatchObject({ status: 200, text: after.text })

    const change = (name: string) => send('PATCH', `${path}/${ids.credential}`, { name }, { 'if-match': etag })
    expect((await change('"lastUsedAt":null')).status).toBe(200)
    expect((await read()).headers['etag']).not.toBe(etag)
    expect((await change('Second')).status).toBe(412)
  })

  it('is refused with 412 if the resource does not exist yet', async () => {
    const { send } = await setUp()
    const body = { api: 'none-v1', specification: 'YQ==' }
    expect((await send('POST', '/v1/proxies', body, { 'if-match': '*' })).status).toBe(412)
  })
})
