/**
 * `npm run screenshots`: runs commands against a real service in a pseudo-terminal, and writes their screens to `docs/cli/`.
 *
 * The names of the pictures are those that the documentation shows.
 */

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { CTRL_C, openPseudoTerminal, type Cell, type PseudoTerminal } from '../journey/pseudo-terminal.ts'
import { createService, enrol, type Service } from '../journey/service.ts'
import { tollgate } from '../journey/tollgate.ts'
import { drawScreen } from './screen-svg.ts'

const ROOT = join(import.meta.dirname, '../..')
const CLI = join(ROOT, 'src/interfaces/cli/main.ts')
const EXAMPLES = join(ROOT, 'examples')
const PICTURES = join(ROOT, 'docs/cli')
const SIZE = { columns: 112, rows: 40 }
const OPENED_FIRST = 'evt_00000000000000000000000000'

const folder = mkdtempSync(join(tmpdir(), 'screenshots-'))
const backend = await startBackend()
const backendUrl = `http://127.0.0.1:${(backend.address() as AddressInfo).port}`
const service = await createService({ args: ['--empty'], env: { REQUEST_LOG: 'all' } })
const env = {
  XDG_CONFIG_HOME: folder,
  TMPDIR: folder,
  TOLLGATE_URL: service.baseUrl,
  TOLLGATE_CLIENT_ID: 'journey-admin',
  TOLLGATE_CLIENT_SECRET: 'journey-admin-secret-0123456789',
}
mkdirSync(PICTURES, { recursive: true })
try {
  await service.start()
  await fill(service)
  await drawUsage()
  await drawRisks()
  await drawDev()
} finally {
  backend.close()
  await service.remove()
  rmSync(folder, { recursive: true, force: true })
}

function startBackend(): Promise<Server> {
  const server = createServer(({ method }, response) => {
    response.statusCode = method === 'POST' ? 201 : 200
    response.setHeader('content-type', 'application/json')
    response.end(method === 'POST' ? '{"id":"ord_1","product":"tea","quantity":1}' : '{"items":[]}')
  })
  return new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(server)))
}

function open(...args: readonly string[]): PseudoTerminal {
  return openPseudoTerminal([process.execPath, CLI, ...args], { env, size: SIZE })
}

/** Publishes an API, and sends calls of two consumers and of strangers. */
async function fill({ gatewayUrl }: Service): Promise<void> {
  const deploy = ['proxies', 'deploy', join(EXAMPLES, 'openapi.yaml'), '--backend', backendUrl, '--activate']
  const declare = ['openslaspecs', 'create', '--api', 'orders-v1', '--specification', join(EXAMPLES, 'opensla.yaml')]
  for (const args of [deploy, declare]) {
    const { code, err } = await tollgate(args, env)
    if (code !== 0) throw new Error(err)
  }
  const url = `${gatewayUrl}/orders-v1/orders`
  const shop = await enrol(service, 'orders-v1', { name: 'shop' })
  const concierge = await enrol(service, 'orders-v1', { name: 'concierge', kind: 'agent' })
  const order = '{"product":"tea","quantity":1}'
  await callTimes(12, url, 'stranger')
  await callTimes(180, url, shop.apiKey)
  await callTimes(60, url, concierge.apiKey)
  await callTimes(14, url, shop.apiKey, order)
  await callTimes(3, url, concierge.apiKey, order)
  await callTimes(4, url, concierge.apiKey, '{"product":"tea","quantity":"many"}')
}

async function callTimes(times: number, url: string, apiKey: string, body?: string): Promise<void> {
  for (let count = 0; count < times; count++) {
    const headers = { 'x-api-key': apiKey, ...(body !== undefined && { 'content-type': 'application/json' }) }
    const response = await fetch(url, { headers, ...(body !== undefined && { method: 'POST', body }) })
    await response.arrayBuffer()
  }
}

async function drawUsage(): Promise<void> {
  const line = ['usage', 'summary', '--group-by', 'api,operation']
  for (let isBilled = false; !isBilled;) {
    const terminal = open(...line)
    await terminal.ended
    isBilled = / 240 +240 /.test(terminal.text())
    if (isBilled) write('usage-summary', line.join(' '), terminal)
    else await pause(1_000)
  }
}

async function drawRisks(): Promise<void> {
  const terminal = open('risks', 'tail', '--last-event-id', OPENED_FIRST)
  for (const type of ['AuthFailure401', 'ProtectionViolation', 'RateLimitBreach'])
    await terminal.match(new RegExp(type))
  write('risks-tail', 'risks tail', terminal)
  await stop(terminal)
}

async function drawDev(): Promise<void> {
  const documents = ['openapi.yaml', 'opensla.yaml'].map((name) => join(EXAMPLES, name))
  const terminal = open('dev', documents[0]!, '--backend', backendUrl, '--opensla', documents[1]!)
  const [, url = '', apiKey = ''] = await terminal.match(/curl (\S+) -H 'x-api-key: (\S+)'/)
  await callTimes(2, url, apiKey)
  await callTimes(1, url, apiKey, '{"product":"tea","quantity":1}')
  await callTimes(1, url, apiKey, '{"product":"tea","quantity":"many"}')
  await callTimes(1, url, 'stranger')
  await terminal.match(/credential_invalid/)
  write('dev', 'dev openapi.yaml --backend http://localhost:3000 --opensla opensla.yaml', terminal)
  await stop(terminal)
}

async function stop(terminal: PseudoTerminal): Promise<void> {
  terminal.type(CTRL_C)
  await terminal.ended
}

function write(name: string, line: string, terminal: PseudoTerminal): void {
  const prompt: readonly Cell[] = [...`$ tollgate ${line}`].map((text) => ({ text, colour: null, isBold: true }))
  writeFileSync(join(PICTURES, `${name}.svg`), drawScreen([prompt, ...terminal.cells()], `tollgate ${line}`))
  console.error(`docs/cli/${name}.svg`)
}
