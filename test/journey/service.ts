/**
 * The whole service as a real process, with a data folder that outlives it: it can be stopped, killed
 * and restarted.
 */

import { spawn, type ChildProcess } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from '../../src/interfaces/cli/free-port.ts'
import { createPlatformClient, fetchToken, type PlatformClient } from '../../src/interfaces/cli/platform-client.ts'
import { createClickHouseServer, type ClickHouseServer } from '../fixtures/clickhouse-server.ts'
import { MAIN } from '../fixtures/entry-points.ts'
import { OWN_ADDRESS, ownPort } from '../fixtures/own-address.ts'
import type { PostgresServer } from '../fixtures/postgres-server.ts'
import type { RedisServer } from '../fixtures/redis-server.ts'
import { secretIn } from '../fixtures/secret-in.ts'
import { dropOutput, keepOutput } from '../fixtures/service-outputs.ts'
import { PLAIN_ENVIRONMENT } from './plain-environment.ts'

export interface Service {
  readonly gatewayUrl: string
  readonly baseUrl: string
  readonly dataDir: string
  readonly platform: PlatformClient
  /** Output on stdout and stderr since the last start. */
  readonly output: () => string
  readonly errors: () => string
  start(): Promise<void>
  /** Sends the signal, SIGTERM by default; resolves with the exit code. */
  stop(signal?: NodeJS.Signals): Promise<number | null>
  /** SIGKILL; resolves when the process is gone. */
  kill(): Promise<void>
  readonly pid: () => number
  /** Stops the running services and removes the data folder. */
  remove(): Promise<void>
}

export interface ServiceOptions {
  /** Entry point; default: that of this checkout. */
  readonly main?: string
  readonly args?: readonly string[]
  readonly env?: Readonly<Record<string, string>>
  /** A folder that exists; default: a new one. */
  readonly dataDir?: string | undefined
  /** For clients that know no other address of this machine. */
  readonly isLocalhost?: boolean
  /** Of the gateway and of the platform, on `OWN_ADDRESS`; default: new ones. */
  readonly ports?: readonly [number, number] | undefined
  /** Limit of open files; default: that of the tests. */
  readonly openFilesMax?: number
}

/** For a test of what the threads of a gateway share. A thread costs a third of a second of CPU at each start, so the others have one. */
export const TWO_THREADS = { GATEWAY_THREADS: '2' }

/** How to kill each service of a data folder: several tests start one after another on the same folder, and none may write while
 * the folder is removed. */
const servicesOf = new Map<string, readonly (() => Promise<void>)[]>()

/** With `ON_CLICKHOUSE_SERVER`, each data folder has a server of its own, which outlives the services. */
const storesOf = new Map<string, ClickHouseServer>()
/** With `ON_POSTGRES` as well: each data folder has a database. */
const databasesOf = new Map<string, string>()
let postgres: Promise<PostgresServer> | null = null
/** Each data folder needs a server of its own, since their leases have nothing in common. */
const redisOf = new Map<string, RedisServer>()

/** The folder has neither registry nor usage then: tests of these files do not run. */
export const isOnPostgres = process.env['ON_POSTGRES'] !== undefined
/** Otherwise the folder has no usage, and a copy of it gets another server: tests of the store and of copies do not run. */
export const isEmbedded = !isOnPostgres && process.env['ON_CLICKHOUSE_SERVER'] === undefined

async function storeOf(dataDir: string): Promise<Readonly<Record<string, string>>> {
  if (isEmbedded) return {}
  const store = storesOf.get(dataDir) ?? (await createClickHouseServer())
  storesOf.set(dataDir, store)
  if (!isOnPostgres) return { CLICKHOUSE_URL: store.url }
  // Loaded only here: no other journey needs these servers.
  postgres ??= import('../fixtures/postgres-server.ts').then(({ createPostgresServer }) => createPostgresServer())
  const server = await postgres
  const database = databasesOf.get(dataDir) ?? (await server.createDatabase())
  databasesOf.set(dataDir, database)
  const { createRedisServer } = await import('../fixtures/redis-server.ts')
  const redis = redisOf.get(dataDir) ?? (await createRedisServer())
  redisOf.set(dataDir, redis)
  const node = { REDIS_URL: redis.url, MASTER_KEY: 'ab'.repeat(32) }
  return { ...node, CLICKHOUSE_URL: store.url, DATABASE_URL: database }
}

export const ADMIN_SECRET = 'journey-admin-secret-0123456789'

