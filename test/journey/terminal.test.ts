/** The command line tool in a pseudo-terminal: texts, colours and widths on its screen, and the state of the terminal after Ctrl-C. */

// @module-tag script

import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { request } from 'undici'
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest'
import { CLI } from '../fixtures/entry-points.ts'
import { CTRL_C, openPseudoTerminal, type Cell, type PseudoTerminal, type Size } from './pseudo-terminal.ts'
import { runCommand } from './running-command.ts'
import { createService, enrol, type Enrolled, type Service } from './service.ts'

const EXAMPLES = join(import.meta.dirname, '../../examples')
const SECRET = 'journey-admin-secret-0123456789'
const CLEAN = { code: 0, keepsModes: true, showsCursor: true }
const [RED, GREEN, YELLOW, CYAN] = [1, 2, 3, 6]
const SEVERITIES = { Info: CYAN, Warning: YELLOW, Critical: RED }
const ORDER = '{"product":"tea","quantity":1}'
const EVENTUALLY = { timeout: 60_000, interval: 200 }

let service: Service
let backend: Server
let folder: string
let env: Record<string, string>
let shop: Enrolled

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'cli-terminal-'))
  backend = createServer((_, response) => response.setHeader('content-type', 'application/json').end('{"items":[]}'))
  await new Promise<void>((resolve) => backend.listen(0, '127.0.0.1', resolve))
  service = await createService({ args: ['--empty'], env: { REQUEST_LOG: 'all' } })
  await service.start()
  env = {
    XDG_CONFIG_HOME: folder,
    TOLLGATE_URL: service.baseUrl,
    TOLLGATE_CLIENT_ID: 'journey-admin',
    TOLLGATE_CLIENT_SECRET: SECRET,
  }
  const deploy = ['proxies', 'deploy', join(EXAMPLES, 'openapi.yaml'), '--backend', backendUrl(), '--activate']
  for (const args of [
    deploy,
    ['openslaspecs', 'create', '--api', 'orders-v1', '--specification', `${EXAMPLES}/opensla.yaml`],
  ])
    expect(await runCommand(args, { env }).ended).toMatchObject({ code: 0 })
  shop = await enrol(service, 'orders-v1', { name: 'shop' })
})
afterAll(async () => {
  backend.close()
  await service.remove()
  rmSync(folder, { recursive: true, force: true })
})

const backendUrl = (): string => `http://127.0.0.1:${(backend.address() as AddressInfo).port}`

function open(args: readonly string[], options: { size?: Size; env?: Record<string, string> } = {}): PseudoTerminal {
  const { size } = options
  const all = { ...env, ...options.env }
  const terminal = openPseudoTerminal([process.execPath, CLI, ...args], { env: all, ...(size && { size }) })
  onTestFinished(() => terminal.close())
  return terminal
}

/** Colours of the cells of a word, each once; `next` is the text behind it, for a word that a random key or port may contain. */
function coloursOf(terminal: PseudoTerminal, word: string, next = ''): readonly (number | null)[] {
  const rows = terminal.cells()
  const textOf = (row: readonly Cell[]): string => row.map(({ text }) => text).join('')
  const row = rows.find((each) => textOf(each).includes(word + next)) ?? []
  const at = textOf(row).indexOf(word + next)
  return [...new Set(row.slice(at, at + word.length).map(({ colour }) => colour))]
}

async function call(apiKey: string, options: { body?: string; url?: string } = {}): Promise<number> {
  const { body, url = `${service.gatewayUrl}/orders-v1/orders` } = options
  const { statusCode, body: answer } = await request(url, {
    method: body === undefined ? 'GET' : 'POST',
    headers: { 'x-api-key': apiKey, ...(body !== undefined && { 'content-type': 'application/json' }) },
    ...(body !== undefined && { body }),
  })
  await answer.dump()
  return statusCode
}

