/**
 * From a refused call at one node to the event in the stream of another one (N6).
 *
 * Each probe is the first refused call of a consumer of its own, at each node in turn, while a good call a few times a second goes on
 * at each of them. One reader reads the stream of the next node.
 *
 *   BENCH_PROBES=200 BENCH_RATE=50 node bench/nodes-delay.ts
 */

import { loadavg } from 'node:os'
import { setTimeout as pause } from 'node:timers/promises'
import { request } from 'undici'
import { enrol } from '../src/interfaces/cli/enrol.ts'
import { readEventStream } from '../src/interfaces/cli/event-stream.ts'
import { createPlatformClient } from '../src/interfaces/cli/platform-client.ts'
import { startService, type ServiceProcess } from '../src/interfaces/cli/service-process.ts'
import { createClickHouseServer } from '../test/fixtures/clickhouse-server.ts'
import { createPostgresServer } from '../test/fixtures/postgres-server.ts'
import { createRedisServer } from '../test/fixtures/redis-server.ts'
import { BENCH_PATH } from './contestant.ts'
import { describeMachine } from './machine.ts'
import { percentile } from './spread.ts'
import { startSteadyLoad } from './steady-load.ts'
import { BENCH_API } from './subject/bench-api.ts'
import { startSubject } from './subject/tollgate.ts'
import { openWorkbench } from './workbench.ts'

const PROBES = Number(process.env['BENCH_PROBES'] ?? 200)
const RATE = Number(process.env['BENCH_RATE'] ?? 50)
const PROBE_EVERY_MS = 50
const LAST_EVENT_MS_MAX = 35_000
const TARGET_MS = 500
const NAMES = ['a', 'b', 'c']
const CLIENT_SECRET = 'a secret for the length of a bench'

console.log(`machine: ${describeMachine()}; load average ${loadavg()[0]!.toFixed(1)}`)
const workbench = await openWorkbench()
const servers = await Promise.all([createClickHouseServer(), createRedisServer(), createPostgresServer()])
const [clickHouse, redis, postgres] = servers
const SHARED = {
  ...{ CLICKHOUSE_URL: clickHouse.url, REDIS_URL: redis.url, DATABASE_URL: await postgres.createDatabase() },
  MASTER_KEY: 'ab'.repeat(32),
  GATEWAY_URL: 'http://gateway.example',
  BASE_URL: 'http://platform.example',
  GATEWAY_THREADS: '1',
}
const optionsOf = (name: string) => ({
  ...{ args: ['--empty'], env: { ...SHARED, NODE_NAME: name }, clientSecret: CLIENT_SECRET, startMsMax: 120_000 },
})
const nodes: ServiceProcess[] = []
try {
  const { service, enrolment } = await startSubject(workbench.backendPort, optionsOf(NAMES[0]!))
  nodes.push(service)
  for (const name of NAMES.slice(1)) nodes.push(await startService(optionsOf(name)))
  await measureDelay(enrolment.token)
} finally {
  await Promise.all(nodes.map((node) => node.stop()))
  await workbench.close()
  for (const server of servers) await server.remove()
}

async function measureDelay(token: string): Promise<void> {
  const probes = await enrolProbes(nodes[0]!)
  const sentMs = new Map<string, number>()
  const delaysMs = new Map<string, number>()
  const end = new AbortController()
  // Each reader counts the probes at the node before it.
  const readers = nodes.map((node, reader) =>
    readFrom(node, end.signal, (consumer) => {
      const at = sentMs.get(consumer)
      const probe = probes.findIndex((each) => each.consumer === consumer)
      if (at !== undefined && (probe + 1) % nodes.length === reader) delaysMs.set(consumer, performance.now() - at)
    }),
  )
  await Promise.all(readers.map(({ opened }) => opened))
  const loads = nodes.map(({ gatewayUrl: origin }) =>
    startSteadyLoad({ origin, path: BENCH_PATH, token, callsPerSecond: RATE }),
  )
  for (const [index, { consumer, token: own }] of probes.entries()) {
    sentMs.set(consumer, performance.now())
    await probe(nodes[index % nodes.length]!.gatewayUrl + BENCH_PATH, own)
    await pause(PROBE_EVERY_MS)
  }
  for (let waited = 0; delaysMs.size < PROBES && waited < LAST_EVENT_MS_MAX; waited += 100) await pause(100)
  await Promise.all(loads.map((load) => load.stop()))
  end.abort()
  await Promise.all(readers.map(({ read }) => read))
  const sorted = [...delaysMs.values()].sort((a, b) => a - b)
  const at = (percent: number): string => percentile(sorted, percent).toFixed(0)
  console.log(
    `N6  call to event through another node, ${sorted.length} of ${PROBES} probes: p50 ${at(50)} ms, p99 ${at(99)} ms, max ${at(100)} ms, target <= ${TARGET_MS}; load average ${loadavg()[0]!.toFixed(1)}`,
  )
}

async function enrolProbes(node: ServiceProcess): Promise<readonly { consumer: string; token: string }[]> {
  const platform = createPlatformClient(node)
  const { gatewayUrl } = node
  const probes: { consumer: string; token: string }[] = []
  for (let number = 0; number < PROBES; number++) {
    const name = `probe-${number}`
    const of = { platform, gatewayUrl, api: BENCH_API, name, kind: 'application' as const, scopes: ['items:write'] }
    probes.push(await enrol(of))
  }
  return probes
}

function readFrom(node: ServiceProcess, signal: AbortSignal, onOpened: (consumer: string) => void) {
  const { promise: opened, resolve: onOpen, reject } = Promise.withResolvers<void>()
  async function read(): Promise<void> {
    const token = await createPlatformClient(node).token()
    const url = `${node.baseUrl}/v1/events/subscribe`
    await readEventStream({
      ...{ url, token, signal, onOpen },
      onEvent({ data }) {
        const { phase, attributedTo } = JSON.parse(data) as { phase: string; attributedTo: { id: string } }
        if (phase === 'opened') onOpened(attributedTo.id)
      },
    })
  }
  const reading = read().catch((cause: unknown) => {
    reject(cause)
    if (!signal.aborted) throw cause
  })
  return { opened, read: reading }
}

/** A call beyond the scopes of its token. */
async function probe(url: string, token: string): Promise<void> {
  const { statusCode, body } = await request(url, { headers: { authorization: `Bearer ${token}` } })
  await body.dump()
  if (statusCode !== 403) throw new Error(`a probe was answered ${statusCode}, not 403`)
}
