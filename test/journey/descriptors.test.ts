/** The service under a low limit of open files, with more connections than it allows. */

import { spawn, spawnSync } from 'node:child_process'
import { connect, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { Agent, request } from 'undici'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { MAIN } from '../fixtures/entry-points.ts'
import { ledgerDocument, startLedgerBackend, type LedgerBackend } from './ledger-backend.ts'
import { billOf } from './load.ts'
import { createService, enrol, publish, type Enrolled, type Service, TWO_THREADS } from './service.ts'
import { PLAIN_ENVIRONMENT } from './plain-environment.ts'

/** Low enough to be reached by one test process, high enough for two gateway threads. */
const LIMIT = 800
const CONNECTIONS = 1_500
const CALLS = 200

let service: Service
let backend: LedgerBackend
let caller: Enrolled
const sockets: Socket[] = []

beforeAll(async () => {
  backend = await startLedgerBackend()
  service = await createService({ args: ['--empty'], env: TWO_THREADS, openFilesMax: LIMIT })
  await service.start()
  await publish(service, 'ledger-v1', ledgerDocument(), backend.url)
  caller = await enrol(service, 'ledger-v1')
})

afterAll(async () => {
  for (const socket of sockets) socket.destroy()
  await service.remove()
  await backend.close()
})

/** Opens connections that send nothing, and counts those that the service closes. */
async function crowd(url: string, connections: number): Promise<void> {
  const { hostname, port } = new URL(url)
  const opened = Array.from({ length: connections }, () => {
    const socket = connect(Number(port), hostname)
    sockets.push(socket)
    socket.on('error', () => socket.destroy())
    return new Promise<void>((resolve) => {
      socket.once('connect', () => resolve())
      socket.once('close', () => resolve())
    })
  })
  await Promise.all(opened)
}

describe('a low limit of open files', () => {
  it('is logged at startup with the number that the settings need and the command', () => {
    expect(service.errors()).toMatch(
      /the limit of open files is 800: each gateway thread takes \d+ connections instead of 20000; raise it with: ulimit -n \d+/,
    )
  })

  it('does not affect known clients or the platform while other connections use up their share', async () => {
    const agent = new Agent({ connections: 4, pipelining: 1 })
    onTestFinished(() => agent.destroy())
    const call = async (): Promise<number> => {
      const { statusCode, body } = await agent.request({
        origin: service.gatewayUrl,
        path: '/ledger-v1/entries?n=1',
        method: 'GET',
        headers: { 'x-api-key': caller.apiKey },
      })
      await body.dump()
      return statusCode
    }
    await Promise.all(Array.from({ length: 8 }, call))
    await crowd(service.gatewayUrl, CONNECTIONS)

    const used = process.platform === 'linux' ? readdirSync(`/proc/${service.pid()}/fd`).length : 0
    expect(used).toBeLessThan(LIMIT - 200)
    for (let calls = 0; calls < CALLS; calls++) expect(await call()).toBe(200)
    const { statusCode, body } = await request(`${service.baseUrl}/readyz`)
    await body.dump()
    expect(statusCode).toBe(200)
    // A command that writes and a flush open further files.
    await enrol(service, 'ledger-v1', { name: 'Bea' })
    const billed = async () => (await billOf(service)).get(caller.consumer)
    await expect.poll(billed, { timeout: 60_000, interval: 50 }).toBe(CALLS + 8)
    expect(service.errors()).not.toContain('EMFILE')
    // A busy machine may abort the linting of a document, which does not depend on open files.
    const errors = service
      .errors()
      .split('\n')
      .filter((line) => /"level":"(error|fatal)"/.test(line))
    expect(errors.filter((line) => !line.includes('to judge'))).toEqual([])
  })
})

describe('a limit of open files that is too low to serve clients', () => {
  it('refuses the start with the number and the command', async () => {
    const dataDir = mkdtempSync(join(tmpdir(), 'tollgate-descriptors-'))
    onTestFinished(() => rmSync(dataDir, { recursive: true, force: true }))
    const env = {
      ...PLAIN_ENVIRONMENT,
      DATA_DIR: dataDir,
      GATEWAY_PORT: '0',
      PLATFORM_PORT: '0',
      GATEWAY_THREADS: '4',
    }
    const { status, stderr } = spawnSync('sh', ['-c', `ulimit -n 300 && exec "${process.execPath}" "${MAIN}"`], {
      env,
      encoding: 'utf8',
      timeout: 60_000,
    })
    expect([status, stderr.trim()]).toEqual([
      2,
      expect.stringMatching(
        /^tollgate: the limit of open files is 300; 4 gateway threads need \d+ at least and \d+ for all their connections; raise it with: ulimit -n \d+ \(systemd: .*\)$/,
      ),
    ])
    const needed = /need (\d+) at least/.exec(stderr)?.[1] ?? ''
    const enough = spawn('sh', ['-c', `ulimit -n ${needed} && exec "${process.execPath}" "${MAIN}" --empty`], { env })
    onTestFinished(() => void enough.kill('SIGKILL'))
    await new Promise<void>((resolve, reject) => {
      enough.stdout.on('data', (chunk: Buffer) => {
        if (chunk.toString().includes(' is up ')) resolve()
      })
      enough.once('exit', (code) => reject(new Error(`it ended with ${code}`)))
    })
    enough.kill('SIGTERM')
    expect(await new Promise((resolve) => enough.once('exit', resolve))).toBe(0)
  })
})
