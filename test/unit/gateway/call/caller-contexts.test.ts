/** The declaration that applies to a caller's limits, counters and price. */

import { describe, expect, it } from 'vitest'
import { toTokenCaller } from '../../../../src/gateway/authentication/known-caller.ts'
import { createLimiter } from '../../../../src/limits/limiter.ts'
import { createActiveDeclarations } from '../../../../src/limits/active-declarations.ts'
import { createLimitMemory } from '../../../../src/limits/limit-memory.ts'
import { compileRevision } from '../../../../src/gateway/call/revision.ts'
import { attributionOf } from '../../../../src/gateway/call/caller-context.ts'
import { createCallerContexts } from '../../../../src/gateway/call/caller-contexts.ts'
import type { SlaPlan } from '../../../../src/boundary/plan/sla-plan.ts'
import { API, GRANT } from '../../../fixtures/token-authority.ts'
import { planOf } from '../../../fixtures/test-limits.ts'

const declare = (variant: string, minute: number): SlaPlan => ({
  ...planOf({ limits: [{ name: 'a', totals: { minute } }] }),
  api: API,
  variant,
})

async function open(slas: readonly SlaPlan[]) {
  const limiter = createLimiter({ thread: 0, threads: 1 })
  const declarations = createActiveDeclarations(createLimitMemory({ threads: 1 }))
  for (const sla of slas) declarations.setPlan(sla)
  const requested: string[] = []
  const revisions: number[] = []
  const contexts = createCallerContexts({
    limiter,
    mainThread: {
      request: ((_: string, parameters: Parameters<typeof declarations.block>[0]) => {
        requested.push(parameters.variant)
        revisions.push(parameters.revision)
        return declarations.block(parameters)
      }) as Parameters<typeof createCallerContexts>[0]['mainThread']['request'],
    },
  })
  const plan = {
    api: API,
    tenant: 'acme',
    revision: 1,
    state: 'Active',
    backend: null,
    allowedScopes: [],
    memberOfProductIds: ['prd_1'],
    dialect: '3.1',
    components: {},
    responses: [],
    responseComponents: {},
    operations: ['read', 'write', 'list'].map((operationId) => ({
      operationId,
      method: 'GET',
      path: `/${operationId}`,
      security: [],
      parameters: [],
      body: null,
      responses: [],
    })),
  } as const
  const settings = { threads: 1, gatewayUrl: 'https://gateway.example', connect: (_: unknown, base: object) => base }
  const compile = (declared: readonly SlaPlan[]) => compileRevision(plan, declared, limiter, settings)
  return { contexts, declarations, requested, revisions, compile, revision: await compile(slas) }
}

const callerOf = (variant: string) => {
  const times = { startsMs: 0, endsMs: Infinity }
  const token = {
    api: API,
    scopes: [],
    subject: 'con_1',
    actor: '',
    ...times,
    jti: 'tok_1',
    revocation: undefined,
    certificate: '',
    provider: null,
  }
  return toTokenCaller({ ...GRANT, api: '', apiProductId: 'prd_1', variant }, token)
}

describe('a caller context', () => {
  it('uses the declaration of its variant if the API declares it', async () => {
    const { contexts, requested, revision } = await open([declare('', 5), declare('gold', 50)])
    const context = await contexts.of(callerOf('gold'), revision)
    expect(requested).toEqual(['gold'])
    expect([context.sla?.plan.variant, attributionOf(context, 0).variant]).toEqual(['gold', 'gold'])
  })

  it('uses the default declaration for counters, limits and price if the API does not declare its variant', async () => {
    const { contexts, requested, revision } = await open([declare('', 5)])
    const context = await contexts.of(callerOf('gold'), revision)
    expect(requested).toEqual([''])
    expect(context.block).not.toBeNull()
    expect([context.sla?.plan.variant, attributionOf(context, 0).variant]).toEqual(['', ''])
  })

  it('says which revision of the subscription it follows, and asks again when that has changed', async () => {
    const { contexts, revisions, revision } = await open([declare('', 5)])
    const { grant } = callerOf('')
    for (const subscriptionRevision of [4, 5]) {
      await contexts.of({ ...callerOf(''), grant: { ...grant, subscriptionRevision } }, revision)
    }
    expect(revisions).toEqual([4, 5])
  })

  it('has no limits if the API declares none', async () => {
    const { contexts, requested, revision } = await open([])
    const context = await contexts.of(callerOf('gold'), revision)
    expect([requested, context.block, context.sla, attributionOf(context, 0).variant]).toEqual([[], null, null, 'gold'])
  })

  it('gets new counters when a new revision declares its variant', async () => {
    const { contexts, requested, declarations, revision, compile } = await open([declare('', 5)])
    const caller = callerOf('gold')
    const before = await contexts.of(caller, revision)
    const gold = declare('gold', 50)
    declarations.setPlan(gold)
    const after = await contexts.of(caller, await compile([declare('', 5), gold]))

    expect(requested).toEqual(['', 'gold'])
    expect(after.sla?.plan.variant).toBe('gold')
    expect(after.block).not.toBe(before.block)
  })

  it('keeps its counters when a new revision declares the same variants', async () => {
    const { contexts, requested, revision, compile } = await open([declare('', 5)])
    const caller = callerOf('gold')
    const before = await contexts.of(caller, revision)
    const after = await contexts.of(caller, await compile([declare('', 5)]))
    expect(after.block).toBe(before.block)
    expect(requested).toEqual([''])
  })
})
