/** `POST /v1/requests/explain`. */

import { describe, expect, it } from 'vitest'
import type { JudgedToken } from '../../../../src/boundary/plan/judged-token.ts'
import type { LoggedRequest, RequestQuery, RequestStore } from '../../../../src/storage/store/request-store.ts'
import { publishApi } from '../../../fixtures/published-api.ts'
import { OWN_SCOPES } from '../../../fixtures/three-consumers.ts'
import { NOW_MS, openTestPlatform, toGrant, type TestPlatform } from '../../../fixtures/test-platform.ts'

const PATH = '/v1/requests/explain'
const SECRET = 'eyJhbGciOiJFUzI1NiJ9.secret-of-the-token.c2ln'

function storeOf(...calls: Partial<LoggedRequest>[]): RequestStore & { readonly queries: RequestQuery[] } {
  const queries: RequestQuery[] = []
  const found = calls.map((changes) => ({ ...CALL, ...changes }))
  return {
    queries,
    insert: async () => {},
    async find(query) {
      queries.push(query)
      return found.filter(({ consumer, requestId }) => consumer === query.customer || requestId === query.requestId)
    },
  }
}

const CALL: Omit<LoggedRequest, 'tenant'> = {
  timeMs: NOW_MS - 1_000,
  api: 'payments-v1',
  operation: 'createPayment',
  requestId: '0123456789abcdef00000001',
  status: 401,
  outcome: 'credential_invalid',
  consumer: 'con_acme',
  consumerName: 'Shop',
  subscription: 'sub_1',
  agent: '',
  person: '',
  durationUs: 500,
  upstreamUs: 0,
  requestBytes: 0,
  responseBytes: 200,
  unitsMicro: 0,
  explanation: '',
  channel: 'http',
  revision: 3,
}

function judged(changes: Partial<JudgedToken> = {}, tenant = 'acme'): JudgedToken {
  const grant = { ...toGrant(tenant), consumer: `con_${tenant}`, api: 'payments-v1' }
  const access = { method: 'token', api: 'payments-v1', scopes: new Set(['payments:read']) } as const
  const caller = {
    grant,
    ...access,
    certificate: '',
    agent: '',
    person: 'usr_1',
    jti: 'tok_1',
    expiresAtMs: NOW_MS + 60_000,
  }
  return { state: 'Valid', refusal: null, caller, endsMs: NOW_MS + 60_000, ...changes }
}

const explain = (platform: TestPlatform, body: unknown, token = platform.token('acme')) =>
  platform.send('POST', PATH, { token, body })

