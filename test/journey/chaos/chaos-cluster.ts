/** Three nodes on real servers, each with a proxy of its own before PostgreSQL and before Redis. */

import { createClickHouseServer, type ClickHouseServer } from '../../fixtures/clickhouse-server.ts'
import { createFaultyProxy, type FaultyProxy } from '../../fixtures/faulty-proxy.ts'
import { createPostgresServer, type PostgresServer } from '../../fixtures/postgres-server.ts'
import { createRedisServer, type RedisServer } from '../../fixtures/redis-server.ts'
import { createService, type Service } from '../service.ts'

export interface ChaosNode {
  readonly name: string
  readonly service: Service
  readonly redisProxy: FaultyProxy
  readonly postgresProxy: FaultyProxy
  readonly isUp: boolean
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

export async function startChaosCluster(names: readonly string[]): Promise<ChaosCluster> {
  const postgres = await createPostgresServer()
  const redis = await createRedisServer()
  const clickHouse = await createClickHouseServer()
  const database = await postgres.createDatabase()
  const nodes: ChaosNode[] = []
  for (const name of names) {
    const [redisProxy, redisUrl] = await openProxy(redis.url)
    const [postgresProxy, databaseUrl] = await openProxy(database)
    const service = await createService({
      args: ['--empty'],
      env: {
        MASTER_KEY,
        NODE_NAME: name,
        GATEWAY_URL: 'http://gateway.example',
        BASE_URL: 'http://platform.example',
        CLICKHOUSE_URL: clickHouse.url,
        DATABASE_URL: databaseUrl,
        REDIS_URL: redisUrl,
      },
    })
    nodes.push(createNode({ name, service, redisProxy, postgresProxy }))
  }
  await Promise.all(nodes.map(({ service }) => service.start()))
  return {
    nodes,
    postgres,
    redis,
    clickHouse,
    async remove() {
      await Promise.all(nodes.map(({ service }) => service.remove()))
      const proxies = nodes.flatMap(({ redisProxy, postgresProxy }) => [redisProxy, postgresProxy])
      await Promise.all([...proxies, clickHouse, redis, postgres].map((each) => each.remove()))
    },
  }
}

async function openProxy(url: string): Promise<readonly [FaultyProxy, string]> {
  const target = new URL(url)
  const proxy = await createFaultyProxy({ host: target.hostname, port: Number(target.port) })
  target.port = String(proxy.port)
  return [proxy, target.href]
}

function createNode(parts: Pick<ChaosNode, 'name' | 'service' | 'redisProxy' | 'postgresProxy'>): ChaosNode {
  let up: Promise<void> = Promise.resolve()
  let isUp = true
  return {
    ...parts,
    get isUp() {
      return isUp
    },
    whenUp: () => up,
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
