/** Commands on real gateway threads: when a command resolves, the next call on every thread observes its effect. */

import { mkdtempSync, rmSync } from 'node:fs'
import { Agent, createServer, get } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { Grant } from '../../../../src/plan/grant.ts'
import type { RoutePlan } from '../../../../src/plan/route-plan.ts'
import { createGatewayPool } from '../../../../src/gateway/threads/gateway-pool.ts'
import { createActiveDeclarations } from '../../../../src/gateway/limits/active-declarations.ts'
import { createLimitMemory } from '../../../../src/gateway/limits/limit-memory.ts'
import { createSpoolFaultsMemory } from '../../../../src/record/spool-faults.ts'
import { createSpoolGaugeMemory } from '../../../../src/record/spool-gauge.ts'
import { systemClock, type Clock } from '../../../../src/runtime/clock.ts'
import { createLog } from '../../../../src/runtime/log.ts'
import { API, createAuthority, GATEWAY_URL, GRANT } from '../../../fixtures/token-authority.ts'
import { createIssuerKey, FEDERATED_GRANT, issue, toPlan } from '../../../fixtures/federated-issuer.ts'
import { planOf } from '../../../fixtures/test-limits.ts'

const THREADS = 2
const authority = createAuthority()
const key = createIssuerKey('k1')
const next = createIssuerKey('k2')
const NOW_SECONDS = Math.floor(Date.now() / 1_000)
const TIMES = { iat: NOW_SECONDS, nbf: NOW_SECONDS, exp: NOW_SECONDS + 3_600 }
const UNTIL_MS = (NOW_SECONDS + 3_600) * 1_000

async function listen(arrived: (answer: () => void) => void): Promise<string> {
  const server = createServer((_, response) => arrived(() => response.end('served')))
  const { promise, resolve } = Promise.withResolvers<void>()
  server.listen(0, '127.0.0.1', resolve)
  await promise
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

function planFor(origin: string): RoutePlan {
  return {
    api: API,
    tenant: 'acme',
    revision: 1,
    state: 'Active',
    backend: { origin, basePath: '', timeoutMs: 5_000, mayBePrivate: true },
    allowedScopes: ['payments:read', 'payments:write'],
    memberOfProductIds: ['prd_1'],
    dialect: '3.1',
    components: {},
    responses: [],
    responseComponents: {},
    operations: [
      {
        operationId: 'read',
        method: 'GET',
        path: '/payments',
        security: [{ tokenScopes: ['payments:read'], apiKey: false, keyScopes: [] }],
        parameters: [],
        body: null,
        responses: [],
      },
    ],
  }
}

/** A clock that runs the restart of a thread at once, and a promise for that restart. */
function observeRestart() {
  const { promise: started, resolve } = Promise.withResolvers<void>()
  let isThreadGone = false
  const clock: Clock = {
    ...systemClock,
    // The first timer after a thread has ended is the one that starts its replacement.
    after(delayMs, task) {
      if (!isThreadGone) return systemClock.after(delayMs, task)
      isThreadGone = false
      return systemClock.after(0, () => {
        task()
        resolve()
      })
    },
  }
  return { clock, started, onThreadGone: () => void (isThreadGone = true) }
}

async function openPool({
  grant = GRANT as Grant,
  refetch = async () => false,
  limited = false,
  counters = async () => {},
  arrived = (answer: () => void): void => answer(),
} = {}) {
  const declarations = createActiveDeclarations(createLimitMemory({ threads: THREADS }))
  const sla = { ...planOf({ limits: [{ name: 'a', totals: { minute: 1_000 } }] }), api: API }
  const slas = limited ? [sla] : []
  for (const each of slas) declarations.setPlan(each)
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-gateway-pool-'))
  const origin = await listen(arrived)
  const counts = new Map<string, number>()
  const restart = observeRestart()
  const pool = createGatewayPool({
    entry: new URL('./gateway-pool-thread.ts', import.meta.url),
    threads: THREADS,
    port: 0,
    settings: {
      host: '127.0.0.1',
      gatewayUrl: GATEWAY_URL,
      spoolAfter: {},
      spoolFolder: folder,
      spoolSync: 'never',
      spoolGauge: createSpoolGaugeMemory(),
      spoolBytesMax: 2 ** 30,
      spoolFaults: createSpoolFaultsMemory(8),
      spoolExplains: true,
      hashKey: '',
      reusePort: true,
      connections: { clients: 1_000, backends: 1_000 },
      ownAddresses: { urls: [], ports: [] },
    },
    handlers: {
      resolve: async ({ kind }) => (kind === 'federated' ? FEDERATED_GRANT : grant),
      async block(parameters) {
        await counters()
        return declarations.block(parameters)
      },
      oauth: async ({ endpoint }) => ({ status: 200, headers: {}, body: endpoint, signal: null }),
      refetch: () => refetch(),
    },
    clock: restart.clock,
    log: createLog('silent'),
    onSpoolGrowth: () => {},
    onCount: (reason, by = 1) => void counts.set(reason, (counts.get(reason) ?? 0) + by),
    onDrift: () => {},
    onUpstream: () => {},
    onDamage: () => {},
    onThreadGone: restart.onThreadGone,
  })
  onTestFinished(async () => {
    await pool.stop()
    rmSync(folder, { recursive: true })
  })
  const plan = planFor(origin)
  await pool.setKeys(authority.jwks)
  await (await pool.prepare(plan, slas)).swap()
  const port = await pool.start()
  const request = (path: string, token: string) => fetchStatus(port, path, token)
  /** Uses one connection per call, so that the kernel distributes the calls over the threads. */
  const callAll = async (token: string, times = 16) =>
    new Set(await Promise.all(Array.from({ length: times }, () => request(`/${API}/payments`, token))))
  return { ...pool, plan, request, callAll, counts, restarts: restart.started }
}

function fetchStatus(port: number, path: string, token: string): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<number>()
  const headers = { Authorization: `Bearer ${token}` }
  const agent = new Agent({ keepAlive: false })
  get({ host: '127.0.0.1', port, path, headers, agent }, (response) => {
    response.resume()
    response.on('end', () => resolve(response.statusCode ?? 0))
  }).on('error', reject)
  return promise
}

