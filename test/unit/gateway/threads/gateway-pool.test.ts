/** Commands on real gateway threads: when a command resolves, the next call on every thread observes its effect. */

import { Worker } from 'node:worker_threads'
import { describe, expect, it } from 'vitest'
import { toPlan } from '../../../fixtures/federated-issuer.ts'
import { federated, key, next, openGatewayPool, token, UNTIL_MS } from '../../../fixtures/test-gateway-pool.ts'
import { API, GRANT } from '../../../fixtures/token-authority.ts'
import { packDocument } from '../../../../src/boundary/plan/packed-plan.ts'
import { toWithheldPlan } from '../../../../src/boundary/plan/withheld-plan.ts'
import { createFreshnessMemory, openFreshness, readMoment } from '../../../../src/foundation/runtime/freshness.ts'
import type { DocumentPlan, OperationPlan } from '../../../../src/boundary/plan/route-plan.ts'

function largeDocument(schemas: number): DocumentPlan {
  const operations: OperationPlan[] = []
  const members = Array.from({ length: schemas }, (_, at) => [
    `Schema${at}`,
    { type: 'object', required: ['id'], properties: { id: { type: 'string', pattern: `^${at}-[a-z]+$` } } },
  ])
  const components = { schemas: Object.fromEntries(members) as object }
  return { dialect: '3.1', components, responses: [], responseComponents: {}, operations }
}

describe('GatewayPool', () => {
  it('rejects every call that is sent after the revocation of its token has resolved', async () => {
    const { callAll, revokeToken, request } = await openGatewayPool()
    const [revoked, other] = [token(), token({ jti: 'tok_2' })]
    expect(await callAll(revoked)).toEqual(new Set([200]))

    let isRevoked = false
    const late: number[] = []
    const hammer = async (): Promise<void> => {
      for (let round = 0; round < 60; round++) {
        const isLate = isRevoked
        const status = await request(`/${API}/payments`, revoked)
        if (isLate) late.push(status)
      }
    }
    const hammers = Array.from({ length: 8 }, hammer)
    await revokeToken({ jti: 'tok_1', untilMs: UNTIL_MS })
    isRevoked = true
    await Promise.all(hammers)

    expect(late.length).toBeGreaterThan(0)
    expect(new Set(late)).toEqual(new Set([401]))
    expect(await callAll(other)).toEqual(new Set([200]))
  })

  it('applies a revocation while a large revision is compiled', async () => {
    const { prepare, plan, revokeToken, callAll } = await openGatewayPool()
    const settled: string[] = []
    const preparing = prepare({ ...plan, document: packDocument(largeDocument(400)) }, []).then((prepared) => {
      settled.push('compiled')
      return prepared
    })
    await revokeToken({ jti: 'tok_1', untilMs: UNTIL_MS }).then(() => settled.push('revoked'))
    expect(await callAll(token())).toEqual(new Set([401]))

    await (await preparing).swap()
    expect(settled).toEqual(['revoked', 'compiled'])
  })

  it('rejects a call whose token is revoked while the call waits for its counters', async () => {
    const requested = Promise.withResolvers<void>()
    const gate = Promise.withResolvers<void>()
    const counters = (): Promise<void> => {
      requested.resolve()
      return gate.promise
    }
    const { request, revokeToken } = await openGatewayPool({ limited: true, counters })
    const status = request(`/${API}/payments`, token())
    await requested.promise
    await revokeToken({ jti: 'tok_1', untilMs: UNTIL_MS })
    gate.resolve()

    expect(await status).toBe(401)
    expect(await request(`/${API}/payments`, token({ jti: 'tok_2' }))).toBe(200)
  })

  it('removes an API from a product and adds it again, with the same tokens', async () => {
    const { callAll, applyMembership } = await openGatewayPool({ grant: { ...GRANT, api: '', apiProductId: 'prd_1' } })
    expect(await callAll(token())).toEqual(new Set([200]))
    await applyMembership(API, ['prd_2'])
    expect(await callAll(token())).toEqual(new Set([403]))
    await applyMembership(API, ['prd_2', 'prd_1'])
    expect(await callAll(token())).toEqual(new Set([200]))
  })

  it('keeps a membership that was set between the preparation and the swap of a revision', async () => {
    const { callAll, applyMembership, prepare, plan } = await openGatewayPool({
      grant: { ...GRANT, api: '', apiProductId: 'prd_1' },
    })
    const before = await prepare({ ...plan, revision: 2 }, [])
    await applyMembership(API, [])
    await before.swap()
    expect(await callAll(token())).toEqual(new Set([403]))
    await (await prepare({ ...plan, revision: 3 }, [])).swap()
    expect(await callAll(token())).toEqual(new Set([200]))
  })

  it('accepts the tokens of a provider until its key is removed', async () => {
    const { callAll, applyProviders } = await openGatewayPool()
    expect(await callAll(federated())).toEqual(new Set([401]))
    await applyProviders([toPlan([key])])
    expect(await callAll(federated())).toEqual(new Set([200]))
    await applyProviders([toPlan([next])])
    expect(await callAll(federated())).toEqual(new Set([401]))
    expect(await callAll(federated(next))).toEqual(new Set([200]))
  })

  it('delivers a refetched provider key to a thread before the response to its request', async () => {
    const keys = { publish: async () => false }
    const { callAll, applyProviders } = await openGatewayPool({ refetch: () => keys.publish() })
    await applyProviders([toPlan([key])])
    keys.publish = async () => {
      await applyProviders([toPlan([key, next])])
      return true
    }
    expect(await callAll(federated(next))).toEqual(new Set([200]))
  })
})

