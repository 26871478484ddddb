/** Calls that wait for a lease, through the whole data plane: what may change meanwhile, and what is left of them. */

import type { ServerResponse } from 'node:http'
import { describe, expect, it } from 'vitest'
import { createAdmissions, endWithoutSlot } from '../../../src/gateway/admission.ts'
import type { Authenticator } from '../../../src/gateway/authentication/authenticate.ts'
import { refuseUnverified } from '../../../src/gateway/authentication/credential-refusal.ts'
import { createCallerContexts } from '../../../src/gateway/call/caller-contexts.ts'
import { operationIdsOf, type CompiledRevision } from '../../../src/gateway/call/revision.ts'
import type { HandleCallOptions } from '../../../src/gateway/handle-call.ts'
import { createLeaseWaits } from '../../../src/limits/lease-waits.ts'
import { SlotWatch } from '../../../src/limits/slot-watch.ts'
import { LEASE_CELL } from '../../../src/boundary/leases/lease-cell.ts'
import { createLeasedLimits, createTestGrantor, openTestKeeper } from '../../fixtures/lease-keeper.ts'
import { callerOf, openBackend, openTestGateway } from '../../fixtures/test-gateway.ts'
import { planOf } from '../../fixtures/test-limits.ts'

const CALLER = callerOf('a')
const HOURLY = planOf({ limits: [{ name: 'hourly', totals: { hour: 3 }, concurrent: 5 }] })
const MCP = { 'x-tollgate-mcp': true }
const PATHS = { '/keyed': { get: { operationId: 'keyed', responses: { 200: { description: 'ok' } } } } }

interface Waiting {
  /** Ends the wait of all calls that wait; null lets the node ask the grantor. */
  end(isReached?: boolean | null): void
  /** Resolves when a call waits. */
  readonly began: Promise<void>
}

/** A gateway whose calls wait for leases until the test ends their wait. */
async function openWaiting(
  authenticate: Authenticator['authenticate'] = () => CALLER,
  own: Partial<HandleCallOptions> = {},
  answer = (response: ServerResponse): void => void response.end('served'),
  members: readonly string[] = [],
) {
  let isDown = false
  const fault = (): void => {
    if (isDown) throw new Error('lost')
  }
  const grantor = createTestGrantor(Date.parse('2026-03-04T12:00:00Z'), fault, members)
  const keeper = await openTestKeeper(grantor)
  const { memory, limiters } = createLeasedLimits(keeper, grantor.clock)
  const [limiter] = limiters as [(typeof limiters)[0]]
  let plan = HOURLY
  const served: string[] = []
  const needs: number[] = []
  const { promise: began, resolve: begin } = Promise.withResolvers<void>()
  const { promise: ended, resolve: end } = Promise.withResolvers<boolean | null>()
  const waits = createLeaseWaits(async (need) => {
    needs.push(need[0]![1])
    begin()
    return (await ended) ?? memory.refill(need)
  })
  const callerContexts = createCallerContexts({
    mainThread: { request: (async () => memory.blockFor('sub', plan)) as never },
    limiter,
  })
  const compile = (revision: CompiledRevision) => limiter.compile(plan, operationIdsOf(revision.plan))
  const origin = await openBackend((incoming, response) => {
    served.push(incoming.url ?? '')
    answer(response)
  })
  const { clock } = grantor
  const slots = new SlotWatch({
    thread: 0,
    end: endWithoutSlot,
    clock,
    monotonicMs: clock.nowMs,
    onFault: () => expect.unreachable(),
  })
  const gateway = await openTestGateway({
    backend: { origin },
    paths: PATHS,
    root: MCP,
    authenticator: { authenticate },
    handle: { nowMs: clock.nowMs, callerContexts, admissions: createAdmissions({ limiter, waits, slots }), ...own },
    changeRevision: (revision) => ({ ...revision, slas: new Map([['', compile(revision)]]) }),
  })
  const waiting: Waiting = { began, end: (isReached = null) => end(isReached) }
  return {
    gateway,
    served,
    needs,
    ...waiting,
    clock,
    turnOffRedis: () => void (isDown = true),
    /** Replaces the declaration, as a thread does when it is told. */
    declare(next: typeof plan) {
      plan = next
      gateway.revision.slas.set('', compile(gateway.revision))
      callerContexts.release(gateway.revision.plan.api)
    },
    /** Calls that the leases of the current declaration count: in the hour, and at the moment. */
    used() {
      const { cells } = memory.blockFor('sub', plan)!.leases!
      return cells.map((cell) => new Float64Array(cell!.page)[cell!.at + LEASE_CELL.used])
    },
  }
}

