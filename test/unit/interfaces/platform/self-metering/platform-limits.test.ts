import { describe, expect, it } from 'vitest'
import { parseDeclaration } from '../../../../../src/documents/opensla/declaration.ts'
import type { Caller } from '../../../../../src/boundary/plan/caller.ts'
import type { SlaPlan } from '../../../../../src/boundary/plan/sla-plan.ts'
import type { AdmittedCall, Attempt, RefusedCall } from '../../../../../src/interfaces/platform/call-limits.ts'
import {
  createPlatformLimits,
  type PlatformLimits,
} from '../../../../../src/interfaces/platform/self-metering/platform-limits.ts'
import { createLeasedLimits, createTestGrantor, openTestKeeper } from '../../../../fixtures/lease-keeper.ts'
import { toGrant } from '../../../../fixtures/test-grant.ts'

const NOON_MS = Date.parse('2026-03-04T12:00:00Z')
const OPERATIONS = ['listConsumers', 'getOpenSlaSpec']

function planOf(limit: object): SlaPlan {
  const declaration = { opensla: '1.0.0', info: { version: '1.0.0' }, limits: [{ name: 'all', ...limit }] }
  const bytes = Buffer.from(JSON.stringify(declaration))
  return parseDeclaration(bytes, { technicalName: 'platform-v1', operationIds: OPERATIONS })
}

function callerOf(tenant: string): Caller {
  const grant = toGrant(tenant)
  const token = { method: 'token', jti: '', expiresAtMs: 0, certificate: '' } as const
  return { grant, api: grant.api, scopes: new Set(), agent: '', person: '', ...token }
}

/** The platform of several nodes, whose exchanges fail while `isDown` is set. */
async function openNodes(names: readonly string[], { servesWithoutLeases = false } = {}) {
  const redis = { isDown: false }
  const grantor = createTestGrantor(NOON_MS, () => {
    if (redis.isDown) throw new Error('lost')
  })
  const { clock } = grantor
  const nodes: PlatformLimits[] = []
  for (const name of names) {
    const keeper = await openTestKeeper(grantor, name)
    nodes.push(
      createPlatformLimits({
        memory: createLeasedLimits(keeper, clock).memory,
        operationIds: OPERATIONS,
        operatorTenant: 'operator',
        servesWithoutLeases,
        clock,
        log: { error() {} },
        monotonicMs: clock.nowMs,
      }),
    )
  }
  await clock.advance(1_000)
  const declare = (limit: object): void => nodes.forEach((node) => node.setPlan(planOf(limit)))
  const turnOff = async (): Promise<void> => {
    redis.isDown = true
    await clock.advance(15_000)
  }
  return { nodes, grantor, declare, turnOff }
}

type Decided = AdmittedCall | RefusedCall

/** Calls as the guard does, and returns the decision and how often the call waited. */
async function call(node: PlatformLimits, tenant: string, operation = 'listConsumers'): Promise<[Decided, number]> {
  let attempt: Attempt | undefined
  for (let waits = 0; ; waits++) {
    const result = node.admit(callerOf(tenant), operation, attempt)
    if (!('wait' in result)) return [result, waits]
    attempt = await result.wait
  }
}

/** Calls the nodes in turn, and returns how many were admitted and the codes of the refusals. */
async function callInTurn(nodes: readonly PlatformLimits[], tenant: string, calls: number, operation?: string) {
  let admitted = 0
  const codes = new Set<string>()
  for (let index = 0; index < calls; index++) {
    const [result] = await call(nodes[index % nodes.length]!, tenant, operation)
    if ('code' in result) codes.add(result.code)
    else admitted++
  }
  return { admitted, codes: [...codes] }
}

