/** `GET /v1/requests/{id}`. */

import { describe, expect, it } from 'vitest'
import { toExplanationText, type Explanation } from '../../../../src/foundation/domain/explanation.ts'
import type { LoggedRequest, RequestQuery, RequestStore } from '../../../../src/storage/store/request-store.ts'
import { NOW_MS, openTestPlatform, type TestPlatform } from '../../../fixtures/test-platform.ts'

const ID = '0123456789abcdef00000001'

const request = (changes: Partial<LoggedRequest> = {}): LoggedRequest => ({
  timeMs: NOW_MS - 1_000,
  tenant: 'acme',
  api: 'payments-v1',
  operation: 'createPayment',
  requestId: ID,
  status: 429,
  outcome: 'rate_limited',
  consumer: 'con_1',
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
  ...changes,
})

/** A store with these calls. */
function storeOf(...calls: LoggedRequest[]): RequestStore & { readonly queries: RequestQuery[] } {
  const queries: RequestQuery[] = []
  return {
    queries,
    insert: async () => {},
    async find(query) {
      queries.push(query)
      return calls
        .filter(({ tenant, requestId }) => tenant === query.tenant && requestId === query.requestId)
        .map(({ tenant: _, ...call }) => call)
    },
  }
}

const get = (platform: TestPlatform, id = ID, tenant = 'acme') =>
  platform.send('GET', `/v1/requests/${id}`, { token: platform.token(tenant) })

describe('GET /v1/requests/{id}', () => {
  it('answers 200 with the limit that refused a call, and its state at that moment', async () => {
    const limit = {
      name: 'all minute',
      kind: 'total',
      limit: 5,
      used: 5,
      remaining: 0,
      window: 'minute',
      opensAt: '2027-01-15T12:01:00.000Z',
    } as const
    const explanation = toExplanationText({ detail: 'The limit "all minute" of 5 is reached.', limit })
    const platform = await openTestPlatform({ requests: storeOf(request({ explanation })) })
    expect((await get(platform)).body).toEqual({
      time: '2027-01-15T11:59:59.000Z',
      requestId: ID,
      api: 'payments-v1',
      operation: 'createPayment',
      status: 429,
      outcome: 'rate_limited',
      customer: 'con_1',
      customerName: 'Shop',
      subscription: 'sub_1',
      agent: '',
      onBehalfOf: '',
      durationMs: 0.5,
      upstreamMs: 0,
      requestBytes: 0,
      responseBytes: 200,
      resourceUnits: 0,
      channel: 'http',
      revision: 3,
      stage: 'limit',
      stages: [
        { stage: 'route', result: 'Passed' },
        { stage: 'authenticate', result: 'Passed' },
        { stage: 'authorise', result: 'Passed' },
        { stage: 'limit', result: 'Refused' },
        { stage: 'validate', result: 'NotReached' },
        { stage: 'forward', result: 'NotReached' },
        { stage: 'record', result: 'Passed' },
      ],
      detail: 'The limit "all minute" of 5 is reached.',
      errors: [],
      limit,
    })
  })

  it.each([
    ['not_found', 'route'],
    ['credential_invalid', 'authenticate'],
    ['operation_forbidden', 'authorise'],
    ['quota_exhausted', 'limit'],
    ['payload_invalid', 'validate'],
    ['upstream_timeout', 'forward'],
    ['unavailable', 'record'],
    ['served', null],
    ['client_aborted', null],
  ])(
    'answers 200 for %s with the stage %s, also for a call of a version without explanations',
    async (outcome, stage) => {
      const platform = await openTestPlatform({ requests: storeOf(request({ outcome })) })
      const { body } = await get(platform)
      expect(body).toMatchObject({ stage, errors: [], limit: null })
      expect(body['detail']).toMatch(/^[A-Z].+\.$/)
    },
  )

  it.each([
    ['served', 'Passed'],
    ['client_aborted', 'Passed'],
    ['internal', 'Unknown'],
  ])('answers 200 for %s with every stage %s', async (outcome, result) => {
    const platform = await openTestPlatform({ requests: storeOf(request({ outcome })) })
    const { body } = await get(platform)
    expect(new Set((body['stages'] as { result: string }[]).map((each) => each.result))).toEqual(new Set([result]))
  })

  it('answers 200 with the first validation errors, and the stage of a call that could not be served', async () => {
    const explained = (explanation: Explanation, outcome: string) =>
      request({ outcome, explanation: toExplanationText(explanation), requestId: outcome })
    const errors = [{ pointer: '/amount', detail: 'must be >= 1' }]
    const store = storeOf(
      explained({ detail: 'The body does not match its schema.', errors }, 'payload_invalid'),
      explained({ detail: 'The backend has too many calls waiting.', stage: 'forward' }, 'unavailable'),
    )
    const platform = await openTestPlatform({ requests: store })
    expect((await get(platform, 'payload_invalid')).body).toMatchObject({ stage: 'validate', errors })
    expect((await get(platform, 'unavailable')).body).toMatchObject({ stage: 'forward' })
  })

  it('answers 404 for a call of another tenant, as for an unknown call', async () => {
    const platform = await openTestPlatform({ requests: storeOf(request()) })
    const foreign = await get(platform, ID, 'rival')
    const unknown = await get(platform, 'f'.repeat(24))
    expect(foreign.status).toBe(404)
    expect({ ...foreign.body, requestId: '' }).toEqual({ ...unknown.body, requestId: '' })
  })

  it('answers 404 with the calls that are stored, and searches the last seven days', async () => {
    const requests = storeOf()
    const platform = await openTestPlatform({ requests })
    expect((await get(platform)).body['detail']).toMatch(
      /The log holds refused calls \(REQUEST_LOG=refused\) of the last 7 days/,
    )
    expect(requests.queries).toMatchObject([{ fromMs: NOW_MS - 7 * 86_400_000, tenant: 'acme' }])
    const all = await openTestPlatform({ requestLog: 'all' })
    expect((await get(all)).body['detail']).toMatch(/The log holds calls of the last 7 days/)
  })

  it('answers 404 if REQUEST_LOG is off, without a query to the store', async () => {
    const requests = storeOf(request())
    const platform = await openTestPlatform({ requestLog: 'off', requests })
    expect(await get(platform)).toMatchObject({ status: 404, body: { code: 'not_found' } })
    expect((await get(platform)).body['detail']).toMatch(/REQUEST_LOG is off/)
    expect(requests.queries).toEqual([])
  })

  it('answers 403 without the scope of the request log', async () => {
    const platform = await openTestPlatform({ requests: storeOf(request()) })
    const token = platform.token('acme', ['apis:read'])
    expect((await platform.send('GET', `/v1/requests/${ID}`, { token })).status).toBe(403)
  })
})
