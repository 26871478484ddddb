/**
 * Runs the service as a child process on free ports, with a random admin credential, and with a temporary
 * data folder unless one is given.
 *
 * Keeps the last lines of its log, and shows them only if the start fails.
 */

import { spawn, type ChildProcess } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { request } from 'undici'
import { compileCacheEnvironment } from './compile-cache.ts'
import { freePort } from './free-port.ts'

export interface ServiceAddress {
  readonly gatewayUrl: string
  readonly baseUrl: string
  readonly clientId: string
  readonly clientSecret: string
}

export interface ServiceProcess extends ServiceAddress {
  readonly pid: number
  /** Drains the service, then removes the data folder. */
  stop(): Promise<void>
}

export interface ServiceOptions {
  readonly args?: readonly string[]
  readonly env?: Readonly<Record<string, string>>
  readonly startMsMax?: number
  /** A data folder to keep; default: a temporary one. */
  readonly dataDir?: string
  readonly clientId?: string
  readonly clientSecret?: string
  /** Default: free ones. */
  readonly gatewayPort?: number
  readonly platformPort?: number
}

const MAIN = join(import.meta.dirname, '../../main.ts')
const LOG_BYTES_MAX = 16_384
const STOP_MS_MAX = 10_000
/**
 * Settings of the parent's environment that would lead the child to another store or address; an empty value
 * counts as unset.
 */
const UNSET = Object.fromEntries(
  [
    ...['HOST', 'RISK_PORT', 'GATEWAY_URL', 'BASE_URL', 'RISK_URL', 'ADMIN_TENANT', 'MASTER_KEY'],
    ...['TLS_CERT_FILE', 'TLS_KEY_FILE', 'TLS_CERT_DIR', 'TLS_CLIENT_CA_FILE', 'HTTP_REDIRECT_PORT'],
    ...['CLICKHOUSE_URL', 'REDIS_URL', 'DATABASE_URL', 'LIMITS_WITHOUT_REDIS', 'NODE_NAME', 'MAX_STALENESS_SECONDS'],
  ].map((name) => [name, '']),
)
const POLL_MS = 50

export async function startService(options: ServiceOptions = {}): Promise<ServiceProcess> {
  const { args = [], env = {}, startMsMax = 30_000 } = options
  const { gatewayPort = await freePort(), platformPort = await freePort() } = options
  const scheme = env['TLS_CERT_FILE'] === undefined ? 'http' : 'https'
  const address: ServiceAddress = {
    gatewayUrl: `${scheme}://127.0.0.1:${gatewayPort}`,
    baseUrl: `${scheme}://127.0.0.1:${platformPort}`,
    clientId: options.clientId ?? 'own-admin',
    clientSecret: options.clientSecret ?? randomBytes(24).toString('base64url'),
  }
  const dataDir = options.dataDir ?? (await mkdtemp(join(tmpdir(), 'tollgate-')))
  const child = spawn(process.execPath, [MAIN, ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: {
      ...process.env,
      ...compileCacheEnvironment(),
      ...UNSET,
      LOG_LEVEL: 'warn',
      DATA_DIR: dataDir,
      GATEWAY_PORT: String(gatewayPort),
      PLATFORM_PORT: String(platformPort),
      ADMIN_CLIENT_ID: address.clientId,
      ADMIN_CLIENT_SECRET: address.clientSecret,
      ...env,
    },
  })
  const log = keepTail(child)
  const stop = async (): Promise<void> => {
    await terminate(child)
    if (options.dataDir === undefined) await rm(dataDir, { recursive: true, force: true })
  }

  try {
    await untilReady(child, address.baseUrl, startMsMax)
  } catch (cause) {
    await stop()
    throw new Error(`tollgate did not start:\n${log()}`, { cause })
  }
  return { ...address, pid: child.pid ?? 0, stop }
}

function keepTail(child: ChildProcess): () => string {
  let tail = ''
  const keep = (chunk: Buffer): void => {
    tail = (tail + chunk.toString('utf8')).slice(-LOG_BYTES_MAX)
  }
  child.stdout?.on('data', keep)
  child.stderr?.on('data', keep)
  return () => tail
}

async function untilReady(child: ChildProcess, baseUrl: string, msMax: number): Promise<void> {
  for (const endMs = performance.now() + msMax; performance.now() < endMs;) {
    if (child.exitCode !== null) throw new Error(`it ended with ${child.exitCode}`)
    if (await isReady(baseUrl)) return
    await new Promise((resolve) => setTimeout(resolve, POLL_MS))
  }
  throw new Error(`it was not ready within ${msMax} ms`)
}

async function isReady(baseUrl: string): Promise<boolean> {
  try {
    const { statusCode, body } = await request(`${baseUrl}/readyz`, { headersTimeout: 1_000 })
    await body.dump()
    return statusCode === 200
  } catch {
    return false
  }
}

/** Sends SIGTERM first, and SIGKILL to a process that does not exit. */
async function terminate(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const ended = new Promise((resolve) => child.once('exit', resolve))
  child.kill('SIGTERM')
  const force = setTimeout(() => child.kill('SIGKILL'), STOP_MS_MAX)
  await ended
  clearTimeout(force)
}