describe('POST /v1/requests/explain', () => {
  it('answers 200 for a call as GET /v1/requests/{id} does', async () => {
    const platform = await openTestPlatform({ requests: storeOf({}) })
    const { status, body } = await explain(platform, { id: CALL.requestId })
    const { body: read } = await platform.send('GET', `/v1/requests/${CALL.requestId}`, {
      token: platform.token('acme'),
    })
    expect([status, body]).toEqual([200, { request: read, token: null, keys: [], refused: [] }])
  })

  it('answers 404 for a call that is not stored', async () => {
    const platform = await openTestPlatform()
    expect((await explain(platform, { id: 'none' })).status).toBe(404)
  })

  it('answers 200 for a refused token with its holder, the reason and the refused calls of its consumer', async () => {
    const refusal = { code: 'credential_invalid', detail: 'The credential has expired.' } as const
    const requests = storeOf({}, { consumer: 'con_other' })
    const judge = async () => judged({ state: 'Expired', refusal })
    const platform = await openTestPlatform({ requests, judge })
    const { body, text, headers } = await explain(platform, { token: SECRET })
    expect(body).toMatchObject({
      token: {
        state: 'Expired',
        refusal,
        holder: { consumer: 'con_acme', onBehalfOf: 'usr_1', scopes: ['payments:read'], tokenId: 'tok_1' },
      },
      refused: [{ requestId: CALL.requestId }],
    })
    expect(requests.queries).toMatchObject([{ tenant: 'acme', customer: 'con_acme', isRefused: true, limit: 20 }])
    expect(text).not.toContain(SECRET)
    expect(headers['cache-control']).toBe('no-store')
  })

  it('answers 200 for a valid token with what its API refuses of every call', async () => {
    const platform = await openTestPlatform({ judge: async () => judged() })
    expect((await explain(platform, { token: SECRET })).body).toMatchObject({
      token: { state: 'Valid', refusal: { code: 'not_found' } },
    })
    await publishApi(platform, platform.token('acme'))
    const { body } = await explain(platform, { token: SECRET })
    expect(body['token']).toMatchObject({ state: 'Valid', holder: { api: 'payments-v1' } })
    expect(JSON.stringify(body['token'])).toMatch(/"refusal":(?:null|\{"code":"operation_forbidden")/)
  })

  it('judges at the API of the request, in the tenant of the caller', async () => {
    const asked: unknown[] = []
    const judge = async (...of: unknown[]) => {
      asked.push(of)
      return judged()
    }
    const platform = await openTestPlatform({ judge })
    await explain(platform, { token: SECRET, api: 'orders-v1' })
    await explain(platform, { token: SECRET })
    expect(asked).toEqual([
      [SECRET, 'orders-v1', 'acme'],
      [SECRET, null, 'acme'],
    ])
  })

  it('says nothing of a token of another tenant, or of another consumer with the own width', async () => {
    const judge = async () => judged()
    const requests = storeOf({})
    const platform = await openTestPlatform({ judge, requests })
    const own = (consumer: string) => platform.token('acme', OWN_SCOPES, undefined, { consumer })
    for (const token of [platform.token('rival'), own('con_other')]) {
      const { status, body, text } = await explain(platform, { token: SECRET }, token)
      expect([status, body['refused']]).toEqual([200, []])
      expect(body['token']).toMatchObject({ state: 'Unknown', holder: null })
      expect(text).not.toMatch(/con_acme|usr_1|tok_1/)
    }
    expect(requests.queries).toEqual([])
    expect((await explain(platform, { token: SECRET }, own('con_acme'))).body).toMatchObject({
      token: { holder: { consumer: 'con_acme' } },
    })
  })

  it('answers 200 for the start of a key with its credential, never the key', async () => {
    const platform = await openTestPlatform()
    const admin = platform.token('acme')
    const { consumer, subscription } = await publishApi(platform, admin)
    const path = `/v1/subscriptions/${subscription}/credentials`
    const { body: listed } = await platform.send('GET', path, { token: admin })
    const { id, apiKey } = (listed['items'] as { id: string; apiKey: string | null }[]).find((each) => each.apiKey)!
    const keyPrefix = apiKey!.slice(0, 8)
    const active = await explain(platform, { keyPrefix })
    expect(active.body['keys']).toMatchObject([
      { id, type: 'ApiKey', keyPrefix, state: 'Active', consumer, subscription, api: 'payments-v1', refusal: null },
    ])
    expect(active.text).not.toContain(apiKey!.slice(0, 12))

    await platform.send('POST', `/v1/subscriptions/${subscription}/suspend`, { token: admin })
    expect((await explain(platform, { keyPrefix })).body['keys']).toMatchObject([
      { refusal: { code: 'subscription_required' } },
    ])
    await platform.send('DELETE', `${path}/${id}`, { token: admin })
    expect((await explain(platform, { keyPrefix })).body['keys']).toMatchObject([
      { state: 'Revoked', refusal: { code: 'credential_invalid' } },
    ])

    const stranger = platform.token('acme', OWN_SCOPES, undefined, { consumer: 'con_other' })
    for (const token of [platform.token('rival'), stranger])
      expect((await explain(platform, { keyPrefix }, token)).body).toMatchObject({ keys: [], refused: [] })
    const owner = platform.token('acme', OWN_SCOPES, undefined, { consumer })
    expect((await explain(platform, { keyPrefix }, owner)).body['keys']).toHaveLength(1)
  })

  it.each([
    {},
    { id: 'a', token: SECRET },
    { token: SECRET, keyPrefix: 'tg_abcde' },
    { id: 'a', api: 'payments-v1' },
    { keyPrefix: 'tg_abcdef' },
    { keyPrefix: 'tg_abcd%' },
    { keyPrefix: '' },
    { token: '' },
    { token: 'x'.repeat(12_289) },
    { token: [SECRET] },
    { token: SECRET, other: 1 },
  ])('answers 400 for %o, and repeats no token', async (body) => {
    const platform = await openTestPlatform()
    const { status, text } = await explain(platform, body)
    expect(status).toBe(400)
    expect(text).not.toContain('secret-of-the-token')
    expect(JSON.stringify(platform.calls)).not.toContain('secret-of-the-token')
  })

  it('answers 403 without the scope requests:read', async () => {
    const platform = await openTestPlatform()
    const token = platform.token('acme', ['risks:read', 'credentials:reveal'])
    expect((await explain(platform, { token: SECRET }, token)).status).toBe(403)
  })
})
