import { describe, expect, it } from 'vitest'
import { packDocument, type PackedPlan } from '../../../../src/boundary/plan/packed-plan.ts'
import { createServingState } from '../../../../src/gateway/threads/serving-state.ts'

const plan = (memberOfProductIds: readonly string[], revision = 1): PackedPlan => ({
  api: 'payments-v1',
  tenant: 'acme',
  revision,
  state: 'Active',
  backend: null,
  allowedScopes: [],
  memberOfProductIds,
  document: packDocument({ dialect: '3.1', components: {}, responses: [], responseComponents: {}, operations: [] }),
})

describe('the serving state', () => {
  it('restores the last value of each setting, and the revoked tokens that have not expired', () => {
    let nowMs = 0
    const state = createServingState(() => nowMs)
    state.setKeys({ keys: [{ kid: 'a' }] })
    state.setKeys({ keys: [{ kid: 'b' }] })
    state.setProviders([])
    state.addRevokedToken({ jti: 'tok_1', untilMs: 10 })
    state.addRevokedToken({ jti: 'tok_2', untilMs: 20 })
    nowMs = 10

    expect(state.restoreCommands()).toEqual([
      { type: 'keys', jwks: { keys: [{ kid: 'b' }] } },
      { type: 'providers', providers: [] },
      { type: 'revoked', tokens: [{ jti: 'tok_2', untilMs: 20 }] },
      { type: 'revokedPeople', people: [] },
    ])
  })

  it('restores the gates that are not open, by target, until they open or their API is withdrawn', () => {
    const state = createServingState(() => 0)
    const shut = { mode: 'shut', retryAtMs: 9 } as const
    for (const [api, target] of [
      ['a-v1', 'one'],
      ['a-v1', 'two'],
      ['a-v10', 'one'],
    ] as const)
      state.setGate(api, `${api} http://${target}`, shut)
    const gates = (): readonly string[] =>
      state.restoreCommands().flatMap((command) => (command.type === 'gate' ? [command.key] : []))
    expect(gates()).toEqual(['a-v1 http://one', 'a-v1 http://two', 'a-v10 http://one'])
    state.setGate('a-v1', 'a-v1 http://one', { mode: 'open', retryAtMs: 0 })
    expect(gates()).toEqual(['a-v1 http://two', 'a-v10 http://one'])
    state.removePlan('a-v1')
    expect(gates()).toEqual(['a-v10 http://one'])
  })

  it('contains the current plan with the membership that was set after its preparation', () => {
    const state = createServingState(() => 0)
    const products = () => [...state.plans()].map(({ plan: { memberOfProductIds } }) => memberOfProductIds)
    state.setPlan(plan(['prd_1']), [], state.membershipVersion())
    state.setMembership('payments-v1', ['prd_2'])
    expect(products()).toEqual([['prd_2']])

    const capturedAt = state.membershipVersion()
    state.setMembership('payments-v1', [])
    state.setPlan(plan(['prd_2'], 2), [], capturedAt)
    expect(products()).toEqual([[]])
    state.setPlan(plan(['prd_3'], 3), [], state.membershipVersion())
    expect(products()).toEqual([['prd_3']])
  })
})