const token = (claims: object = {}) => authority.token({ ...TIMES, ...claims })
const foreign = (by = key) => issue(by, TIMES)

describe('a gateway thread that ends', () => {
  it('loses only its own calls, and the pool counts them', async () => {
    const CALLS = 16
    const pending: (() => void)[] = []
    const { promise: allArrived, resolve: arriveAll } = Promise.withResolvers<void>()
    const { request, counts, restarts } = await openPool({
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
})

describe('GatewayPool', () => {
  it('rejects every call that is sent after the revocation of its token has resolved', async () => {
    const { callAll, revokeToken, request } = await openPool()
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

  it('rejects a call whose token is revoked while the call waits for its counters', async () => {
    const requested = Promise.withResolvers<void>()
    const gate = Promise.withResolvers<void>()
    const counters = (): Promise<void> => {
      requested.resolve()
      return gate.promise
    }
    const { request, revokeToken } = await openPool({ limited: true, counters })
    const status = request(`/${API}/payments`, token())
    await requested.promise
    await revokeToken({ jti: 'tok_1', untilMs: UNTIL_MS })
    gate.resolve()

    expect(await status).toBe(401)
    expect(await request(`/${API}/payments`, token({ jti: 'tok_2' }))).toBe(200)
  })

  it('removes an API from a product and adds it again, with the same tokens', async () => {
    const { callAll, applyMembership } = await openPool({ grant: { ...GRANT, api: '', apiProductId: 'prd_1' } })
    expect(await callAll(token())).toEqual(new Set([200]))
    await applyMembership(API, ['prd_2'])
    expect(await callAll(token())).toEqual(new Set([403]))
    await applyMembership(API, ['prd_2', 'prd_1'])
    expect(await callAll(token())).toEqual(new Set([200]))
  })

  it('keeps a membership that was set between the preparation and the swap of a revision', async () => {
    const { callAll, applyMembership, prepare, plan } = await openPool({
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
    const { callAll, applyProviders } = await openPool()
    expect(await callAll(foreign())).toEqual(new Set([401]))
    await applyProviders([toPlan([key])])
    expect(await callAll(foreign())).toEqual(new Set([200]))
    await applyProviders([toPlan([next])])
    expect(await callAll(foreign())).toEqual(new Set([401]))
    expect(await callAll(foreign(next))).toEqual(new Set([200]))
  })

  it('delivers a refetched provider key to a thread before the response to its request', async () => {
    const keys = { publish: async () => false }
    const { callAll, applyProviders } = await openPool({ refetch: () => keys.publish() })
    await applyProviders([toPlan([key])])
    keys.publish = async () => {
      await applyProviders([toPlan([key, next])])
      return true
    }
    expect(await callAll(foreign(next))).toEqual(new Set([200]))
  })

  it('restores revoked tokens, membership and providers on a restarted thread', async () => {
    const { callAll, request, revokeToken, applyMembership, applyProviders, restarts } = await openPool({
      grant: { ...GRANT, api: '', apiProductId: 'prd_9' },
    })
    await revokeToken({ jti: 'tok_1', untilMs: UNTIL_MS })
    await applyMembership(API, ['prd_9'])
    await applyProviders([toPlan([key])])
    await request('/die', '').catch(() => {})
    await restarts
    // Like every command, this one waits until the replacement has started.
    await applyProviders([toPlan([key])])

    expect(await callAll(token())).toEqual(new Set([401]))
    expect(await callAll(token({ jti: 'tok_2' }))).toEqual(new Set([200]))
    expect(await callAll(foreign())).toEqual(new Set([200]))
  })
})

describe('the authorize endpoint', () => {
  it('takes precedence over APIs and is executed on the main thread', async () => {
    const { request } = await openPool()
    expect(await request('/oauth2/v2/authorize?a=b', '')).toBe(200)
    expect(await request('/oauth2/v2/elsewhere', '')).toBe(404)
  })
})
