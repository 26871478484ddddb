/**
 * How long a node takes to join others and to serve all APIs (N9).
 *
 * One node runs with a catalogue whose APIs each have a document and a declaration of their own. Another one, with an empty data
 * folder, is started beside it, again and again: from the start of its process until `/readyz` answers 200 and an API that was
 * chosen at random answers a call with 200. Then all APIs are called, which must all be known to it.
 *
 *   BENCH_APIS=10000 BENCH_ROUNDS=5 BENCH_THREADS=2 node bench/join.ts
 */

import { mkdtempSync, rmSync } from 'node:fs'
import { loadavg, tmpdir } from 'node:os'
import { join as joinPath } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { Agent } from 'undici'
import { enrol } from '../src/interfaces/cli/enrol.ts'
import { createPlatformClient } from '../src/interfaces/cli/platform-client.ts'
import { startService, type ServiceOptions } from '../src/interfaces/cli/service-process.ts'
import { openPostgres } from '../src/storage/store/postgres/open-postgres.ts'
import { systemClock } from '../src/foundation/runtime/clock.ts'
import { executeSql } from '../test/fixtures/test-postgres.ts'
import { createClickHouseServer } from '../test/fixtures/clickhouse-server.ts'
import { createPostgresServer } from '../test/fixtures/postgres-server.ts'
import { createRedisServer } from '../test/fixtures/redis-server.ts'
import { describeMachine } from './machine.ts'
import { processCpuMs } from './process-cpu.ts'
import { spreadOf, toText } from './spread.ts'
import { BENCH_API } from './subject/bench-api.ts'
import { startSubject } from './subject/tollgate.ts'
import { openWorkbench } from './workbench.ts'
import { copyWholeApi } from './whole-apis.ts'

const APIS = Number(process.env['BENCH_APIS'] ?? 10_000)
const ROUNDS = Number(process.env['BENCH_ROUNDS'] ?? 5)
const GATEWAY_THREADS = process.env['BENCH_THREADS'] ?? '2'
const CLIENT_SECRET = 'a secret for the length of a bench'
const CALLED = 10
const CONNECTIONS = 16
const TARGET_MS = 5_000
const POLL_MS = 200
const FIRST = 'first'

interface Caller {
  readonly api: string
  readonly token: string
}

interface ScoredApi {
  readonly complianceScore: number | null
}

console.log(`machine: ${describeMachine()}; load average ${loadavg()[0]!.toFixed(1)}`)
const workbench = await openWorkbench()
const servers = await Promise.all([createClickHouseServer(), createRedisServer(), createPostgresServer()])
const [clickHouse, redis, postgres] = servers
/** Kept from the node that makes the first API to the one that others join: until a node has reported its leases, nothing is granted. */
const FIRST_FOLDER = mkdtempSync(joinPath(tmpdir(), 'tollgate-join-'))
const DATABASE_URL = await postgres.createDatabase()
const SHARED = {
  ...{ CLICKHOUSE_URL: clickHouse.url, REDIS_URL: redis.url, DATABASE_URL },
  ...{
    MASTER_KEY: 'ab'.repeat(32),
    GATEWAY_URL: 'http://gateway.example',
    BASE_URL: 'http://platform.example',
    GATEWAY_THREADS,
  },
}
try {
  await measure()
} finally {
  await workbench.close()
  for (const server of servers) await server.remove()
  rmSync(FIRST_FOLDER, { recursive: true, force: true })
}

