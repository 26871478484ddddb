/** A canary on one thread: it is compiled, swapped in, changed, withheld and removed together with the active revision. */

import { describe, expect, it } from 'vitest'
import type { CompiledRevision } from '../../../../src/gateway/call/revision.ts'
import { createLimiter } from '../../../../src/limits/limiter.ts'
import { createServedRevisions } from '../../../../src/gateway/threads/served-revisions.ts'
import { createServingState } from '../../../../src/gateway/threads/serving-state.ts'
import {
  packDocument,
  toCanaryPlan,
  unpackedBytes,
  type PackedPlan,
} from '../../../../src/boundary/plan/packed-plan.ts'
import type { OperationPlan } from '../../../../src/boundary/plan/route-plan.ts'
import { systemClock } from '../../../../src/foundation/runtime/clock.ts'
import { planOf } from '../../../fixtures/test-limits.ts'

const API = 'orders-v1'
/** No engine matches it in linear time, so no thread compiles it. */
const BACKTRACKING = { type: 'string', pattern: '^(?=a)a$' }

const declare = (minute: number, variant = '') => ({
  ...planOf({ limits: [{ name: 'a', totals: { minute } }] }),
  api: API,
  variant,
})

function packed(revision: number, schema: object = { type: 'string' }, description = ''): PackedPlan {
  const operation = {
    operationId: `list${revision}`,
    method: 'GET',
    path: '/orders',
    security: [],
    parameters: [{ in: 'query', name: 'q', required: false, schema, style: 'form', explode: true }],
    body: null,
    responses: [],
  } as unknown as OperationPlan
  const components = { schemas: { Long: { description } } }
  return {
    api: API,
    tenant: 'acme',
    revision,
    state: 'Active',
    backend: { origin: `http://backend-${revision}`, basePath: '', timeoutMs: 1_000, mayBePrivate: true },
    allowedScopes: ['shared', `scope${revision}`],
    memberOfProductIds: ['prd_1'],
    document: packDocument({
      ...{ dialect: '3.1', components, responses: [], responseComponents: {} },
      operations: [operation],
    }),
  }
}

const withCanary = (canary = packed(2), active = packed(1)): PackedPlan => ({
  ...active,
  canary: { rule: { consumers: ['con_1'] }, plan: toCanaryPlan(canary) },
})

function open() {
  const withheld: string[] = []
  const gates = new Map<string, object>()
  const settings = { threads: 1, gatewayUrl: 'https://gateway.example', connect: (_: unknown, base: object) => base }
  const revisions = createServedRevisions({
    limiter: createLimiter({ thread: 0, threads: 1 }),
    settings,
    clock: systemClock,
    callsInFlight: () => 0,
    gates: {
      of: (key) => (gates.get(key) ?? gates.set(key, {}).get(key)!) as never,
      drop: (key) => void gates.delete(key),
    },
    onWithheld: (api) => withheld.push(api),
  })
  const both = (): { active: CompiledRevision; canary: CompiledRevision } => {
    const active = revisions.of(API)!
    return { active, canary: active.canary!.revision }
  }
  return { revisions, withheld, gates, both }
}