export async function createService(options: ServiceOptions = {}): Promise<Service> {
  const { openFilesMax, isLocalhost = false } = options
  const { main = MAIN, args = [], env = {}, dataDir = mkdtempSync(join(tmpdir(), 'tollgate-journey-')) } = options
  const [gatewayPort, platformPort] =
    options.ports ?? (await Promise.all(isLocalhost ? [freePort(), freePort()] : [ownPort(), ownPort()]))
  const host = isLocalhost ? '127.0.0.1' : OWN_ADDRESS
  const store = await storeOf(dataDir)
  const scheme = env['TLS_CERT_FILE'] === undefined ? 'http' : 'https'
  const gatewayUrl = `${scheme}://${host}:${gatewayPort}`
  const baseUrl = `${scheme}://${host}:${platformPort}`
  const clientId = 'journey-admin'
  const clientSecret = ADMIN_SECRET
  let child: ChildProcess | null = null
  let output = ''
  let errors = ''

  async function start(): Promise<void> {
    output = ''
    errors = ''
    keepOutput(dataDir, () => output + errors)
    const program = [process.execPath, main, ...args]
    const limited = ['sh', '-c', `ulimit -n ${openFilesMax} && exec "$@"`, 'sh', ...program]
    const [command, ...rest] = openFilesMax === undefined ? program : limited
    const started = spawn(command!, rest, {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: {
        ...PLAIN_ENVIRONMENT,
        HOME: process.env['HOME'],
        LOG_LEVEL: 'warn',
        DATA_DIR: dataDir,
        HOST: host,
        GATEWAY_PORT: String(gatewayPort),
        PLATFORM_PORT: String(platformPort),
        GATEWAY_THREADS: '1',
        ADMIN_CLIENT_ID: clientId,
        ADMIN_CLIENT_SECRET: clientSecret,
        ...store,
        ...env,
      },
    })
    child = started
    started.stderr.on('data', (chunk: Buffer) => (errors = (errors + chunk.toString()).slice(-20_000)))
    await new Promise<void>((resolve, reject) => {
      started.stdout.on('data', (chunk: Buffer) => {
        output += chunk.toString()
        // What was written to stderr before is read by then.
        if (output.includes(' is up ')) setImmediate(setImmediate, resolve)
      })
      // Not `exit`: the last lines may not have been read by then.
      started.once('close', (code) => reject(new Error(`the service ended with ${code}\n${errors}`)))
    })
  }

  function exited(): Promise<number | null> {
    const running = child
    if (running === null || running.exitCode !== null || running.signalCode !== null) {
      return Promise.resolve(running?.exitCode ?? null)
    }
    return new Promise((resolve) => running.once('exit', (code) => resolve(code)))
  }

  function refuseSecrets(): void {
    const secret = secretIn(errors)
    if (secret !== null) throw new Error(`the service has logged a secret: ${secret}`)
  }

  async function stop(signal: NodeJS.Signals = 'SIGTERM'): Promise<number | null> {
    const end = exited()
    child?.kill(signal)
    const code = await end
    // Logs are kept, and read by many.
    if ((output + errors).includes(clientSecret)) throw new Error('the service has printed ADMIN_CLIENT_SECRET')
    refuseSecrets()
    return code
  }

  async function kill(): Promise<void> {
    const end = exited()
    child?.kill('SIGKILL')
    await end
  }
  servicesOf.set(dataDir, [...(servicesOf.get(dataDir) ?? []), kill])

  return {
    gatewayUrl,
    baseUrl,
    dataDir,
    platform: createPlatformClient({ gatewayUrl, baseUrl, clientId, clientSecret }),
    output: () => output,
    errors: () => errors,
    start,
    stop,
    kill,
    pid: () => child?.pid ?? 0,
    async remove() {
      await Promise.all((servicesOf.get(dataDir) ?? []).map((end) => end()))
      servicesOf.delete(dataDir)
      dropOutput(dataDir)
      await storesOf.get(dataDir)?.remove()
      storesOf.delete(dataDir)
      databasesOf.delete(dataDir)
      await redisOf.get(dataDir)?.remove()
      redisOf.delete(dataDir)
      if (postgres !== null && databasesOf.size === 0) {
        const server = await postgres
        postgres = null
        await server.remove()
      }
      rmSync(dataDir, { recursive: true, force: true })
      refuseSecrets()
    },
  }
}

export interface Enrolled {
  readonly consumer: string
  readonly subscription: string
  readonly clientId: string
  readonly clientSecret: string
  readonly apiKey: string
  token(): Promise<string>
}

/** Creates a consumer with an active subscription and its credentials through the platform API. */
export async function enrol(
  service: Service,
  api: string,
  options: { name?: string; kind?: string; scopes?: readonly string[] } = {},
): Promise<Enrolled> {
  const { name = 'Ada', kind = 'application', scopes } = options
  const { id: consumer } = await service.platform.post<{ id: string }>('/v1/consumers', { name, kind })
  const { id: subscription } = await service.platform.post<{ id: string }>('/v1/subscriptions', {
    consumer,
    api,
    ...(scopes && { scopes }),
  })
  const { items } = await service.platform.get<{
    items: readonly { type: string; clientId: string; clientSecret: string; apiKey: string }[]
  }>(`/v1/subscriptions/${subscription}/credentials`)
  const client = items.find(({ type }) => type === 'OAuth2')
  const key = items.find(({ type }) => type === 'ApiKey')
  if (client === undefined || key === undefined) throw new Error('the subscription has no credentials')
  const { clientId, clientSecret } = client
  return {
    consumer,
    subscription,
    clientId,
    clientSecret,
    apiKey: key.apiKey,
    token: async () => (await fetchToken({ gatewayUrl: service.gatewayUrl, api, clientId, clientSecret })).accessToken,
  }
}

/** Returns the types of the credentials of a subscription that were used, as a service shows them. */
export async function usedTypes({ platform }: Service, subscription: string): Promise<readonly string[]> {
  const { items } = await platform.get<{
    items: readonly { type: string; lastUsedAt: string | null }[]
  }>(`/v1/subscriptions/${subscription}/credentials?reveal=false`)
  return items.flatMap(({ type, lastUsedAt }) => (lastUsedAt === null ? [] : [type]))
}

/** Publishes a document as an API with one active revision. */
export async function publish(service: Service, api: string, document: object, backend: string): Promise<string> {
  const { id } = await service.platform.post<{ id: string }>('/v1/proxies', {
    api,
    specification: Buffer.from(JSON.stringify(document)).toString('base64'),
    backend: { url: backend },
  })
  await service.platform.post(`/v1/proxies/${id}/activate`)
  return id
}
