/**
 * The share of a budget that is unused when the first call is refused (N8): three nodes, 10,000 calls a minute or a month, each call at
 * a random node. Redis grants the minute, PostgreSQL the month. What is unused returns within two seconds.
 *
 * Rounds that meet no refusal before the minute ends, or a call that fails otherwise, are left out.
 *
 *   BENCH_ROUNDS=5 node bench/limit-waste.ts
 */

import { randomInt } from 'node:crypto'
import { loadavg } from 'node:os'
import { request } from 'undici'
import { enrol } from '../src/interfaces/cli/enrol.ts'
import { startService, type ServiceProcess } from '../src/interfaces/cli/service-process.ts'
import { createClickHouseServer } from '../test/fixtures/clickhouse-server.ts'
import { createPostgresServer } from '../test/fixtures/postgres-server.ts'
import { createRedisServer } from '../test/fixtures/redis-server.ts'
import { BENCH_PATH } from './contestant.ts'
import { describeMachine } from './machine.ts'
import { spreadOf, toText } from './spread.ts'
import { BENCH_API } from './subject/bench-api.ts'
import { startSubject, type Subject } from './subject/tollgate.ts'
import { openWorkbench } from './workbench.ts'

const ROUNDS = Number(process.env['BENCH_ROUNDS'] ?? 5)
const CONNECTIONS = Number(process.env['BENCH_CONNECTIONS'] ?? 12)
const LIMIT = 10_000
const MINUTE_MS = 60_000
const WINDOWS = ['minute', 'month'] as const

type Window = (typeof WINDOWS)[number]

console.log(`machine: ${describeMachine()}; load average ${loadavg()[0]!.toFixed(1)}`)
console.log(`load:    ${CONNECTIONS} callers, each call at a random node of three; ${ROUNDS} rounds\n`)

const workbench = await openWorkbench()
const clickHouse = await createClickHouseServer()
const redis = await createRedisServer()
const postgres = await createPostgresServer()
const nodes: ServiceProcess[] = []
try {
  const env = {
    MASTER_KEY: 'ab'.repeat(32),
    GATEWAY_URL: 'http://gateway.example',
    BASE_URL: 'http://platform.example',
    GATEWAY_THREADS: '1',
    ...{ CLICKHOUSE_URL: clickHouse.url, REDIS_URL: redis.url, DATABASE_URL: await postgres.createDatabase() },
  }
  const clientSecret = 'secret-of-the-bench-0123456789abcdef'
  const common = { args: ['--empty'], clientSecret, startMsMax: 2 * MINUTE_MS }
  const start = (NODE_NAME: string) => ({ ...common, env: { ...env, NODE_NAME } })
  const subject = await startSubject(workbench.backendPort, start('a'))
  nodes.push(subject.service)
  for (const name of ['b', 'c']) nodes.push(await startService(start(name)))
  for (const window of WINDOWS) await measure(window, subject)
  console.log(`load average at the end: ${loadavg()[0]!.toFixed(1)}`)
} finally {
  for (const node of nodes.toReversed()) await node.stop()
  await workbench.close()
  for (const server of [clickHouse, redis, postgres]) await server.remove()
}

async function measure(window: Window, { platform, service }: Subject): Promise<void> {
  const declaration = {
    ...{ opensla: '1.0.0', info: { title: 'Bench', version: '1.0.0' } },
    limits: [{ name: 'all', totals: { [window]: LIMIT } }],
  }
  const specification = Buffer.from(JSON.stringify(declaration)).toString('base64')
  await platform.post('/v1/openslaspecs', { api: BENCH_API, specification })
  const unused: number[] = []
  let discarded = 0
  for (let round = 0; round < ROUNDS; round++) {
    const name = `${window} ${round}`
    const { gatewayUrl } = service
    const { token } = await enrol({ platform, gatewayUrl, api: BENCH_API, name, kind: 'application' })
    if (window === 'minute') await untilNextMinute()
    const share = await unusedShare(token, window === 'minute' ? MINUTE_MS - 1_000 : 4 * MINUTE_MS)
    if (share === null) discarded++
    else unused.push(share)
  }
  const text = unused.length === 0 ? 'no round' : toText(spreadOf(unused), 4)
  console.log(`unused of ${LIMIT} a ${window}: ${text}  (${unused.length} rounds; ${discarded} left out)`)
}

/** Calls until one is refused; null if none is in time, or if a call fails. */
async function unusedShare(token: string, withinMs: number): Promise<number | null> {
  const untilMs = performance.now() + withinMs
  const counts = { admitted: 0, refused: 0, failed: 0 }
  const callOn = async (): Promise<void> => {
    while (counts.refused + counts.failed === 0 && performance.now() < untilMs) {
      const url = nodes[randomInt(nodes.length)]!.gatewayUrl + BENCH_PATH
      const { statusCode, body } = await request(url, { headers: { authorization: `Bearer ${token}` } })
      await body.dump()
      if (statusCode === 200) counts.admitted++
      else if (statusCode === 429) counts.refused++
      else counts.failed++
    }
  }
  await Promise.all(Array.from({ length: CONNECTIONS }, callOn))
  if (counts.admitted > LIMIT) throw new Error(`${counts.admitted} calls were admitted of ${LIMIT}`)
  return counts.refused === 0 || counts.failed > 0 ? null : 1 - counts.admitted / LIMIT
}

function untilNextMinute(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, MINUTE_MS - (Date.now() % MINUTE_MS) + 50))
}
