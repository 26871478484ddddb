/** Quotas and totals of a day or longer over several nodes: granted by PostgreSQL in slices, and never exceeded. */

// @module-tag postgres
// @module-tag redis-server

import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'
import { request } from 'undici'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { createProxyBefore, type FaultyProxy } from '../fixtures/faulty-proxy.ts'
import { ledgerDocument, startLedgerBackend, type LedgerBackend } from './ledger-backend.ts'
import { enrol, publish, type Service, TWO_THREADS } from './service.ts'
import { callOne, startSeveralNodes, type SeveralNodes } from './several-nodes.ts'

const PATH = '/ledger-v1/entries?n=1'
const MINUTE = 60_000
/** How long the callers call before PostgreSQL goes away, and how long it is away; `npm run nodes` makes it 60 and 300. */
const ACTIVE_SECONDS = Number(process.env['ACTIVE_SECONDS'] ?? 2)
const OUTAGE_SECONDS = Number(process.env['OUTAGE_SECONDS'] ?? 4)
const PACE_MS = 200
const WAIT = { timeout: MINUTE, interval: 100 }
let several: SeveralNodes
let backend: LedgerBackend
/** Between each node and PostgreSQL. */
const proxies: FaultyProxy[] = []

async function routeOf(_: string, databaseUrl: string): Promise<string> {
  const { proxy, url } = await createProxyBefore(databaseUrl)
  proxies.push(proxy)
  return url
}

beforeAll(async () => {
  backend = await startLedgerBackend()
  several = await startSeveralNodes(['a', 'b', 'c'], TWO_THREADS, { routeOf })
  await publish(node(0), 'ledger-v1', ledgerDocument(), backend.url)
}, 2 * MINUTE)

afterAll(async () => {
  await several.remove()
  await Promise.all([...proxies.map((proxy) => proxy.remove()), backend.close()])
})

function node(turn: number): Service {
  return several.nodes[turn % several.nodes.length]!
}

async function declare(parts: object, api = 'ledger-v1'): Promise<void> {
  const declaration = { opensla: '1.0.0', info: { title: 'Limits', version: '1.0.0' }, ...parts }
  const specification = Buffer.from(JSON.stringify(declaration)).toString('base64')
  await node(0).platform.post('/v1/openslaspecs', { api, specification })
}

/** Calls all nodes in turn, `each` times, and returns how often each status came. */
async function callInTurn(apiKey: string, each: number): Promise<Readonly<Record<number, number>>> {
  const counts: Record<number, number> = {}
  for (let round = 0; round < each; round++)
    for (const at of several.nodes) {
      const status = await callOne(at, PATH, apiKey)
      counts[status] = (counts[status] ?? 0) + 1
    }
  return counts
}

/** Calls on until `served` calls were served: what one node does not need returns to the others within two seconds. */
async function callUntil(served: number, apiKey: string, counts: Readonly<Record<number, number>>): Promise<void> {
  let sum = counts[200] ?? 0
  await expect.poll(async () => (sum += (await callInTurn(apiKey, 1))[200] ?? 0), WAIT).toBe(served)
}

it('serves exactly the units of a quota, whichever node a call reaches', async () => {
  await declare({ quotas: { period: 'Annual', resourceUnits: 100 }, resourceUnits: { default: 2 } })
  const { apiKey } = await enrol(node(0), 'ledger-v1', { name: 'Yearly' })
  const counts = await callInTurn(apiKey, 30)
  expect(Object.keys(counts)).toEqual(['200', '402'])
  await callUntil(50, apiKey, counts)
  expect(await callInTurn(apiKey, 10)).toEqual({ 402: 30 })
})

it('serves exactly the calls of a month', async () => {
  await declare({ limits: [{ name: 'all', totals: { month: 40 } }] })
  const { apiKey } = await enrol(node(0), 'ledger-v1', { name: 'Monthly' })
  const counts = await callInTurn(apiKey, 20)
  expect(Object.keys(counts)).toEqual(['200', '429'])
  await callUntil(40, apiKey, counts)
  expect(await callInTurn(apiKey, 10)).toEqual({ 429: 30 })
})

interface SteadyCaller {
  readonly api: string
  readonly apiKey: string
}

type Answers = Map<string, number>

/** Calls all nodes at a steady pace until `isOver`, each call over a connection of its own; counts the answers. */
async function callSteadily({ api, apiKey }: SteadyCaller, answers: Answers, isOver: () => boolean): Promise<void> {
  async function loop(at: Service): Promise<void> {
    for (let dueMs = performance.now(); !isOver(); dueMs = Math.max(dueMs + PACE_MS, performance.now())) {
      await delay(Math.max(0, dueMs - performance.now()))
      const url = `${at.gatewayUrl}/${api}/entries?n=1`
      const { statusCode, body } = await request(url, { reset: true, headers: { 'x-api-key': apiKey } })
      const { code = '' } = (await body.json()) as { code?: string }
      const answer = `${statusCode} ${code}`.trim()
      answers.set(answer, (answers.get(answer) ?? 0) + 1)
    }
  }
  await Promise.all(several.nodes.map(loop))
}

const sumOf = (all: readonly Answers[]): number => all.flatMap((each) => [...each.values()]).reduce((a, b) => a + b, 0)

