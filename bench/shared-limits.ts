/**
 * The CPU of a full call with limits that nodes share ÷ with limits of this node, and the latter ÷ itself, so that the noise shows (N7).
 *
 * Three services run at once, and are loaded in turn, round by round; ratios are made within a round. The gateway thread is counted: the
 * main threads do not compare, since only a single node has the embedded store.
 *
 *   BENCH_ROUNDS=12 BENCH_SECONDS=3 node bench/shared-limits.ts
 */

import { loadavg } from 'node:os'
import { createClickHouseServer } from '../test/fixtures/clickhouse-server.ts'
import { createPostgresServer } from '../test/fixtures/postgres-server.ts'
import { createRedisServer } from '../test/fixtures/redis-server.ts'
import type { Contestant } from './contestant.ts'
import { load } from './load.ts'
import { describeMachine } from './machine.ts'
import { spreadOf, toText } from './spread.ts'
import { startTollgate } from './subject/tollgate.ts'
import { openWorkbench } from './workbench.ts'

const ROUNDS = Number(process.env['BENCH_ROUNDS'] ?? 12)
const SECONDS = Number(process.env['BENCH_SECONDS'] ?? 3)
const CONNECTIONS = Number(process.env['BENCH_CONNECTIONS'] ?? 32)
const WARM_UP_SECONDS = 4
const NAMES = ['shared', 'local', 'local again'] as const

console.log(`machine: ${describeMachine()}; load average ${loadavg()[0]!.toFixed(1)}`)
console.log(`load:    wrk, ${CONNECTIONS} connections, ${ROUNDS} rounds of ${SECONDS} s each\n`)

const workbench = await openWorkbench()
const clickHouse = await createClickHouseServer()
const redis = await createRedisServer()
const postgres = await createPostgresServer()
const contestants: Contestant[] = []
try {
  const CLICKHOUSE_URL = clickHouse.url
  const shared = {
    ...{ CLICKHOUSE_URL, REDIS_URL: redis.url, DATABASE_URL: await postgres.createDatabase() },
    MASTER_KEY: 'ab'.repeat(32),
  }
  for (const settings of [shared, {}, {}]) contestants.push(await startTollgate(workbench.backendPort, settings))
  for (const contestant of contestants) await usPerCall(contestant, WARM_UP_SECONDS)
  const rounds: number[][] = []
  let discarded = 0
  for (let round = 0; round < ROUNDS; round++) {
    const taken: number[] = []
    const order = [...contestants.keys()]
    for (const index of round % 2 === 0 ? order : order.toReversed()) {
      taken[index] = await usPerCall(contestants[index]!, SECONDS)
    }
    if (taken.some(Number.isNaN)) discarded++
    else rounds.push(taken)
  }
  const us = (index: number) => rounds.map((taken) => taken[index]!)
  const ratio = (above: number) => us(above).map((value, round) => value / us(1)[round]!)
  NAMES.forEach((name, index) => console.log(`${name.padEnd(12)} ${toText(spreadOf(us(index)), 1)} µs of CPU a call`))
  console.log(`shared ÷ local:      ${toText(spreadOf(ratio(0)), 3)}`)
  console.log(`local again ÷ local: ${toText(spreadOf(ratio(2)), 3)}`)
  console.log(`\n${discarded} rounds with a failed call are left out`)
  console.log(`load average at the end: ${loadavg()[0]!.toFixed(1)}`)
} finally {
  for (const contestant of contestants) await contestant.stop()
  await workbench.close()
  for (const server of [clickHouse, redis, postgres]) await server.remove()
}

/** Returns the CPU of the gateway thread; NaN if a call failed, because Redis may answer too late on a machine that does other work. */
async function usPerCall({ url, token, cpuMs }: Contestant, seconds: number): Promise<number> {
  const startMs = cpuMs()
  const { calls, failed } = await load({ url, token, connections: CONNECTIONS, seconds })
  return failed > 0 ? NaN : ((cpuMs() - startMs) * 1_000) / calls
}
