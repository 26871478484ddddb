/** Commands that run until Ctrl-C: `dev` with a backend and a document that changes, `requests tail`, `risks tail`, `programmes watch`. */

import { globSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { request } from 'undici'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { freePort } from '../../src/interfaces/cli/free-port.ts'
import { runCommand } from './running-command.ts'
import { createService, type Service } from './service.ts'

const EXAMPLE = join(import.meta.dirname, '../../examples/openapi.yaml')

let service: Service
let backend: Server
let backendUrl: string
let folder: string
let env: Record<string, string>

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'cli-streams-'))
  backend = createServer((_, response) => response.setHeader('content-type', 'application/json').end('{"items":[]}'))
  await new Promise<void>((resolve) => backend.listen(0, '127.0.0.1', resolve))
  backendUrl = `http://127.0.0.1:${(backend.address() as AddressInfo).port}`
  service = await createService({ args: ['--empty'], env: { REQUEST_LOG: 'all' } })
  await service.start()
  env = {
    XDG_CONFIG_HOME: folder,
    TOLLGATE_URL: service.baseUrl,
    TOLLGATE_CLIENT_ID: 'journey-admin',
    TOLLGATE_CLIENT_SECRET: 'journey-admin-secret-0123456789',
  }
})
afterAll(async () => {
  backend.close()
  await service.remove()
  rmSync(folder, { recursive: true, force: true })
})

const statusOf = async (url: string, apiKey: string): Promise<number> => {
  const { statusCode, body } = await request(url, { headers: { 'x-api-key': apiKey } })
  await body.dump()
  return statusCode
}