const call = ({ port }: { readonly port: number }) =>
  fetch(`http://127.0.0.1:${port}/things-v1/keyed`, { headers: { 'x-api-key': 'key-a' } })

async function codeOf(response: Response): Promise<readonly [number, unknown]> {
  const { code } = (await response.json()) as { code?: string }
  return [response.status, code]
}

describe('A call that waits for a lease', () => {
  it('is served once the lease is there, and told what all nodes together may still admit', async () => {
    const { gateway, began, end, used } = await openWaiting()
    const answer = call(gateway)
    await began
    end()
    const { status, headers } = await answer
    expect([status, headers.get('ratelimit')]).toEqual([200, '"hourly hour";r=2;t=3599'])
    await gateway.recorded(1)
    expect(used()).toEqual([1, 0])
  })

  it('is refused with 401 if its credential is revoked meanwhile', async () => {
    let isRevoked = false
    const { gateway, began, end, served, used } = await openWaiting(() =>
      isRevoked ? refuseUnverified('The credential was revoked.') : CALLER,
    )
    const answer = call(gateway)
    await began
    isRevoked = true
    end()
    expect(await codeOf(await answer)).toEqual([401, 'credential_invalid'])
    expect(served).toEqual([])
    expect(used()).toEqual([0, 0])
  })

  it('is refused with 401 if its credential must be looked up again, and is revoked by then', async () => {
    let isForgotten = false
    const { gateway, began, end, served } = await openWaiting(() =>
      isForgotten ? Promise.resolve(refuseUnverified('The credential was revoked.')) : CALLER,
    )
    const answer = call(gateway)
    await began
    isForgotten = true
    end()
    expect(await codeOf(await answer)).toEqual([401, 'credential_invalid'])
    expect(served).toEqual([])
  })

  it('is refused with 403 if its subscription has left the API meanwhile', async () => {
    const { grant } = CALLER
    let caller = CALLER
    const { gateway, began, end, served } = await openWaiting(() => caller)
    const answer = call(gateway)
    await began
    caller = { ...CALLER, grant: { ...grant, version: 2, apiProductId: 'prd_left' } }
    end()
    expect(await codeOf(await answer)).toEqual([403, 'subscription_required'])
    expect(served).toEqual([])
  })

  it('counts in the limits that were declared meanwhile', async () => {
    const { gateway, began, end, declare, used } = await openWaiting()
    const answer = call(gateway)
    await began
    declare(planOf({ limits: [{ name: 'lower', rate: { value: 7, duration: 'hour' } }] }))
    end()
    const { status, headers } = await answer
    expect([status, headers.get('ratelimit-policy')]).toEqual([200, '"lower rate";q=7;w=3600'])
    expect(used()).toEqual([1])
  })

  it('leaves nothing behind if its client disconnects', async () => {
    const { gateway, began, end, served, used } = await openWaiting()
    const socket = await gateway.open()
    socket.write('GET /things-v1/keyed HTTP/1.1\r\nHost: a\r\nX-API-Key: key-a\r\n\r\n')
    await began
    socket.destroy()
    expect(await gateway.recorded(1)).toMatchObject([{ outcome: 'client_aborted' }])
    end()
    const next = await call(gateway)
    expect([next.status, next.headers.get('ratelimit')]).toEqual([200, '"hourly hour";r=2;t=3599'])
    expect(served).toHaveLength(1)
    await gateway.recorded(2)
    expect(used()).toEqual([1, 0])
    expect(gateway.inFlight()).toBe(0)
  })

  it('is refused with 503 after 20 waits in which others took the leases', async () => {
    const { gateway, end, needs } = await openWaiting()
    end(true)
    const answer = await call(gateway)
    expect(answer.headers.get('retry-after')).toBe('1')
    expect(await codeOf(answer)).toEqual([503, 'limits_unavailable'])
    expect(needs).toEqual(Array.from({ length: 20 }, () => 1))
  })

  it('is refused with 503 at once if the grantor cannot be reached', async () => {
    const { gateway, end, needs, served } = await openWaiting()
    end(false)
    const answer = await call(gateway)
    expect(answer.headers.get('retry-after')).toBe('1')
    expect(await codeOf(answer)).toEqual([503, 'limits_unavailable'])
    expect(needs).toEqual([1])
    expect(served).toEqual([])
  })

  it.each([
    ['', false],
    [', although the operator prefers calls that are counted on this node to refusals', true],
  ])('is refused with 503 after one wait if another node has not reported what it holds%s', async (_, serves) => {
    const own = { servesWithoutLeases: serves }
    const { gateway, began, end, needs, served, clock } = await openWaiting(undefined, own, undefined, ['a', 'b'])
    const answer = call(gateway)
    await began
    end()
    await clock.advance(2_100)
    expect(await codeOf(await answer)).toEqual([503, 'limits_unavailable'])
    expect(needs).toEqual([1])
    expect(served).toEqual([])
  })

  it('is counted on this node if the operator prefers that to a refusal', async () => {
    const { gateway, end } = await openWaiting(undefined, { servesWithoutLeases: true })
    end(false)
    const statuses: number[] = []
    for (let each = 0; each < 4; each++) statuses.push((await call(gateway)).status)
    expect(statuses).toEqual([200, 200, 200, 429])
  })

  it('may call a tool, whose credential is that of the message', async () => {
    const { gateway, began, end } = await openWaiting((_, apiKey) =>
      apiKey === 'key-a' ? CALLER : refuseUnverified('The credential is unknown.'),
    )
    const answer = fetch(`http://127.0.0.1:${gateway.port}/things-v1/mcp`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-api-key': 'key-a' },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'keyed', arguments: {} } }),
    })
    await began
    end()
    expect(await (await answer).json()).toMatchObject({
      result: { content: [{ resource: { blob: Buffer.from('served').toString('base64') } }] },
    })
    expect((await gateway.recorded(1)).map(({ status }) => status)).toEqual([200])
  })
})

describe('A call with a slot that runs for more than ten minutes', () => {
  const SLOTS = planOf({ limits: [{ name: 'few', concurrent: 1 }] })

  it.each([
    ['gets 503 if its response has not begun', () => {}, [503, 'limits_unavailable']],
    ['is broken off if it has', (response: ServerResponse) => void response.write('a part'), 'broken off'],
  ])('on a node that is cut off from Redis %s', async (_, respond, expected) => {
    const { promise: reached, resolve } = Promise.withResolvers<void>()
    const answer = (response: ServerResponse): void => (respond(response), resolve())
    const { gateway, clock, declare, end, turnOffRedis } = await openWaiting(undefined, {}, answer)
    declare(SLOTS)
    end()
    const result = call(gateway)
      .then(codeOf)
      .catch(() => 'broken off')
    await reached
    await clock.advance(11 * 60_000)
    expect(gateway.inFlight()).toBe(1)
    turnOffRedis()
    await clock.advance(10 * 60_000 + 1_000)
    expect(await result).toEqual(expected)
    expect((await gateway.recorded(1)).map(({ outcome }) => outcome)).toEqual(['limits_unavailable'])
  })
})