describe('The limits of the platform API on several nodes', () => {
  it('admit as many calls as declared on all nodes together', async () => {
    const { nodes, declare, grantor } = await openNodes(['a', 'b', 'c'])
    declare({ totals: { hour: 30 } })
    const first = await callInTurn(nodes, 'other', 60)
    // What a node holds of a scarce budget returns within two seconds.
    await grantor.clock.advance(3_000)
    const rest = await callInTurn(nodes, 'other', 60)
    expect(first.codes).toEqual(['rate_limited'])
    expect(first.admitted + rest.admitted).toBe(30)
    const [refused] = await call(nodes[0]!, 'other')
    expect(refused.headers).toEqual(expect.arrayContaining(['RateLimit-Policy', 'RateLimit', 'Retry-After']))
  })

  it('let a command wait for one exchange at most', async () => {
    const { nodes, declare } = await openNodes(['a', 'b'])
    declare({ rate: { value: 600, duration: 'minute' } })
    const waits: number[] = []
    for (let index = 0; index < 100; index++) waits.push((await call(nodes[index % 2]!, 'other'))[1])
    expect(Math.max(...waits)).toBe(1)
  })

  it('admit nothing by a declaration that was replaced', async () => {
    const { nodes, declare } = await openNodes(['a', 'b'])
    declare({ totals: { hour: 1_000 } })
    const before = await callInTurn(nodes, 'other', 20)
    declare({ totals: { hour: 20 } })
    expect(before.admitted).toBe(20)
    expect(await callInTurn(nodes, 'other', 20)).toEqual({ admitted: 0, codes: ['rate_limited'] })
  })

  it('free the slot of a call that has ended for other nodes', async () => {
    const { nodes, declare, grantor } = await openNodes(['a', 'b'])
    declare({ concurrent: 1 })
    const [held] = await call(nodes[0]!, 'other')
    expect(await callInTurn([nodes[1]!], 'other', 3)).toEqual({ admitted: 0, codes: ['rate_limited'] })
    if (!('code' in held)) held.end()
    await grantor.clock.advance(3_000)
    expect((await call(nodes[1]!, 'other'))[0]).toHaveProperty('terms')
  })
})

describe('A call of the platform API that runs for more than ten minutes on a node without Redis', () => {
  it('is closed before another node may be granted its slot', async () => {
    const { nodes, declare, turnOff, grantor } = await openNodes(['a'])
    declare({ concurrent: 1 })
    const [held] = await call(nodes[0]!, 'other')
    let closed = 0
    if (!('code' in held)) held.onSlotLost(() => closed++)
    await grantor.clock.advance(11 * 60_000)
    expect(closed).toBe(0)
    await turnOff()
    await grantor.clock.advance(10 * 60_000)
    expect(closed).toBe(1)
  })
})

describe('The limits of the platform API without Redis', () => {
  it('refuse callers with limits, who may come again', async () => {
    const { nodes, declare, turnOff } = await openNodes(['a'])
    declare({ totals: { minute: 5 } })
    await turnOff()
    const [result] = await call(nodes[0]!, 'other')
    expect(result).toMatchObject({ code: 'limits_unavailable', headers: ['Retry-After', '1'] })
  })

  it('admit callers by the counts of the node if it shall serve', async () => {
    const { nodes, declare, turnOff } = await openNodes(['a'], { servesWithoutLeases: true })
    declare({ totals: { minute: 5 } })
    await turnOff()
    expect(await callInTurn(nodes, 'other', 10)).toEqual({ admitted: 5, codes: ['rate_limited'] })
  })

  it('do not lock the operator out: its calls are counted by each node, also before', async () => {
    const { nodes, declare, turnOff } = await openNodes(['a', 'b'])
    declare({ totals: { minute: 5 } })
    expect(await callInTurn(nodes, 'operator', 4)).toEqual({ admitted: 4, codes: [] })
    await turnOff()
    expect(await callInTurn(nodes, 'operator', 10)).toEqual({ admitted: 6, codes: ['rate_limited'] })
    const repairs = await callInTurn(nodes, 'operator', 30, 'getOpenSlaSpec')
    expect(repairs).toEqual({ admitted: 20, codes: ['rate_limited'] })
  })
})