async function measure(): Promise<void> {
  const names = Array.from({ length: APIS }, (_, number) => `bench${number}-v1`)
  const { service: maker } = await startSubject(workbench.backendPort, optionsOf(FIRST))
  const platform = createPlatformClient(maker)
  while ((await platform.get<ScoredApi>(`/v1/apis/${BENCH_API}`)).complianceScore === null) await delay(POLL_MS)
  await maker.stop()
  await stock(names)
  const first = await startService(optionsOf(FIRST))
  try {
    const platform = createPlatformClient(first)
    const callers: Caller[] = []
    for (const api of random(names, CALLED)) {
      const parts = { platform, gatewayUrl: first.gatewayUrl, api, name: api, kind: 'application' as const }
      callers.push({ api, token: (await enrol(parts)).token })
    }
    // Its copy of the configuration is written once, after its first start.
    while ((await metricOf(first, 'last_good_lag')) > 0) await delay(POLL_MS)
    const joined: number[] = []
    for (let round = 0; round < ROUNDS; round++) joined.push(await join(round, callers, names))
    console.log(`N9  process start to all APIs served: ${toText(spreadOf(joined), 0)} ms, target <= ${TARGET_MS}`)
    console.log(`load average at the end: ${loadavg()[0]!.toFixed(1)}`)
  } finally {
    await first.stop()
  }
}

async function metricOf({ baseUrl }: { readonly baseUrl: string }, name: string): Promise<number> {
  const text = await (await fetch(`${baseUrl}/metrics`)).text()
  return Number(text.match(new RegExp(`^tollgate_${name} (.*)$`, 'm'))?.[1])
}

function optionsOf(name: string): ServiceOptions {
  const env = { ...SHARED, NODE_NAME: name }
  const kept = name === FIRST ? { dataDir: FIRST_FOLDER } : {}
  return { args: ['--empty'], env, clientSecret: CLIENT_SECRET, startMsMax: 600_000, ...kept }
}

async function stock(names: readonly string[]): Promise<void> {
  const onFailed = (cause: unknown): void => console.error(cause)
  const ignored = { onRewound() {}, onReplaced() {} }
  const store = await openPostgres({
    ...{ url: DATABASE_URL, nodeName: 'bench', clock: systemClock, onFailed, isCommand: true },
    ...ignored,
  })
  const startMs = performance.now()
  await copyWholeApi(store.registry, BENCH_API, names)
  await store.close()
  // As the server does by itself after a while.
  await executeSql(DATABASE_URL, 'ANALYZE')
  console.log(`${names.length} APIs, stocked in ${((performance.now() - startMs) / 1_000).toFixed(0)} s`)
}

/** Starts a node with an empty data folder; returns the milliseconds until it served. */
async function join(round: number, callers: readonly Caller[], names: readonly string[]): Promise<number> {
  const startMs = performance.now()
  const node = await startService(optionsOf(`joins-${round}`))
  const agent = new Agent({ connections: CONNECTIONS, pipelining: 1 })
  try {
    const readyMs = performance.now() - startMs
    await Promise.all(callers.map(({ api, token }) => expectStatus(agent, node.gatewayUrl, api, 200, token)))
    const servedMs = performance.now() - startMs
    const cpuMs = processCpuMs(node.pid)
    await Promise.all(names.map((api) => expectStatus(agent, node.gatewayUrl, api, 401)))
    console.log(
      `round ${round}: ready after ${readyMs.toFixed(0)} ms, ${callers.length} calls served after ${servedMs.toFixed(0)} ms with ${cpuMs.toFixed(0)} ms of CPU, all ${names.length} APIs known`,
    )
    return servedMs
  } finally {
    await agent.destroy()
    await node.stop()
  }
}

/** Without a token, an API that is served answers 401, one that is not known 404, and one that is withheld 503. */
async function expectStatus(
  agent: Agent,
  origin: string,
  api: string,
  expected: number,
  token?: string,
): Promise<void> {
  const { statusCode, body } = await agent.request({
    ...{ origin, path: `/${api}/items/itm_0123456789abcdef`, method: 'GET' },
    headers: token === undefined ? {} : { authorization: `Bearer ${token}` },
  })
  const text = await body.text()
  if (statusCode !== expected) throw new Error(`${api} answered ${statusCode} instead of ${expected}: ${text}`)
}

function random<Item>(items: readonly Item[], count: number): readonly Item[] {
  return Array.from({ length: count }, () => items[Math.floor(Math.random() * items.length)]!)
}
