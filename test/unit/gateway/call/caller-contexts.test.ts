/** Which declaration a caller is served, counted and billed by. */

import { describe, expect, it } from 'vitest'
import { toTokenCaller } from '../../../../src/gateway/authentication/known-caller.ts'
import { createLimiter } from '../../../../src/gateway/limits/limiter.ts'
import { createActiveDeclarations } from '../../../../src/gateway/limits/active-declarations.ts'
import { createLimitMemory } from '../../../../src/gateway/limits/limit-memory.ts'
import { compileRevision } from '../../../../src/gateway/call/revision.ts'
import { attributionOf } from '../../../../src/gateway/call/caller-context.ts'
import { createSeats } from '../../../../src/gateway/call/caller-contexts.ts'
import type { SlaPlan } from '../../../../src/plan/sla-plan.ts'
import { API, GRANT } from '../../../fixtures/token-authority.ts'
import { planOf } from '../../../fixtures/test-limits.ts'

const declare = (variant: string, minute: number): SlaPlan => ({
  ...planOf({ limits: [{ name: 'a', totals: { minute } }] }),
  api: API,
  variant,
})

async function open(slas: readonly SlaPlan[]) {
  const limiter = createLimiter({ thread: 0, threads: 1 })
  const desk = createActiveDeclarations(createLimitMemory({ threads: 1 }))
  for (const sla of slas) desk.setPlan(sla)
  const asked: string[] = []
  const seats = createSeats({
    limiter,
    host: {
      ask: ((_: string, ask: Parameters<typeof desk.block>[0]) => {
        asked.push(ask.variant)
        return desk.block(ask)
      }) as Parameters<typeof createSeats>[0]['host']['ask'],
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
  const backends = { threads: 1, connect: (_: unknown, base: object) => base }
  const compile = (declared: readonly SlaPlan[]) => compileRevision(plan, declared, limiter, backends)
  return { seats, desk, asked, compile, revision: await compile(slas) }
}

const callerOf = (variant: string) => {
  const times = { startsMs: 0, endsMs: Infinity }
  const token = { api: API, scopes: [], subject: 'con_1', actor: '', ...times, jti: 'tok_1', provider: null }
  return toTokenCaller({ ...GRANT, api: '', apiProductId: 'prd_1', variant }, token)
}

describe('the seat of a caller', () => {
  it('is that of its variant where the API declares it', async () => {
    const { seats, asked, revision } = await open([declare('', 5), declare('gold', 50)])
    const seat = await seats.of(callerOf('gold'), revision)
    expect(asked).toEqual(['gold'])
    expect([seat.sla?.plan.variant, attributionOf(seat, 0).variant]).toEqual(['gold', 'gold'])
  })

  it('is the default one, in counters, limits and attribution, where the API does not declare its variant', async () => {
    const { seats, asked, revision } = await open([declare('', 5)])
    const seat = await seats.of(callerOf('gold'), revision)
    expect(asked).toEqual([''])
    expect(seat.block).not.toBeNull()
    expect([seat.sla?.plan.variant, attributionOf(seat, 0).variant]).toEqual(['', ''])
  })

  it('has no limits where the API declares none at all', async () => {
    const { seats, asked, revision } = await open([])
    const seat = await seats.of(callerOf('gold'), revision)
    expect([asked, seat.block, seat.sla, attributionOf(seat, 0).variant]).toEqual([[], null, null, 'gold'])
  })

  it('does not count by one declaration in the counters of another when a revision brings its variant', async () => {
    const { seats, asked, desk, revision, compile } = await open([declare('', 5)])
    const caller = callerOf('gold')
    const before = await seats.of(caller, revision)
    const gold = declare('gold', 50)
    desk.setPlan(gold)
    const after = await seats.of(caller, await compile([declare('', 5), gold]))

    expect(asked).toEqual(['', 'gold'])
    expect(after.sla?.plan.variant).toBe('gold')
    expect(after.block).not.toBe(before.block)
  })

  it('keeps its counters over a revision that declares the same', async () => {
    const { seats, asked, revision, compile } = await open([declare('', 5)])
    const caller = callerOf('gold')
    const before = await seats.of(caller, revision)
    const after = await seats.of(caller, await compile([declare('', 5)]))
    expect(after.block).toBe(before.block)
    expect(asked).toEqual([''])
  })
})