describe('a withheld API', () => {
  it('answers 503 with a code of its own, on every thread, until a revision compiles', async () => {
    const { callAll, answer, prepare, plan } = await openGatewayPool()
    expect(await callAll(token())).toEqual(new Set([200]))
    await (await prepare(toWithheldPlan(plan), [])).swap()
    expect(await callAll(token())).toEqual(new Set([503]))
    for (const path of [`/${API}/payments`, `/${API}/nowhere`, `/${API}/mcp`]) {
      expect(await answer(path, token())).toMatchObject({ status: 503, code: 'revision_unavailable' })
    }
    await (await prepare(plan, [])).swap()
    expect(await callAll(token())).toEqual(new Set([200]))
  })
})

describe('a process that can lose the registry', () => {
  it('answers 503 on every thread unless it was up to date recently enough', async () => {
    const freshness = createFreshnessMemory()
    const { extend } = openFreshness(freshness)
    const { callAll, answer } = await openGatewayPool({ freshness })
    expect(await callAll(token())).toEqual(new Set([503]))
    for (const path of [`/${API}/payments`, `/${API}/mcp`, '/nowhere', `/${API}/../x`]) {
      expect(await answer(path, token())).toMatchObject({ status: 503, code: 'registry_stale' })
    }
    const now = readMoment()
    extend({ monotonicMs: now.monotonicMs - 61_000, systemMs: now.systemMs - 61_000 }, 60_000)
    expect(await callAll(token())).toEqual(new Set([503]))
    extend(now, 60_000)
    expect(await callAll(token())).toEqual(new Set([200]))
  })

  it('answers 503 in time although its main thread is blocked', async () => {
    const freshness = createFreshnessMemory()
    const { extend } = openFreshness(freshness)
    extend(readMoment(), 60_000)
    const { callAll, url } = await openGatewayPool({ freshness })
    expect(await callAll(token())).toEqual(new Set([200]))
    const seen = new Int32Array(new SharedArrayBuffer(4))
    const code = `
      import { workerData } from 'node:worker_threads'
      const { url, headers, seen } = workerData
      for (let status = 0; status !== 503; ) status = (await fetch(url, { headers })).status
      Atomics.store(seen, 0, 1)
      Atomics.notify(seen, 0)`
    new Float64Array(freshness).fill(0)
    extend(readMoment(), 1_500)
    const headers = { authorization: `Bearer ${token()}` }
    const workerData = { url: `${url}/${API}/payments`, headers, seen }
    const caller = new Worker(new URL(`data:text/javascript,${encodeURIComponent(code)}`), { workerData })
    const stopped = new Promise((resolve) => caller.once('exit', resolve))
    expect(Atomics.wait(seen, 0, 0, 20_000)).toBe('ok')
    await stopped
  })

  it('rejects a call that waited for its counters until the registry was lost', async () => {
    const freshness = createFreshnessMemory()
    openFreshness(freshness).extend(readMoment(), 60_000)
    const requested = Promise.withResolvers<void>()
    const gate = Promise.withResolvers<void>()
    const { request } = await openGatewayPool({
      freshness,
      limited: true,
      counters() {
        requested.resolve()
        return gate.promise
      },
    })
    const status = request(`/${API}/payments`, token())
    await requested.promise
    new Float64Array(freshness).fill(0)
    gate.resolve()
    expect(await status).toBe(503)
  })
})

describe('the authorize endpoint', () => {
  it('takes precedence over APIs and is executed on the main thread', async () => {
    const { request } = await openGatewayPool()
    expect(await request('/oauth2/v2/authorize?a=b', '')).toBe(200)
    expect(await request('/oauth2/v2/elsewhere', '')).toBe(404)
  })
})
