import { describe, expect, it } from 'vitest'
import type { RoutePlan } from '../../../../src/boundary/plan/route-plan.ts'
import { createProductMembership } from '../../../../src/gateway/threads/product-membership.ts'

const PLAN: RoutePlan = {
  api: 'payments-v1',
  tenant: 'acme',
  revision: 1,
  state: 'Active',
  backend: null,
  allowedScopes: [],
  memberOfProductIds: [],
  dialect: '3.1',
  components: {},
  responses: [],
  responseComponents: {},
  operations: [],
}

describe('product membership', () => {
  it('overrides a plan only if it was set after the plan was captured, for each API separately', () => {
    const membership = createProductMembership()
    const before = membership.version()
    membership.set('payments-v1', ['prd_1'])
    const after = membership.version()
    membership.set('orders-v1', ['prd_9'])

    expect(membership.apply(PLAN, before).memberOfProductIds).toEqual(['prd_1'])
    expect(membership.apply(PLAN, after).memberOfProductIds).toEqual([])
  })
})
