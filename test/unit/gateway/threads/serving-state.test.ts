import { describe, expect, it } from 'vitest'
import type { RoutePlan } from '../../../../src/plan/route-plan.ts'
import { createInForce } from '../../../../src/gateway/threads/serving-state.ts'
import { createMemberships } from '../../../../src/gateway/threads/product-membership.ts'

const plan = (memberOfProductIds: readonly string[], revision = 1): RoutePlan => ({
  api: 'payments-v1',
  tenant: 'acme',
  revision,
  state: 'Active',
  backend: null,
  allowedScopes: [],
  memberOfProductIds,
  dialect: '3.1',
  components: {},
  responses: [],
  responseComponents: {},
  operations: [],
})

describe('what a thread that starts again is told', () => {
  it('is the newest of every word, and of revoked tokens those that have not expired', () => {
    let nowMs = 0
    const inForce = createInForce(() => nowMs)
    inForce.keys({ keys: [{ kid: 'a' }] })
    inForce.keys({ keys: [{ kid: 'b' }] })
    inForce.providers([])
    inForce.revoked({ jti: 'tok_1', untilMs: 10 })
    inForce.revoked({ jti: 'tok_2', untilMs: 20 })
    nowMs = 10

    expect(inForce.words()).toEqual([
      { type: 'keys', jwks: { keys: [{ kid: 'b' }] } },
      { type: 'providers', providers: [] },
      { type: 'revoked', tokens: [{ jti: 'tok_2', untilMs: 20 }] },
    ])
  })

  it('is the plan that serves, with what was said of its products since it was prepared', () => {
    const inForce = createInForce(() => 0)
    const products = () => [...inForce.plans()].map(({ plan: { memberOfProductIds } }) => memberOfProductIds)
    inForce.swap(plan(['prd_1']), [], inForce.now())
    inForce.membership('payments-v1', ['prd_2'])
    expect(products()).toEqual([['prd_2']])

    const since = inForce.now()
    inForce.membership('payments-v1', [])
    inForce.swap(plan(['prd_2'], 2), [], since)
    expect(products()).toEqual([[]])
    inForce.swap(plan(['prd_3'], 3), [], inForce.now())
    expect(products()).toEqual([['prd_3']])
  })
})

describe('of two words on the products of an API', () => {
  it('the later one holds, in every order, and each API has its own', () => {
    const memberships = createMemberships()
    const early = memberships.now()
    memberships.say('payments-v1', ['prd_1'])
    const between = memberships.now()
    memberships.say('orders-v1', ['prd_9'])

    expect(memberships.correct(plan([]), early).memberOfProductIds).toEqual(['prd_1'])
    expect(memberships.correct(plan([]), between).memberOfProductIds).toEqual([])
  })
})
