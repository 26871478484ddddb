/** The last good configuration: nodes that start while PostgreSQL is away serve the calls of known callers, and join the others later. */

// @module-tag postgres
// @module-tag redis-server

import { statSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ledgerDocument, startLedgerBackend, type LedgerBackend } from './ledger-backend.ts'
import { declareLimit, HOUR, LimitedCaller, publishAs, windowsSince } from './limited-calls.ts'
import { enrol, publish, type Enrolled, type Service, TWO_THREADS } from './service.ts'
import {
  callOne,
  pendingAfter,
  serveAfter,
  servingNodes,
  startSeveralNodes,
  type SeveralNodes,
} from './several-nodes.ts'

const PATH = '/ledger-v1/entries?n=1'
const MINUTE = 60_000
const FILE = 'last-good.db'
const HOURLY = 100
const NAMES = ['a', 'b', 'c']
let several: SeveralNodes
let backend: LedgerBackend
let known: Enrolled
let revoked: Enrolled
let bearer: string
let hourly: LimitedCaller
let daily: LimitedCaller
const served = { calls: 0 }

beforeAll(async () => {
  backend = await startLedgerBackend('first')
  several = await startSeveralNodes(NAMES, TWO_THREADS)
  await publish(node(0), 'ledger-v1', ledgerDocument(), backend.url)
  await publishAs(node(0), 'Hourly', backend.url)
  await declareLimit(node(0), { totals: { hour: HOURLY } }, 'hourly-v1')
  await publishAs(node(0), 'Daily', backend.url)
  await declareLimit(node(0), { totals: { day: 100_000 } }, 'daily-v1')
  hourly = await LimitedCaller.enrol(node(0), 'Hourly', 'hourly-v1', '/hourly-v1/entries?n=1')
  daily = await LimitedCaller.enrol(node(0), 'Daily', 'daily-v1', '/daily-v1/entries?n=1')
  known = await enrol(node(0), 'ledger-v1', { name: 'Known' })
  revoked = await enrol(node(1), 'ledger-v1', { name: 'Revoked' })
  bearer = await known.token()
}, 2 * MINUTE)

afterAll(async () => {
  await several.remove()
  await backend.close()
})

function node(index: number): Service {
  return several.nodes[index]!
}

async function callKnown(at: Service): Promise<number> {
  const status = await callOne(at, PATH, known.apiKey)
  if (status === 200) served.calls++
  return status
}

async function statusWithToken({ gatewayUrl }: Service, token: string): Promise<number> {
  const response = await fetch(gatewayUrl + PATH, { headers: { authorization: `Bearer ${token}` } })
  await response.arrayBuffer()
  if (response.status === 200) served.calls++
  return response.status
}

async function readiness({ baseUrl }: Service): Promise<{ status: number; reason: string | undefined }> {
  const response = await fetch(`${baseUrl}/readyz`)
  const { reason } = (await response.json()) as { reason?: string }
  return { status: response.status, reason }
}

async function metricOf({ baseUrl }: Service, line: string): Promise<number> {
  const text = await (await fetch(`${baseUrl}/metrics`)).text()
  const found = text.split('\n').find((each) => each.startsWith(`tollgate_${line} `))
  return Number(found?.split(' ')[1])
}

async function statusOfPlatform({ baseUrl }: Service, path: string, apiToken: string): Promise<number> {
  const response = await fetch(`${baseUrl}${path}`, { headers: { authorization: `Bearer ${apiToken}` } })
  await response.arrayBuffer()
  return response.status
}