describe('a revision with a canary', () => {
  it('is swapped in with it: each with its own operations, scopes, backend and gate', async () => {
    const { revisions, gates, both } = open()
    await revisions.prepare(1, withCanary(), [declare(5)])
    expect(revisions.of(API)).toBeUndefined()
    revisions.swap(1, ['prd_2'])

    const { active, canary } = both()
    expect([active, canary].map(({ plan }) => plan.revision)).toEqual([1, 2])
    expect([active, canary].map(({ operations }) => operations[0]?.plan.operationId)).toEqual(['list1', 'list2'])
    expect([active, canary].map(({ backend }) => backend?.only?.plan.origin)).toEqual([
      'http://backend-1',
      'http://backend-2',
    ])
    expect([active, canary].map(({ plan }) => plan.memberOfProductIds)).toEqual([['prd_2'], ['prd_2']])
    expect(active.backend?.only?.gate).toBe(gates.get(`${API} http://backend-1`))
    expect(canary.backend?.only?.gate).toBe(gates.get(`${API} canary http://backend-2`))
    const { matches } = active.canary!
    expect(['con_1', 'con_2'].map((consumer) => matches({ consumer, subscription: 'sub_1' }))).toEqual([true, false])
    const scopes = ['shared', 'scope1', 'scope2']
    expect([active, canary].map(({ heldScopes }) => [...heldScopes])).toEqual([scopes, scopes])
    expect([active, canary].map(({ allowedScopes }) => [...allowedScopes])).toEqual([
      ['shared', 'scope1'],
      ['shared', 'scope2'],
    ])
    expect(revisions.planOf(API)).toMatchObject({ tenant: 'acme', allowedScopes: ['shared', 'scope1'] })
  })

  it('changes its declarations and products together with those of the canary', async () => {
    const { revisions, both } = open()
    await revisions.prepare(1, withCanary(), [declare(5)])
    revisions.swap(1, [])
    revisions.setSla(declare(9))
    revisions.setSla(declare(7, 'gold'))
    revisions.setMembership(API, ['prd_3'])
    for (const revision of Object.values(both())) {
      expect(revision.plan.memberOfProductIds).toEqual(['prd_3'])
      expect([...revision.slas.keys()]).toEqual(['', 'gold'])
      expect(revision.slas.get('')?.plan.limits).toEqual(declare(9).limits)
    }
  })

  it('wakes with it, and with what changed while it slept', async () => {
    const { revisions, both } = open()
    await revisions.restore([{ plan: withCanary(), slas: [declare(5)] }])
    expect(revisions.planOf(API)?.allowedScopes).toEqual(['shared', 'scope1'])
    const awake = revisions.wake(API)
    revisions.setSla(declare(9))
    revisions.setMembership(API, ['prd_3'])
    await awake
    for (const revision of Object.values(both())) {
      expect(revision.plan.memberOfProductIds).toEqual(['prd_3'])
      expect(revision.slas.get('')?.plan.limits).toEqual(declare(9).limits)
    }
  })

  it('does not sleep if the two documents together are large', async () => {
    const { revisions } = open()
    const half = 'a'.repeat(9 * 1024)
    const plan = withCanary(packed(2, {}, half), packed(1, {}, half))
    expect(unpackedBytes(packed(1, {}, half))).toBeLessThan(16 * 1024)
    await revisions.restore([{ plan, slas: [] }])
    expect(revisions.of(API)?.canary?.revision.plan.revision).toBe(2)
  })

  it('ends with the next swap and with the API', async () => {
    const { revisions, gates } = open()
    await revisions.prepare(1, withCanary(), [])
    revisions.swap(1, [])
    await revisions.prepare(2, packed(2), [])
    revisions.swap(2, [])
    const left = revisions.of(API)!
    expect(left).toMatchObject({ canary: null, plan: { revision: 2 } })
    expect(left.heldScopes).toBe(left.allowedScopes)
    expect([...gates.keys()]).toEqual([`${API} http://backend-2`])
    await revisions.prepare(3, withCanary(), [])
    revisions.abort(3)
    expect(revisions.of(API)?.canary).toBeNull()
    revisions.withdraw(API)
    expect(revisions.of(API)).toBeUndefined()
  })
})

describe('a canary that cannot be compiled', () => {
  it('is not prepared', async () => {
    const { revisions } = open()
    await expect(revisions.prepare(1, withCanary(packed(2, BACKTRACKING)), [])).rejects.toThrow()
    expect(() => revisions.swap(1, [])).toThrow('no revision is prepared')
  })

  it('refuses its calls on a thread that starts, while the others are served', async () => {
    const { revisions, withheld, both } = open()
    await revisions.restore([{ plan: withCanary(packed(2, BACKTRACKING)), slas: [declare(5)] }])
    await revisions.wake(API)
    expect(withheld).toEqual([API])
    const { active, canary } = both()
    expect([active.plan.state, canary.plan.state]).toEqual(['Active', 'Withheld'])
    expect([...active.slas.keys()]).toEqual([''])
  })

  it('goes with the active revision if that cannot be compiled either', async () => {
    const { revisions, withheld } = open()
    await revisions.restore([{ plan: withCanary(packed(2), packed(1, BACKTRACKING)), slas: [] }])
    await revisions.wake(API)
    expect(withheld).toEqual([API])
    expect(revisions.of(API)).toMatchObject({ plan: { state: 'Withheld' }, canary: null })
  })
})

it('A thread that is restarted gets the canary, and no gate of one that was withdrawn', () => {
  const state = createServingState(() => 0)
  state.setPlan(withCanary(), [], state.membershipVersion())
  state.setMembership(API, ['prd_9'])
  state.setGate(API, `${API} canary http://backend-2`, { mode: 'trial', retryAtMs: 0 })
  expect([...state.plans()]).toMatchObject([
    { plan: { memberOfProductIds: ['prd_9'], canary: { plan: { revision: 2 } } } },
  ])
  const gatesOf = () => state.restoreCommands().filter(({ type }) => type === 'gate')
  expect(gatesOf()).toHaveLength(1)
  state.removePlan(API)
  expect(gatesOf()).toEqual([])
})
