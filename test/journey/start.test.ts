/** Startup and shutdown of the service, as the operator sees them. */

import { spawn } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest'
import { checkOwnDocument, workers } from './document-thread.ts'
import { ledgerDocument } from './ledger-backend.ts'
import { createService, enrol, publish, type Service } from './service.ts'
import { PLAIN_ENVIRONMENT } from './plain-environment.ts'

const MAIN = join(import.meta.dirname, '../../src/main.ts')
const COMMAND = join(import.meta.dirname, '../../bin/tollgate.js')
const IS_LINUX = process.platform === 'linux'
/** The thread for documents ends twenty seconds after the last one. */
const WAIT = { timeout: 180_000, interval: 100 }
const opened: (() => unknown)[] = []

/** Becomes idle during the other tests. */
let idle: Service
let threadsUntilIdle: Promise<Readonly<Record<string, number>>>

beforeAll(async () => {
  if (!IS_LINUX) return
  idle = await createService({ args: ['--empty', '--gateway-threads=1'] })
  await idle.start()
  threadsUntilIdle = watchThreads(idle.pid())
  // Its test is the last one.
  threadsUntilIdle.catch(() => {})
  await checkOwnDocument(idle)
})
afterAll(() => idle?.remove())

afterEach(async () => {
  for (const close of opened.splice(0).reverse()) await close()
})

function folder(): string {
  const path = mkdtempSync(join(tmpdir(), 'tollgate-start-'))
  opened.push(() => rmSync(path, { recursive: true, force: true }))
  return path
}

async function started(args: readonly string[] = [], main = MAIN): Promise<Service> {
  const service = await createService({ args, main })
  opened.push(() => service.remove())
  await service.start()
  return service
}