describe('nodes that start while PostgreSQL is away', () => {
  it('serve known callers, refuse revoked ones and commands, and join later', { timeout: 3 * MINUTE }, async () => {
    expect(await several.callAll(PATH, revoked.apiKey)).toEqual([200, 200, 200])
    expect(await Promise.all(several.nodes.map(callKnown))).toEqual([200, 200, 200])
    await node(2).platform.post(`/v1/subscriptions/${revoked.subscription}/suspend`)
    const admin = await node(0).platform.token()
    const fromMs = Date.now()
    for (const each of several.nodes) {
      await expect.poll(() => hourly.call(each), { timeout: MINUTE }).toBe(200)
      await expect.poll(() => daily.call(each), { timeout: MINUTE }).toBe(200)
    }
    for (const each of [node(1), node(2)]) {
      await expect.poll(() => metricOf(each, 'last_good_lag'), { timeout: MINUTE }).toBe(0)
      expect(statSync(join(each.dataDir, FILE)).mode & 0o777).toBe(0o600)
    }
    await several.postgres.stop()
    await Promise.all([node(1).kill(), node(2).kill()])
    await Promise.all([node(1).start(), node(2).start()])

    for (const each of [node(1), node(2)]) {
      expect(await callKnown(each)).toBe(200)
      expect(await statusWithToken(each, bearer)).toBe(200)
      expect(await statusWithToken(each, await tokenAt(each, known))).toBe(200)
      expect(await callOne(each, PATH, revoked.apiKey)).toBe(403)
      // Redis grants leases to a node that it knows; slices of a day come from PostgreSQL.
      await expect.poll(() => hourly.call(each), { timeout: MINUTE }).toBe(200)
      expect(await daily.call(each)).toBe(503)
      expect(await callOne(each, PATH, 'tg_unknown')).toBe(401)
      expect(await readiness(each)).toEqual({ status: 200, reason: expect.stringContaining('PostgreSQL') as string })
      for (const path of ['/v1/consumers', '/v1/risks', `/v1/subscriptions/${known.subscription}/credentials`]) {
        expect(await statusOfPlatform(each, path, admin)).toBe(503)
      }
      await expect(pendingAfter(each, `/v1/subscriptions/${known.subscription}/suspend`)).rejects.toThrow()
      expect(await metricOf(each, 'events_total{reason="last_good_served"}')).toBe(1)
    }
    expect(await callKnown(node(0))).toBe(200)

    await several.postgres.start()
    for (const each of several.nodes) {
      await expect.poll(() => readiness(each), { timeout: MINUTE }).toEqual({ status: 200, reason: undefined })
    }
    await expect.poll(() => servingNodes(node(1)), { timeout: MINUTE }).toEqual(NAMES)
    await serveAfter(node(1), `/v1/subscriptions/${known.subscription}/suspend`, NAMES)
    expect(await several.callAll(PATH, known.apiKey)).toEqual([403, 403, 403])
    await serveAfter(node(2), `/v1/subscriptions/${known.subscription}/resume`, NAMES)
    expect(await Promise.all(several.nodes.map(callKnown))).toEqual([200, 200, 200])
    await expect.poll(billed, { timeout: MINUTE }).toBe(served.calls)
    for (const each of several.nodes) await expect.poll(() => daily.call(each), { timeout: MINUTE }).toBe(200)
    await hourly.burst(several.nodes, HOURLY)
    expect(hourly.admitted).toBeLessThanOrEqual(HOURLY * windowsSince(fromMs, HOUR))
    expect([...hourly.unclear, ...daily.unclear]).toEqual([])
  })
})

async function tokenAt({ gatewayUrl }: Service, { clientId, clientSecret }: Enrolled): Promise<string> {
  const response = await fetch(`${gatewayUrl}/ledger-v1/oauth2/v2/token`, {
    method: 'POST',
    body: new URLSearchParams({ grant_type: 'client_credentials', client_id: clientId, client_secret: clientSecret }),
  })
  return ((await response.json()) as { access_token: string }).access_token
}

async function billed(): Promise<number> {
  const { items } = await node(0).platform.get<{ items: readonly { customer: string; calls: number }[] }>(
    '/v1/summaries?groupBy=customer',
  )
  return items.find(({ customer }) => customer === known.consumer)?.calls ?? 0
}