/** Returns how many changes the copy of a node lacks. */
async function copyLag({ baseUrl }: Service): Promise<number> {
  const { body } = await request(`${baseUrl}/metrics`)
  return Number(/^tollgate_last_good_lag (.+)$/m.exec(await body.text())?.[1] ?? NaN)
}

interface Slices {
  readonly hash: string
  readonly value: number
  /** What each node has used or may still admit. */
  readonly claims: Readonly<Record<string, number>>
}

async function readSlices(): Promise<readonly Slices[]> {
  const client = new pg.Client(several.settings['DATABASE_URL'])
  await client.connect()
  const { rows } = await client.query<Slices>('SELECT hash, value::float8, claims FROM slice_counter')
  await client.end()
  return rows
}

/** Returns of how many budgets, besides those of before, each node has a tenth or more. On a busy machine that takes a while. */
async function countShared(before: readonly Slices[]): Promise<number> {
  const known = new Set(before.map(({ hash }) => hash))
  const added = (await readSlices()).filter(({ hash }) => !known.has(hash))
  const shares = added.map(({ value, claims }) => Object.values(claims).filter((claim) => claim >= value / 10))
  return shares.filter(({ length }) => length === several.nodes.length).length
}

/** Returns the calls of the active seconds and of some minutes after them, at all nodes. */
const unitsFor = (minutesLeft: number): number =>
  Math.ceil((several.nodes.length / PACE_MS) * 1_000 * (minutesLeft * 60 + ACTIVE_SECONDS))

interface Outage {
  readonly name: string
  begin(): Promise<void> | void
  end(): Promise<void> | void
}

const OUTAGES: readonly Outage[] = [
  { name: 'is away', begin: () => several.postgres.stop(), end: () => several.postgres.start() },
  {
    name: 'does not answer',
    begin: () => proxies.forEach((proxy) => proxy.judge(() => 'hold')),
    end: () => proxies.forEach((proxy) => proxy.judge(null)),
  },
]

it.each(OUTAGES)(
  `serves callers that were active for ${ACTIVE_SECONDS} s and have more than 15 minutes left while PostgreSQL $name for ${OUTAGE_SECONDS} s`,
  { timeout: (ACTIVE_SECONDS + OUTAGE_SECONDS) * 2_000 + 2 * MINUTE },
  async ({ name, begin, end }) => {
    const declarations: readonly object[] = [
      { limits: [{ name: 'all', totals: { month: unitsFor(16) } }] },
      { limits: [{ name: 'all', totals: { day: unitsFor(20), minute: 1_000_000 } }] },
      { quotas: { period: 'Annual', resourceUnits: unitsFor(16) * 2 }, resourceUnits: { default: 2 } },
      {},
    ]
    const slices = await readSlices()
    const callers: SteadyCaller[] = []
    for (const [index, parts] of declarations.entries()) {
      const title = `Steady${index}${name.replaceAll(' ', '')}`
      const api = `${title.toLowerCase()}-v1`
      const document = { ...ledgerDocument(), info: { title, version: '1.0.0' } }
      await publish(node(index), api, document, backend.url)
      await declare(parts, api)
      const { apiKey } = await enrol(node(index), api, { name: api })
      callers.push({ api, apiKey })
    }
    const answers = callers.map((): Answers => new Map())
    let isOver = false
    // Without a pause before the outage: at the end of a budget, what a caller does not need returns within two seconds.
    const calling = Promise.all(callers.map((caller, index) => callSteadily(caller, answers[index]!, () => isOver)))
    await delay(ACTIVE_SECONDS * 1_000)
    await expect.poll(() => countShared(slices), WAIT).toBe(3)
    await expect.poll(() => Promise.all(several.nodes.map(copyLag)), WAIT).toEqual(several.nodes.map(() => 0))
    await begin()
    const before = sumOf(answers)
    await delay(OUTAGE_SECONDS * 1_000)
    const calls = sumOf(answers) - before
    isOver = true
    // Before PostgreSQL is back: no call may wait for it.
    await calling
    await end()
    expect(answers.map((each) => [...each.keys()])).toEqual(callers.map(() => ['200']))
    console.log(`N5  PostgreSQL ${name} for ${OUTAGE_SECONDS} s: 0 of ${calls} calls refused`)
  },
)

it(
  'serves a caller that no node has seen while PostgreSQL is away, and refuses one without access',
  { timeout: 2 * MINUTE },
  async () => {
    await publish(
      node(0),
      'unseen-v1',
      { ...ledgerDocument(), info: { title: 'Unseen', version: '1.0.0' } },
      backend.url,
    )
    const { apiKey } = await enrol(node(0), 'unseen-v1', { name: 'Unseen' })
    const suspended = await enrol(node(0), 'unseen-v1', { name: 'Suspended' })
    await node(1).platform.post(`/v1/subscriptions/${suspended.subscription}/suspend`)
    await expect.poll(() => Promise.all(several.nodes.map(copyLag)), WAIT).toEqual(several.nodes.map(() => 0))
    await several.postgres.stop()
    const path = '/unseen-v1/entries?n=1'
    const statuses = await several.callAll(path, apiKey)
    const refused = await several.callAll(path, suspended.apiKey)
    const unknown = await several.callAll(path, 'nobody')
    await several.postgres.start()
    expect(statuses).toEqual([200, 200, 200])
    expect(refused).toEqual([403, 403, 403])
    expect(unknown).toEqual([401, 401, 401])
  },
)