/** Runs the service until it exits. */
function refused(
  args: readonly string[],
  env: Record<string, string> = {},
): Promise<{ code: number | null; lines: string[] }> {
  const child = spawn(process.execPath, [MAIN, ...args], {
    env: { ...PLAIN_ENVIRONMENT, ...env },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  opened.push(() => child.kill('SIGKILL'))
  let text = ''
  child.stderr.on('data', (chunk: Buffer) => (text += chunk.toString()))
  return new Promise((resolve) => child.on('close', (code) => resolve({ code, lines: text.trim().split('\n') })))
}

/** Resolves once the document thread has come and gone, with the most threads of each name at a time. */
async function watchThreads(pid: number): Promise<Readonly<Record<string, number>>> {
  const most = new Map<string, number>()
  const look = (): readonly string[] => {
    const names = workers(pid)
    for (const [name, { length }] of Object.entries(Object.groupBy(names, (each) => each)) as [string, string[]][]) {
      most.set(name, Math.max(most.get(name) ?? 0, length))
    }
    return names
  }
  await vi.waitFor(() => expect(look()).toEqual(['document', 'gateway-0']), WAIT)
  await vi.waitFor(() => expect(look()).toEqual(['gateway-0']), WAIT)
  return Object.fromEntries(most)
}

describe('a refused start', () => {
  let service: Service

  beforeAll(async () => {
    service = await createService({ args: ['--empty'] })
    await service.start()
  })
  afterAll(() => service.remove())

  it('prints every fault of the settings on a line, and creates no file', async () => {
    const data = join(folder(), 'data')
    const { code, lines } = await refused(['--gateway-port', 'x', '--nonsense', '--spool-sync=sometimes'], {
      DATA_DIR: data,
      LOG_LEVEL: 'loud',
    })

    expect(code).toBe(2)
    expect(lines).toHaveLength(4)
    for (const name of ['GATEWAY_PORT', '--nonsense', 'SPOOL_SYNC', 'LOG_LEVEL']) {
      expect(lines.filter((line) => line.startsWith('tollgate: ') && line.includes(name))).toHaveLength(1)
    }
    expect(existsSync(data)).toBe(false)
  })

  it('does not print an invalid secret', async () => {
    const { lines } = await refused([], { MASTER_KEY: 'x'.repeat(2_000), DATA_DIR: folder() })
    expect(lines.join()).not.toContain('x'.repeat(20))
  })

  it('names a port that is in use, and creates no file', async () => {
    const server = createServer()
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    opened.push(() => server.close())
    const { port } = server.address() as AddressInfo
    const data = join(folder(), 'data')
    const { code, lines } = await refused([], { GATEWAY_PORT: String(port), DATA_DIR: data })

    expect([code, lines.length]).toEqual([2, 1])
    expect(lines[0]).toContain(`GATEWAY_PORT ${port}`)
    expect(existsSync(data)).toBe(false)
  })

  it('detects a port that another service shares among its threads', async () => {
    const { hostname: HOST, port } = new URL(service.gatewayUrl)
    const { code, lines } = await refused([], { HOST, GATEWAY_PORT: port, PLATFORM_PORT: '0', DATA_DIR: folder() })
    expect([code, lines.length]).toEqual([2, 1])
  })

  it('names a folder that is not a data folder, or that another process uses', async () => {
    const path = join(folder(), 'file')
    writeFileSync(path, 'not a folder')
    const ports = { GATEWAY_PORT: '0', PLATFORM_PORT: '0' }
    const file = await refused(['--empty'], { ...ports, DATA_DIR: path })
    expect([file.code, file.lines.length]).toEqual([2, 1])

    const before = readdirSync(service.dataDir).sort()
    const taken = await refused(['--empty'], { ...ports, DATA_DIR: service.dataDir })
    expect([taken.code, taken.lines.length]).toEqual([2, 1])
    expect(taken.lines[0]).toContain('in use by another process')
    expect(readdirSync(service.dataDir).sort()).toEqual(before)
  })
})

describe('a start', () => {
  it('prints a secret and creates the sample only the first time', async () => {
    const secrets = { MASTER_KEY: 'ab'.repeat(32), METRICS_TOKEN: 'metrics-token-of-a-start-0123456789' }
    const service = await createService({ env: { ...secrets, LOG_LEVEL: 'debug' } })
    opened.push(() => service.remove())
    await service.start()
    const printed = service.output() + service.errors()
    for (const secret of Object.values(secrets)) expect(printed).not.toContain(secret)
    expect(printed).toContain('client secret  as set by ADMIN_CLIENT_SECRET')
    await service.stop()
    await service.start()

    expect(service.output()).not.toContain('client secret')
    const { items } = await service.platform.get<{ items: readonly unknown[] }>('/v1/consumers')
    expect(items).toHaveLength(4)
  })
})

describe.runIf(IS_LINUX)('tollgate start (needs /proc of Linux)', () => {
  it('becomes the service: one process, which a signal drains', async () => {
    const service = await started(['start', '--empty'], COMMAND)
    const pid = service.pid()
    expect(readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0').slice(1, -1)).toEqual([MAIN, '--empty'])
    expect(readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8')).toBe('')
    expect(workers(pid)).toContain('gateway-0')
    expect(await service.stop()).toBe(0)
    expect(service.output()).toContain('draining')
  })
})

describe('a shutdown', () => {
  it('waits for a call in flight and exits with code 0', async () => {
    const backend = await slowBackend()
    const service = await started(['--empty'])
    await publish(service, 'ledger-v1', ledgerDocument(), backend.url)
    const { apiKey } = await enrol(service, 'ledger-v1')
    const answer = fetch(`${service.gatewayUrl}/ledger-v1/entries`, { headers: { 'x-api-key': apiKey } })
    await backend.arrived
    const end = service.stop()
    await backend.answerWhen(service.gatewayUrl)

    expect((await answer).status).toBe(200)
    expect(await end).toBe(0)
  })
})

describe.runIf(IS_LINUX)('a service until it is idle (needs /proc of Linux)', () => {
  it('has the gateway threads and, for the document that it has checked, one more', async () => {
    expect(await threadsUntilIdle).toEqual({ document: 1, 'gateway-0': 1 })
  })
})

/** Answers its only call when the gateway accepts no more connections. */
async function slowBackend() {
  const { promise: arrived, resolve: arrive } = Promise.withResolvers<void>()
  let answer = (): void => {}
  const { createServer: createHttpServer } = await import('node:http')
  const server = createHttpServer((_request, response) => {
    answer = () => response.end('{}')
    arrive()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  opened.push(() => server.close())
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    arrived,
    async answerWhen(gatewayUrl: string) {
      while (
        await fetch(gatewayUrl).then(
          () => true,
          () => false,
        )
      );
      answer()
    },
  }
}
