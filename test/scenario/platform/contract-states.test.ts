/** Rules of the contract for the states and the compliance of APIs. */

import { describe, expect, it } from 'vitest'
import { publishApi } from '../../fixtures/published-api.ts'
import { openTestPlatform, PAYMENTS } from '../../fixtures/test-platform.ts'

describe('contract, states and compliance', () => {
  it('refuse a subscription to a deprecated API with 409, unless it is forced', async () => {
    const platform = await openTestPlatform()
    const token = platform.token('acme')
    const { consumer } = await publishApi(platform, token)
    const deprecation = { retirementDate: '2030-01-01T00:00:00Z' }
    await platform.send('POST', '/v1/apis/payments-v1/deprecate', { token, body: deprecation })
    const to = { consumer, api: 'payments-v1' }
    for (const body of [to, { ...to, force: false }]) {
      const answer = await platform.send('POST', '/v1/subscriptions', { token, body })
      const conflict = { code: 'state_conflict', state: 'Deprecated', allowed: ['force'] }
      expect(answer).toMatchObject({ status: 409, body: conflict })
    }
    expect((await platform.send('POST', '/v1/subscriptions', { token, body: { ...to, force: true } })).status).toBe(201)
  })

  it('show the compliance of an API that was deployed without a programme, and of one that is only staged', async () => {
    const platform = await openTestPlatform()
    const token = platform.token('acme')
    const { openApi } = await publishApi(platform, token)
    await platform.registry.commit({ tenant: 'acme', consumer: 'system' }, 'test.scored', [
      {
        kind: 'compliance',
        id: openApi,
        tenant: 'acme',
        expected: 0,
        body: { api: 'payments-v1', specification: openApi, revision: 1, score: 93.5, scoredAtMs: 0 },
        keys: { api: 'payments-v1' },
      },
    ])
    const scored = await platform.send('GET', '/v1/apis/payments-v1/compliance', { token })
    expect(scored).toMatchObject({
      status: 200,
      body: {
        score: 93.5,
        band: 'clean',
        specification: 93.5,
        runtime: 100,
        violations: [],
        history: [{ revision: 1 }],
      },
    })
    const specification = Buffer.from(PAYMENTS.toString().replace('title: Payments', 'title: Drafts')).toString(
      'base64',
    )
    const staged = await platform.send('POST', '/v1/proxies', { token, body: { api: 'drafts-v1', specification } })
    expect(staged.status, staged.text).toBe(201)
    const unscored = await platform.send('GET', '/v1/apis/drafts-v1/compliance', { token })
    expect(unscored).toMatchObject({ status: 200, body: { score: null, band: null, specification: null, history: [] } })
  })
})
