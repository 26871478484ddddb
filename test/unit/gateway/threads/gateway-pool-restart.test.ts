/** Real gateway threads that end and are restarted. */

import { describe, expect, it } from 'vitest'
import { gateKey } from '../../../../src/gateway/backend/gate-key.ts'
import { toPlan } from '../../../fixtures/federated-issuer.ts'
import { federated, key, openGatewayPool, token, UNTIL_MS } from '../../../fixtures/test-gateway-pool.ts'
import { API, GRANT } from '../../../fixtures/token-authority.ts'

describe('a gateway thread that ends', () => {
  it('loses only its own calls, and the pool counts them', async () => {
    const CALLS = 16
    const pending: (() => void)[] = []
    const { promise: allArrived, resolve: arriveAll } = Promise.withResolvers<void>()
    const { request, counts, restarts } = await openGatewayPool({
      arrived(answer) {
        if (pending.push(answer) === CALLS) arriveAll()
      },
    })
    const calls = Array.from({ length: CALLS }, () => request(`/${API}/payments`, token()).catch(() => 'lost'))
    await allArrived
    await request('/die', '').catch(() => {})
    await restarts
    for (const answer of pending) answer()

    const outcomes = await Promise.all(calls)
    const lost = outcomes.filter((outcome) => outcome === 'lost').length
    expect(lost).toBeGreaterThan(0)
    expect(outcomes.filter((outcome) => outcome === 200)).toHaveLength(CALLS - lost)
    expect(counts.get('call_lost_with_thread')).toBe(lost)
  })

  it('is replaced by one that keeps a target shut, which no other target and no other API is', async () => {
    const other = { origin: 'http://127.0.0.1:1', basePath: '' }
    const { callAll, setGate, request, prepare, plan, restarts } = await openGatewayPool()
    const backend = plan.backend!
    const shut = { mode: 'shut', retryAtMs: Date.now() + 600_000 } as const
    const targets = [{ origin: backend.origin, basePath: '' }, other]
    await (await prepare({ ...plan, backend: { ...backend, targets } }, [])).swap()
    await setGate('orders-v1', gateKey('orders-v1', backend), shut)
    await setGate(API, gateKey(API, other), shut)
    expect(await callAll(token())).toEqual(new Set([200]))

    await request('/die', '').catch(() => {})
    await restarts
    await setGate(API, gateKey(API, backend), shut)
    expect(await callAll(token())).toEqual(new Set([503]))
    await setGate(API, gateKey(API, backend), { mode: 'open', retryAtMs: 0 })
    expect(await callAll(token())).toEqual(new Set([200]))
  })

  it('is replaced by one with the same revoked tokens and people, membership and providers', async () => {
    const pool = await openGatewayPool({ grant: { ...GRANT, api: '', apiProductId: 'prd_9' } })
    const { callAll, request, revokeToken, revokePeople, applyMembership, applyProviders, restarts } = pool
    await revokeToken({ jti: 'tok_1', untilMs: UNTIL_MS })
    await revokePeople([{ person: 'usr_1', id: 'tok_5', before: 'tok_5', untilMs: UNTIL_MS }])
    await applyMembership(API, ['prd_9'])
    await applyProviders([toPlan([key])])
    await request('/die', '').catch(() => {})
    await restarts
    // Like every command, this one waits until the replacement has started.
    await applyProviders([toPlan([key])])

    expect(await callAll(token())).toEqual(new Set([401]))
    expect(await callAll(token({ jti: 'tok_2' }))).toEqual(new Set([200]))
    expect(await callAll(token({ jti: 'tok_3', sub: 'usr_1' }))).toEqual(new Set([401]))
    expect(await callAll(token({ jti: 'tok_6', sub: 'usr_1' }))).toEqual(new Set([200]))
    expect(await callAll(federated())).toEqual(new Set([200]))
  })

  it('is replaced by one that compiles a revision which was prepared before, when it is swapped in', async () => {
    const { callAll, request, prepare, plan, restarts } = await openGatewayPool()
    const prepared = await prepare({ ...plan, allowedScopes: [] }, [])
    await request('/die', '').catch(() => {})
    await restarts
    await prepared.swap()

    expect(await callAll(token())).toEqual(new Set([403]))
  })
})

describe('a pool that is stopped before it has started', () => {
  it.each([
    ['ends threads that load', true],
    ['has nothing to end if none was created', false],
  ])('%s', async (_, loads) => {
    const pool = await openGatewayPool({ isStarted: false })
    if (loads) pool.load()
    await pool.stop()
    await pool.stop()
    expect(pool.threads().map(({ isReady }) => isReady)).toEqual([false, false])
  })
})

describe('a gateway thread that starts', () => {
  it('refuses the calls of an API that it cannot compile, and serves the others', async () => {
    const withheld: string[] = []
    const { callAll, request } = await openGatewayPool({
      others: (plan) => [{ ...plan, api: 'torn-v1', document: Buffer.from('torn') }],
      onWithheld: (api) => withheld.push(api),
    })
    expect(await callAll(token())).toEqual(new Set([200]))
    expect(await request('/torn-v1/payments', token())).toBe(503)
    expect(withheld).toEqual(['torn-v1', 'torn-v1'])
  })

  it('refuses the calls of an API that it cannot compile at the first of them', async () => {
    const withheld: string[] = []
    const { callAll, request } = await openGatewayPool({
      others: (plan) => [{ ...plan, api: 'torn-v1', document: Buffer.alloc(0) }],
      onWithheld: (api) => withheld.push(api),
    })
    expect(withheld).toEqual([])
    expect(await request('/torn-v1/payments', token())).toBe(503)
    expect(withheld).toEqual(['torn-v1'])
    expect(await callAll(token())).toEqual(new Set([200]))
  })

  it('serves more APIs than one command carries', async () => {
    const names = Array.from({ length: 450 }, (_, at) => `other${at}-v1`)
    const { request } = await openGatewayPool({ others: (plan) => names.map((api) => ({ ...plan, api })) })
    // The token is for another API.
    for (const api of ['other0-v1', 'other199-v1', 'other200-v1', 'other449-v1'])
      expect(await request(`/${api}/payments`, token())).toBe(401)
    expect(await request('/other450-v1/payments', token())).toBe(404)
  })
})
