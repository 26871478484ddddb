/** Several nodes as processes, on one server each of PostgreSQL, Redis and ClickHouse. */

import { expect } from 'vitest'
import { createClickHouseServer, type ClickHouseServer } from '../fixtures/clickhouse-server.ts'
import { createPostgresServer, type PostgresServer } from '../fixtures/postgres-server.ts'
import { createRedisServer, type RedisServer } from '../fixtures/redis-server.ts'
import { createService, type Service } from './service.ts'

export interface SeveralNodes {
  readonly nodes: readonly Service[]
  /** Settings that all nodes have. */
  readonly settings: Readonly<Record<string, string>>
  readonly postgres: PostgresServer
  readonly redis: RedisServer
  readonly clickHouse: ClickHouseServer
  /** Answers of all nodes to the same call. */
  callAll(path: string, apiKey: string): Promise<readonly number[]>
  remove(): Promise<void>
}

const MASTER_KEY = 'ab'.repeat(32)
const SHIFTED_CLOCK = new URL('../upgrade/shifted-clock.ts', import.meta.url).href
/** The public addresses of all nodes, behind their load balancer. */
const ADDRESSES = { GATEWAY_URL: 'http://gateway.example', BASE_URL: 'http://platform.example' }

export interface SeveralNodesOptions {
  /** The way of a node to PostgreSQL. */
  readonly routeOf?: (name: string, databaseUrl: string) => Promise<string>
  /** Settings of the server of PostgreSQL. */
  readonly postgresSettings?: readonly string[]
  /** Of the first node. */
  readonly ports?: readonly [number, number]
  /** How far the clocks of the nodes are ahead; default: 0 for all. */
  readonly clocksMs?: readonly number[]
}

/** Starts the nodes at the same time, on an empty database. */
export async function startSeveralNodes(
  names: readonly string[],
  more: Readonly<Record<string, string>> = {},
  {
    routeOf = async (_, databaseUrl) => databaseUrl,
    postgresSettings = [],
    ports,
    clocksMs = [],
  }: SeveralNodesOptions = {},
): Promise<SeveralNodes> {
  const postgres = await createPostgresServer(postgresSettings)
  const clickHouse = await createClickHouseServer()
  const redis = await createRedisServer()
  const systems = {
    DATABASE_URL: await postgres.createDatabase(),
    CLICKHOUSE_URL: clickHouse.url,
    REDIS_URL: redis.url,
  }
  const servers = [clickHouse, redis, postgres]
  const settings = { ...systems, ...ADDRESSES, MASTER_KEY, ...more }
  const nodes: Service[] = []
  for (const name of names) {
    const offsetMs = clocksMs[nodes.length] ?? 0
    const clock = offsetMs !== 0 && { CLOCK_OFFSET_MS: String(offsetMs), NODE_OPTIONS: `--import ${SHIFTED_CLOCK}` }
    const env = { ...settings, ...clock, NODE_NAME: name, DATABASE_URL: await routeOf(name, systems.DATABASE_URL) }
    nodes.push(await createService({ args: ['--empty'], env, ports: nodes.length === 0 ? ports : undefined }))
  }
  try {
    await Promise.all(nodes.map((node) => node.start()))
  } catch (cause) {
    await removeAll(nodes, servers)
    throw cause
  }
  return {
    nodes,
    settings,
    postgres,
    redis,
    clickHouse,
    callAll: (path, apiKey) => Promise.all(nodes.map((node) => callOne(node, path, apiKey))),
    remove: () => removeAll(nodes, servers),
  }
}

export async function callOne({ gatewayUrl }: Service, path: string, apiKey: string): Promise<number> {
  const response = await fetch(gatewayUrl + path, { headers: { 'x-api-key': apiKey } })
  await response.arrayBuffer()
  return response.status
}

async function removeAll(
  nodes: readonly Service[],
  servers: readonly { remove(): Promise<void> | void }[],
): Promise<void> {
  await Promise.all(nodes.map((node) => node.remove()))
  await Promise.all(servers.map((server) => server.remove()))
}

/** Sends a command, and returns the nodes that its answer names as pending; `''` if there is none. */
export async function pendingAfter(node: Service, path: string, body?: object): Promise<string> {
  const authorization = `Bearer ${await node.platform.token()}`
  const response = await fetch(`${node.baseUrl}${path}`, {
    method: 'POST',
    headers: { authorization, ...(body && { 'content-type': 'application/json' }) },
    ...(body && { body: JSON.stringify(body) }),
  })
  expect(response.ok).toBe(true)
  await response.arrayBuffer()
  return response.headers.get('tollgate-pending-nodes') ?? ''
}

/** Names of the nodes that are live and serve all changes, as a node lists them. */
export async function servingNodes({ platform }: Service): Promise<readonly string[]> {
  const { items } = await platform.get<{ items: readonly { name: string; isLive: boolean; lag: number }[] }>(
    '/v1/nodes',
  )
  return items.flatMap(({ name, isLive, lag }) => (isLive && lag === 0 ? [name] : []))
}

/** Sends a command, and waits for the nodes that its answer names: on a busy machine one may need more than five seconds. */
export async function serveAfter(node: Service, path: string, names: readonly string[], body?: object): Promise<void> {
  const pending = await pendingAfter(node, path, body)
  if (pending !== '') await expect.poll(() => servingNodes(node), { timeout: 60_000 }).toEqual(names)
}