/** Arguments of every process of the machine. */
function commandLines(): readonly string[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((pid) => {
      try {
        return [readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ')]
      } catch {
        // The process has ended.
        return []
      }
    })
}

/** Length of the bar in the row of an operation. */
function barOf(terminal: PseudoTerminal, operation: string): number {
  return new RegExp(`${operation} .*?(█*)\n`).exec(terminal.text())?.[1]?.length ?? -1
}

describe('tollgate risks tail in a terminal', () => {
  it('colours severities, continues after a restart of the service, and leaves the terminal clean', async () => {
    const tail = open(['risks', 'tail'])
    // A stream prints what happens after it is open.
    await vi.waitFor(async () => {
      expect(await call('wrong')).toBe(401)
      expect(tail.text()).toMatch(/Critical .*AuthFailure401 .*orders-v1/)
    }, EVENTUALLY)
    const severities = Object.entries(SEVERITIES).filter(([severity]) => tail.text().includes(severity))
    expect(severities.map(([severity]) => coloursOf(tail, severity))).toEqual(severities.map(([, colour]) => [colour]))
    expect(coloursOf(tail, 'AuthFailure401')).toEqual([null])

    // The tail is suspended while the service is killed and starts again, and a risk is raised: only Last-Event-ID brings this risk to the screen.
    tail.signal('SIGSTOP')
    await service.kill()
    await service.start()
    const risks = (): Promise<string> =>
      service.platform.get<object>('/v1/risks?type=ProtectionViolation').then((found) => JSON.stringify(found))
    await call(shop.apiKey, { body: '{"product":1}' })
    await expect.poll(risks, EVENTUALLY).toContain('rsk_')
    expect(tail.text()).not.toContain('ProtectionViolation')
    tail.signal('SIGCONT')
    await tail.match(/the stream was interrupted; reconnecting in 1 s/)
    await tail.match(/Critical .*ProtectionViolation .*shop/)
    tail.type(CTRL_C)
    expect(await tail.ended).toEqual(CLEAN)
  })

  it.each([
    ['NO_COLOR', { NO_COLOR: '1' }],
    ['a dumb terminal', { TERM: 'dumb' }],
  ])('has no colours with %s', async (_, other) => {
    const tail = open(['risks', 'tail', '--last-event-id', 'evt_00000000000000000000000000'], { env: other })
    await tail.match(/Critical .*ProtectionViolation/)
    expect(new Set(tail.cells().flatMap((row) => row.map(({ colour, isBold }) => colour ?? isBold)))).toEqual(
      new Set([false]),
    )
    tail.type(CTRL_C)
    expect(await tail.ended).toEqual(CLEAN)
  })

  it('has no colours and no control characters in a pipe', async () => {
    const args = ['risks', 'tail', '--last-event-id', 'evt_00000000000000000000000000']
    const tail = runCommand(args, { env: { ...env, TERM: 'xterm-256color' } })
    await tail.match(/Critical .*ProtectionViolation.*\n/)
    tail.signal('SIGINT')
    const { code, out } = await tail.ended
    expect(code).toBe(0)
    expect(out).not.toMatch(/[\u0000-\u0009\u000b-\u001f]/)
  })

  it('breaks its lines at 40 columns, and loses nothing', async () => {
    const args = ['risks', 'tail', '--last-event-id', 'evt_00000000000000000000000000']
    const tail = open(args, { size: { columns: 40, rows: 24 } })
    await tail.match(/Critical {2}opened\n {10}ProtectionViolation\n {10}orders-v1 createOrder {2}shop\n {10}×1\n/)
    tail.type(CTRL_C)
    expect(await tail.ended).toEqual(CLEAN)
  })
})

describe('tollgate usage summary in a terminal', () => {
  const SUMMARY = ['usage', 'summary', '--group-by', 'api,operation']

  it('draws a bar per row, in proportion to the largest value', async () => {
    for (let count = 0; count < 6; count++) expect(await call(shop.apiKey)).toBe(200)
    for (let count = 0; count < 3; count++) expect(await call(shop.apiKey, { body: ORDER })).toBe(200)
    const billed = async (): Promise<readonly number[]> => {
      const { items } = await service.platform.get<{ items: { calls: number }[] }>('/v1/summaries?groupBy=operation')
      return items.map(({ calls }) => calls).sort()
    }
    await expect.poll(billed, EVENTUALLY).toEqual([3, 6])
    const shown = open(SUMMARY)
    expect(await shown.ended).toEqual(CLEAN)
    // An order takes 5 units, a list 1.
    expect([barOf(shown, 'createOrder'), barOf(shown, 'listOrders')]).toEqual([24, 10])
    expect(coloursOf(shown, '█')).toEqual([CYAN])
  })

  it.each([80, 60])('fits %i columns with its bars', async (columns) => {
    const shown = open(SUMMARY, { size: { columns, rows: 24 } })
    expect(await shown.ended).toEqual(CLEAN)
    expect(barOf(shown, 'createOrder')).toBeGreaterThan(barOf(shown, 'listOrders'))
    expect(barOf(shown, 'listOrders')).toBeGreaterThan(0)
    expect(shown.text()).toMatch(/\nNot shown: /)
  })

  it('has no bars at 40 columns, and still has the values', async () => {
    const shown = open(SUMMARY, { size: { columns: 40, rows: 24 } })
    expect(await shown.ended).toEqual(CLEAN)
    expect(shown.text()).toMatch(/^orders-v1 {2}createOrder +3 +15$/m)
  })
})

describe('tables in a terminal', () => {
  it.each([120, 80, 40])('show ids whole at %i columns, and each row on one line', async (columns) => {
    for (const [args, id] of [
      [['consumers', 'list'], 'con_'],
      [['subscriptions', 'list'], 'sub_'],
      [['credentials', 'list', shop.subscription], 'crd_'],
      [['risks', 'list'], 'rsk_'],
      [['proxies', 'list'], 'prx_'],
    ] as const) {
      const names = (await runCommand([...args, '-o', 'name'], { env }).ended).out.trimEnd().split('\n')
      const shown = open(args, { size: { columns, rows: 24 } })
      expect(await shown.ended).toEqual(CLEAN)
      const [head = '', ...rows] = shown.text().trimEnd().split('\n')
      expect(head).toMatch(/^(?:RISK )?ID /)
      expect(rows.slice(0, names.length).map((row) => row.split(' ')[0])).toEqual(names)
      expect(names.filter((name) => !name.startsWith(id))).toEqual([])
      expect([head, ...rows].filter((row) => row.length > columns)).toEqual([])
    }
  })
})

describe('tollgate dev in a terminal', () => {
  it('prints a key, a token and coloured calls, follows the width, and leaves no temporary file after Ctrl-C', async () => {
    const home = join(folder, 'dev')
    mkdirSync(home)
    const args = ['dev', join(EXAMPLES, 'openapi.yaml'), '--backend', backendUrl()]
    const dev = open(args, { env: { TMPDIR: home, XDG_STATE_HOME: home } })
    const [, url = '', apiKey = ''] = await dev.match(/curl (\S+) -H 'x-api-key: (\S+)'/)
    expect(dev.text()).toMatch(
      / {2}gateway +http\S+\/orders-v1\n {2}backend +http\S+\n {2}platform +http\S+\n {2}API key +\S+\n {2}token +ey\S+\n/,
    )
    expect(await call(apiKey, { url })).toBe(200)
    await dev.match(/200 {2}GET \/orders +0 units +[\d.]+ ms {2}dev\n/)
    expect(coloursOf(dev, '200', '  GET')).toEqual([GREEN])
    expect(readdirSync(home)).toEqual(['tollgate'])
    const lines = commandLines()
    expect(lines.filter((line) => line.includes('dist/main.js'))).not.toEqual([])
    expect(lines.filter((line) => [apiKey, shop.apiKey, SECRET].some((secret) => line.includes(secret)))).toEqual([])

    dev.resize({ columns: 70, rows: 24 })
    expect(await call('wrong', { url })).toBe(401)
    await dev.match(/401 {2}GET \/orders .* ms\n {10}anonymous {2}credential_invalid\n/)
    expect(coloursOf(dev, '401', '  GET')).toEqual([YELLOW])

    dev.type(CTRL_C)
    expect(await dev.ended).toEqual(CLEAN)
    expect(dev.text()).toContain('Stopping the service')
    // The service of the next start.
    expect(readdirSync(home)).toEqual(['tollgate'])
    await expect(request(url)).rejects.toThrow()
  })
})

describe('a secret that is typed', () => {
  it('is not shown, and the terminal echoes again afterwards', async () => {
    const config = { XDG_CONFIG_HOME: join(folder, 'typed'), TOLLGATE_CLIENT_SECRET: '' }
    const login = open(['login', service.baseUrl, '--client-id', 'journey-admin'], { env: config })
    await login.match(/Client secret:/)
    login.type(`${SECRET}\r`)
    expect(await login.ended).toEqual(CLEAN)
    expect(login.text()).toMatch(/^Client secret:\s*\nSigned in to /)
  })

  it('may be given up with Ctrl-C', async () => {
    const config = { XDG_CONFIG_HOME: join(folder, 'given-up'), TOLLGATE_CLIENT_SECRET: '' }
    const login = open(['login', service.baseUrl, '--client-id', 'journey-admin'], { env: config })
    await login.match(/Client secret:/)
    login.type(CTRL_C)
    expect(await login.ended).toEqual({ ...CLEAN, code: 2 })
  })
})

describe('tollgate login in a terminal', () => {
  it('opens the browser with the address alone: no secret in its arguments, and none in its environment', async () => {
    const seen = join(folder, 'seen')
    const browser = join(folder, 'browser.sh')
    writeFileSync(
      browser,
      `#!/bin/sh\nprintf '%s\\n' "$@" > ${seen}.part; env >> ${seen}.part; mv ${seen}.part ${seen}\n`,
    )
    chmodSync(browser, 0o755)
    const login = open(['login', service.baseUrl], {
      env: { XDG_CONFIG_HOME: join(folder, 'browser'), BROWSER: browser },
    })
    const [url = ''] = await login.match(/http\S+\/authorize\?\S+/)
    const [address, ...environment] = (await vi.waitFor(() => readFileSync(seen, 'utf8'), EVENTUALLY)).split('\n')
    expect(address).toBe(url)
    expect([...new URL(url).searchParams.keys()].filter((name) => /verifier|secret|token/.test(name))).toEqual([])
    expect(environment.filter((line) => /TOLLGATE_|journey-admin/.test(line))).toEqual([])
    login.type(CTRL_C)
    expect(await login.ended).toEqual({ ...CLEAN, code: 2 })
    expect(login.text()).toContain('The sign-in was interrupted.')
  })
})
