/** Commands on real gateway threads: what they answer is true for the next call on any of them. */

import { mkdtempSync, rmSync } from 'node:fs'
import { Agent, createServer, get } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { Grant } from '../../../../src/plan/grant.ts'
import type { RoutePlan } from '../../../../src/plan/route-plan.ts'
import { createFleet } from '../../../../src/gateway/threads/fleet.ts'
import { createActiveDeclarations } from '../../../../src/gateway/limits/active-declarations.ts'
import { createLimitMemory } from '../../../../src/gateway/limits/limit-memory.ts'
import { createSpoolFaultsMemory } from '../../../../src/record/spool-faults.ts'
import { createSpoolGaugeMemory } from '../../../../src/record/spool-gauge.ts'
import { systemClock } from '../../../../src/runtime/clock.ts'
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

async function open({
  grant = GRANT as Grant,
  refetch = async () => false,
  limited = false,
  counters = async () => {},
  arrived = (answer: () => void): void => answer(),
} = {}) {
  const desk = createActiveDeclarations(createLimitMemory({ threads: THREADS }))
  const sla = { ...planOf({ limits: [{ name: 'a', totals: { minute: 1_000 } }] }), api: API }
  const slas = limited ? [sla] : []
  for (const each of slas) desk.setPlan(each)
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-fleet-'))
  const origin = await listen(arrived)
  const counts = new Map<string, number>()
  const restarts = Promise.withResolvers<void>()
  let isThreadGone = false
  const fleet = createFleet({
    entry: new URL('./fleet-thread.ts', import.meta.url),
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
    answers: {
      resolve: async ({ kind }) => (kind === 'federated' ? FEDERATED_GRANT : grant),
      async block(ask) {
        await counters()
        return desk.block(ask)
      },
      oauth: async ({ endpoint }) => ({ status: 200, headers: {}, body: `asked for ${endpoint}`, signal: null }),
      refetch: () => refetch(),
    },
    clock: {
      ...systemClock,
      // The first timer after the end of a thread is the one that starts another.
      after(delayMs, task) {
        if (!isThreadGone) return systemClock.after(delayMs, task)
        isThreadGone = false
        return systemClock.after(0, () => {
          task()
          restarts.resolve()
        })
      },
    },
    log: createLog('silent'),
    onGrowth: () => {},
    onCount: (reason, by) => void counts.set(reason, (counts.get(reason) ?? 0) + by),
    onDrift: () => {},
    onUpstream: () => {},
    onDamage: () => {},
    onThreadGone() {
      isThreadGone = true
    },
  })
  onTestFinished(async () => {
    await fleet.stop()
    rmSync(folder, { recursive: true })
  })
  const plan: RoutePlan = {
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
  await fleet.setKeys(authority.jwks)
  await (await fleet.prepare(plan, slas)).swap()
  const port = await fleet.start()
  const request = (path: string, token: string) => fetchStatus(port, path, token)
  /** On connections of their own, so that every thread takes some. */
  const callAll = async (token: string, times = 16) =>
    new Set(await Promise.all(Array.from({ length: times }, () => request(`/${API}/payments`, token))))
  return { ...fleet, plan, request, callAll, counts, restarts: restarts.promise }
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

describe('a thread that ends', () => {
  it('takes only its own calls with it, and they are counted', async () => {
    const CALLS = 16
    const held: (() => void)[] = []
    const { promise: allArrived, resolve: arriveAll } = Promise.withResolvers<void>()
    const { request, counts, restarts } = await open({
      arrived(answer) {
        if (held.push(answer) === CALLS) arriveAll()
      },
    })
    const calls = Array.from({ length: CALLS }, () => request(`/${API}/payments`, token()).catch(() => 'cut off'))
    await allArrived
    await request('/die', '').catch(() => {})
    await restarts
    for (const answer of held) answer()

    const outcomes = await Promise.all(calls)
    const cutOff = outcomes.filter((outcome) => outcome === 'cut off').length
    expect(cutOff).toBeGreaterThan(0)
    expect(outcomes.filter((outcome) => outcome === 200)).toHaveLength(CALLS - cutOff)
    expect(counts.get('call_lost_with_thread')).toBe(cutOff)
  })
})

describe('a command on all threads', () => {
  it('revokes a token: no call that is sent after the answer is served', async () => {
    const { callAll, revokeToken, request } = await open()
    const [revoked, other] = [token(), token({ jti: 'tok_2' })]
    expect(await callAll(revoked)).toEqual(new Set([200]))

    let isAnswered = false
    const late: number[] = []
    const hammer = async (): Promise<void> => {
      for (let round = 0; round < 60; round++) {
        const isLate = isAnswered
        const status = await request(`/${API}/payments`, revoked)
        if (isLate) late.push(status)
      }
    }
    const hammers = Array.from({ length: 8 }, hammer)
    await revokeToken({ jti: 'tok_1', untilMs: UNTIL_MS })
    isAnswered = true
    await Promise.all(hammers)

    expect(late.length).toBeGreaterThan(0)
    expect(new Set(late)).toEqual(new Set([401]))
    expect(await callAll(other)).toEqual(new Set([200]))
  })

  it('revokes a token also for a call that waits for its counters', async () => {
    const asked = Promise.withResolvers<void>()
    const gate = Promise.withResolvers<void>()
    const counters = (): Promise<void> => {
      asked.resolve()
      return gate.promise
    }
    const { request, revokeToken } = await open({ limited: true, counters })
    const status = request(`/${API}/payments`, token())
    await asked.promise
    await revokeToken({ jti: 'tok_1', untilMs: UNTIL_MS })
    gate.resolve()

    expect(await status).toBe(401)
    expect(await request(`/${API}/payments`, token({ jti: 'tok_2' }))).toBe(200)
  })

  it('takes an API out of a product and brings it back, with the same tokens', async () => {
    const { callAll, applyMembership } = await open({ grant: { ...GRANT, api: '', apiProductId: 'prd_1' } })
    expect(await callAll(token())).toEqual(new Set([200]))
    await applyMembership(API, ['prd_2'])
    expect(await callAll(token())).toEqual(new Set([403]))
    await applyMembership(API, ['prd_2', 'prd_1'])
    expect(await callAll(token())).toEqual(new Set([200]))
  })

  it('on membership holds against a revision that was prepared before it and is swapped after it', async () => {
    const { callAll, applyMembership, prepare, plan } = await open({
      grant: { ...GRANT, api: '', apiProductId: 'prd_1' },
    })
    const before = await prepare({ ...plan, revision: 2 }, [])
    await applyMembership(API, [])
    await before.swap()
    expect(await callAll(token())).toEqual(new Set([403]))
    await (await prepare({ ...plan, revision: 3 }, [])).swap()
    expect(await callAll(token())).toEqual(new Set([200]))
  })

  it('lets in the tokens of a provider, and no more once its key is gone', async () => {
    const { callAll, applyProviders } = await open()
    expect(await callAll(foreign())).toEqual(new Set([401]))
    await applyProviders([toPlan([key])])
    expect(await callAll(foreign())).toEqual(new Set([200]))
    await applyProviders([toPlan([next])])
    expect(await callAll(foreign())).toEqual(new Set([401]))
    expect(await callAll(foreign(next))).toEqual(new Set([200]))
  })

  it('brings a key that a thread asked for before the answer to it', async () => {
    const keys = { publish: async () => false }
    const { callAll, applyProviders } = await open({ refetch: () => keys.publish() })
    await applyProviders([toPlan([key])])
    keys.publish = async () => {
      await applyProviders([toPlan([key, next])])
      return true
    }
    expect(await callAll(foreign(next))).toEqual(new Set([200]))
  })

  it('holds also on a thread that was started anew', async () => {
    const { callAll, request, revokeToken, applyMembership, applyProviders, restarts } = await open({
      grant: { ...GRANT, api: '', apiProductId: 'prd_9' },
    })
    await revokeToken({ jti: 'tok_1', untilMs: UNTIL_MS })
    await applyMembership(API, ['prd_9'])
    await applyProviders([toPlan([key])])
    await request('/die', '').catch(() => {})
    await restarts
    // Waits, as every command does, until the thread that takes its place is up.
    await applyProviders([toPlan([key])])

    expect(await callAll(token())).toEqual(new Set([401]))
    expect(await callAll(token({ jti: 'tok_2' }))).toEqual(new Set([200]))
    expect(await callAll(foreign())).toEqual(new Set([200]))
  })
})

describe('the authorize endpoint', () => {
  it('is no API: it reaches the OAuth server, and by it the main thread', async () => {
    const { request } = await open()
    expect(await request('/oauth2/v2/authorize?a=b', '')).toBe(200)
    expect(await request('/oauth2/v2/elsewhere', '')).toBe(404)
  })
})
