/** Three nodes on real servers, each with a clock of its own, and with a proxy before PostgreSQL and before Redis. */

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createClickHouseServer, type ClickHouseServer } from '../../fixtures/clickhouse-server.ts'
import { createProxyBefore, type FaultyProxy } from '../../fixtures/faulty-proxy.ts'
import { createPostgresServer, type PostgresServer } from '../../fixtures/postgres-server.ts'
import { createRedisServer, type RedisServer } from '../../fixtures/redis-server.ts'
import { createService, type Service, TWO_THREADS } from '../service.ts'

export interface ChaosNode {
  readonly name: string
  readonly service: Service
  readonly redisProxy: FaultyProxy
  readonly postgresProxy: FaultyProxy
  readonly isUp: boolean
  /** Moves the clock of the node, now or when it starts, to this far from the time of the machine. */
  moveClock(offsetMs: number): void
  /** Resolves at once while the node is up. */
  whenUp(): Promise<void>
  /** Ends the node in some way, runs `meanwhile`, and starts it again. */
  restart(end: (service: Service) => Promise<unknown>, meanwhile: () => Promise<void>): Promise<void>
}

export interface ChaosCluster {
  readonly nodes: readonly ChaosNode[]
  readonly postgres: PostgresServer
  readonly redis: RedisServer
  readonly clickHouse: ClickHouseServer
  remove(): Promise<void>
}

const MASTER_KEY = 'cd'.repeat(32)
const MOVING_CLOCK = new URL('moving-clock.ts', import.meta.url).href

export async function startChaosCluster(names: readonly string[]): Promise<ChaosCluster> {
  const postgres = await createPostgresServer()
  const redis = await createRedisServer()
  const clickHouse = await createClickHouseServer()
  const database = await postgres.createDatabase()
  const clocks = mkdtempSync(join(tmpdir(), 'tollgate-clocks-'))
  const nodes: ChaosNode[] = []
  for (const name of names) {
    const { proxy: redisProxy, url: redisUrl } = await createProxyBefore(redis.url)
    const { proxy: postgresProxy, url: databaseUrl } = await createProxyBefore(database)
    const clockFile = join(clocks, name)
    writeFileSync(clockFile, '0')
    const service = await createService({
      args: ['--empty'],
      env: {
        ...TWO_THREADS,
        MASTER_KEY,
        NODE_NAME: name,
        GATEWAY_URL: 'http://gateway.example',
        BASE_URL: 'http://platform.example',
        CLICKHOUSE_URL: clickHouse.url,
        DATABASE_URL: databaseUrl,
        REDIS_URL: redisUrl,
        CLOCK_OFFSET_FILE: clockFile,
        NODE_OPTIONS: `--import ${MOVING_CLOCK}`,
      },
    })
    nodes.push(createNode({ name, service, redisProxy, postgresProxy }, clockFile))
  }
  const remove = async (): Promise<void> => {
    await Promise.all(nodes.map(({ service }) => service.remove()))
    const proxies = nodes.flatMap(({ redisProxy, postgresProxy }) => [redisProxy, postgresProxy])
    await Promise.all([...proxies, clickHouse, redis, postgres].map((each) => each.remove()))
    rmSync(clocks, { recursive: true })
  }
  try {
    await Promise.all(nodes.map(({ service }) => service.start()))
  } catch (cause) {
    // The servers would keep the process of the tests alive.
    await remove()
    throw cause
  }
  return { nodes, postgres, redis, clickHouse, remove }
}

type Parts = Pick<ChaosNode, 'name' | 'service' | 'redisProxy' | 'postgresProxy'>

function createNode(parts: Parts, clockFile: string): ChaosNode {
  let up: Promise<void> = Promise.resolve()
  let isUp = true
  return {
    ...parts,
    get isUp() {
      return isUp
    },
    whenUp: () => up,
    moveClock(offsetMs) {
      writeFileSync(clockFile, String(offsetMs))
      if (isUp) process.kill(parts.service.pid(), 'SIGUSR2')
    },
    async restart(end, meanwhile) {
      const { promise, resolve } = Promise.withResolvers<void>()
      up = promise
      isUp = false
      await end(parts.service)
      await meanwhile()
      await parts.service.start()
      isUp = true
      resolve()
    },
  }
}