describe('tollgate dev', () => {
  it('serves a document, shows each call, deploys changes, keeps the revision before a fault, and starts again with the same key', async () => {
    const file = join(folder, 'openapi.yaml')
    const document = readFileSync(EXAMPLE, 'utf8')
    writeFileSync(file, document)
    const cwd = folder
    const own = { XDG_CONFIG_HOME: folder, XDG_STATE_HOME: join(folder, 'state') }
    const port = String(await freePort('127.0.0.1'))
    const dev = runCommand(['dev', file, '--backend', backendUrl, '--port', port], { env: own, cwd })
    const [, url = '', apiKey = ''] = await dev.match(/curl (\S+) -H 'x-api-key: (\S+)'/)
    expect(new URL(url).port).toBe(port)
    expect(await statusOf(url, apiKey)).toBe(200)
    await dev.match(/200 {2}GET \/orders .* dev\n/)
    expect(await statusOf(url, 'wrong')).toBe(401)
    await dev.match(/401 {2}GET \/orders .*credential_invalid/)
    expect(await statusOf(url.replace(/orders$/, 'unknown'), apiKey)).toBe(404)
    await dev.match(/404 .*no operation at GET \/unknown/)

    expect(await statusOf(url.replace('/orders-v1', ''), apiKey)).toBe(404)
    await dev.match(/404 .*No API is published at GET \/orders\. The paths of orders-v1 begin with \/orders-v1\./)

    // It breaks callers, and has an operation with a scope of its own.
    const teapots = `  /teapots:\n    get: {operationId: listTeapots, security: [{oauth2: [teapots:read]}, {apiKey: []}], responses: {'200': {description: Teapots}}}\n`
    const changed = document
      .replace('maximum: 100,', 'maximum: 50,')
      .replace('paths:\n', `paths:\n${teapots}`)
      .replace('            orders:read:', '            teapots:read: Teapots\n            orders:read:')
    writeFileSync(file, changed)
    const [, token = ''] = await dev.match(/revision 2 serves\n.*scopes.*\n(\S+)\n/)
    expect(token.split('.')).toHaveLength(3)
    await statusOf(url.replace(/orders$/, 'teapots'), apiKey)
    await dev.match(/GET \/teapots .* dev/)
    writeFileSync(file, 'openapi: [')
    await dev.match(/was not deployed: .* at line \d+, column \d+\.\n/)
    rmSync(file)
    await dev.match(/openapi\.yaml cannot be read: what was deployed last keeps serving/)
    expect(await statusOf(url, apiKey)).toBe(200)

    // The context of this service does not outlive it.
    const context = { env: { XDG_CONFIG_HOME: folder } }
    const who = await runCommand(['whoami', '-o', 'json', '--context', 'dev-orders-v1'], context).ended
    expect(JSON.parse(who.out)).toMatchObject({ clientId: 'own-admin' })
    const [, page = ''] = await dev.match(/owner +(http\S+)/)
    expect((await request(page)).statusCode).toBe(200)
    const second = await runCommand(['dev', EXAMPLE, '--backend', backendUrl], { env: own, cwd }).ended
    expect(second).toMatchObject({ code: 2, err: expect.stringContaining('dev already serves orders-v1') })
    expect(second.err).not.toContain('DATA_DIR')
    const taken = await runCommand(['dev', EXAMPLE, '--port', port], { env: own, cwd }).ended
    expect(taken).toMatchObject({ code: 2, err: expect.stringContaining(`Port ${port} is in use`) })
    dev.signal('SIGINT')
    const { code, err } = await dev.ended
    expect([code, err]).toEqual([0, expect.stringContaining('Stopping the service')])
    await expect(request(url)).rejects.toThrow()

    expect((await runCommand(['context', 'list'], context).ended).out).not.toContain('dev-orders-v1')

    // The client of `dev` is revoked. It makes a new one.
    const [dataDir = ''] = globSync('state/tollgate/dev/*/orders-v1/data-*', { cwd: folder })
    const reset = await runCommand(['admin', 'reset', '--data-dir', join(folder, dataDir)], { env: own }).ended
    expect(reset).toMatchObject({ code: 0, out: expect.stringContaining('Revoked: own-admin') })

    // The backend is the server of the document; the key and the port are those of before.
    writeFileSync(file, changed.replace('http://127.0.0.1:9090', backendUrl))
    const declaration = join(folder, 'opensla.yaml')
    writeFileSync(declaration, 'opensla: 1.0.0\nlimits: [{ name: all, concurent: 1 }]')
    const again = runCommand(['dev', file, '--opensla', declaration], { env: own, cwd })
    await again.match(/Replacing the admin client/)
    await again.match(/\/limits\/0\/concurent: .*\(line 2, column \d+\)\n/)
    await again.match(new RegExp(`curl ${url.replace(/orders$/, '')}\\S+ -H 'x-api-key: ${apiKey}'`))
    expect(await statusOf(url, apiKey)).toBe(200)
    await again.match(/200 {2}GET \/orders .* dev\n/)
    again.signal('SIGINT')
    expect((await again.ended).code).toBe(0)
    const [state = ''] = globSync('state/tollgate/dev/*/orders-v1/dev.json', { cwd: folder })
    const modes = ['state/tollgate/dev', dirname(state), state].map((path) => statSync(join(folder, path)).mode & 0o077)
    expect(modes).toEqual([0, 0, 0])

    const anew = runCommand(['dev', file], { env: own, cwd })
    await anew.match(/Beginning anew/)
    const [, served, otherKey] = await anew.match(/curl (\S+) -H 'x-api-key: (\S+)'/)
    expect([new URL(served!).port, otherKey]).toEqual([port, expect.not.stringContaining(apiKey)])
    anew.signal('SIGINT')
    expect((await anew.ended).code).toBe(0)
  })

  it('names --backend if neither the command nor the document has an address', async () => {
    const file = join(folder, 'no-servers.yaml')
    writeFileSync(file, readFileSync(EXAMPLE, 'utf8').replace(/^servers:\n(?: .*\n|\n)*/m, ''))
    const own = { XDG_CONFIG_HOME: folder, XDG_STATE_HOME: join(folder, 'state-of-none') }
    const { code, err } = await runCommand(['dev', file], { env: own }).ended
    expect([code, err]).toEqual([2, expect.stringContaining('address of your service with --backend URL')])
  })

  it('refuses a document and a backend that cannot be used, without a service', async () => {
    const none = await runCommand(['dev', join(folder, 'none.yaml'), '--backend', backendUrl], { env }).ended
    expect(none).toMatchObject({ code: 2, out: '', err: expect.stringContaining('cannot be read') })
    const file = join(folder, 'mistake.yaml')
    writeFileSync(file, 'openapi: 3.1.0\ninfo: {title: A\n')
    const mistake = await runCommand(['dev', file, '--backend', backendUrl], { env }).ended
    expect(mistake).toMatchObject({ code: 2, err: expect.stringMatching(/at line \d+, column \d+\.\n$/) })
    const address = await runCommand(['dev', EXAMPLE, '--backend', 'localhost:3000'], { env }).ended
    expect(address).toMatchObject({
      code: 2,
      err: expect.stringContaining('--backend must be an http or https address'),
    })
  })
})

describe('the tails', () => {
  it('print calls and risks as they happen, and end at Ctrl-C', async () => {
    const deploy = ['proxies', 'deploy', EXAMPLE, '--backend', backendUrl, '--activate']
    expect((await runCommand(deploy, { env }).ended).code).toBe(0)
    const requests = runCommand(['requests', 'tail', '-o', 'json'], { env })
    const risks = runCommand(['risks', 'tail', '--severity', 'Info', '-o', 'name'], { env })
    // A stream prints what happens after it is open: calls are sent until both have printed one.
    let isOver = false
    const calls = (async () => {
      while (!isOver) expect(await statusOf(`${service.gatewayUrl}/orders-v1/orders`, 'wrong')).toBe(401)
    })()
    const [[line]] = await Promise.all([requests.match(/\{.*"api":"orders-v1".*\}\n/), risks.match(/rsk_\w+\n/)])
    isOver = true
    await calls
    expect(JSON.parse(line)).toMatchObject({ status: 401, outcome: 'credential_invalid' })
    requests.signal('SIGINT')
    expect((await requests.ended).code).toBe(0)
    risks.signal('SIGINT')
    expect((await risks.ended).code).toBe(0)
  })

  it('report a refusal of the service', async () => {
    const { code, err } = await runCommand(['risks', 'tail', '--severity', 'Huge'], { env }).ended
    expect([code, err]).toEqual([1, expect.stringContaining('/severity')])
  })
})

describe('tollgate programmes watch', () => {
  async function submit(title: string, change: (document: string) => string = (text) => text): Promise<string> {
    const file = join(folder, `${title}.yaml`)
    writeFileSync(file, change(readFileSync(EXAMPLE, 'utf8').replace('title: Orders', `title: ${title}`)))
    const args = [
      'programmes',
      'submit',
      '--name',
      title,
      '--specification',
      file,
      '--backend',
      backendUrl,
      '-o',
      'name',
    ]
    return (await runCommand(args, { env }).ended).out.trim()
  }

  it('prints the steps of a programme until it has succeeded', async () => {
    const { code, out } = await runCommand(['programmes', 'watch', await submit('Parcels')], { env }).ended
    expect(out).toMatch(/^ 1 {2}Validate Specification/m)
    expect([code, out]).toEqual([0, expect.stringMatching(/^ 8 {2}.* done$/m)])
  })

  it('exits with 1 when the programme has failed, after its errors', async () => {
    const id = await submit('Broken', (document) =>
      document.replace('operationId: createOrder', 'operationId: listOrders'),
    )
    const { code, out, err } = await runCommand(['programmes', 'watch', id], { env }).ended
    expect([code, err]).toEqual([1, expect.stringContaining(`The programme ${id} has failed.`)])
    expect(out).toMatch(/^ 1 {2}Validate Specification +failed\n {6}\S/m)
  })
})
