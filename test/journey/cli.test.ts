/** The command line tool against a running service: sign-in of people and clients, resources, output and exit codes. */

import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { request } from 'undici'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { buttonOf, createBrowser, type Page } from './browser.ts'
import { runCommand } from './running-command.ts'
import { createService, type Service } from './service.ts'
import { invite, PASSWORD } from './shared-client.ts'

const SAMPLE = join(import.meta.dirname, '../../src/app/sample/payments.openapi.yaml')
const SECRET = 'journey-admin-secret-0123456789'

let service: Service
let folder: string
let configs = 0

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'cli-'))
  service = await createService({ args: ['--empty'] })
  await service.start()
})
afterAll(async () => {
  await service.remove()
  rmSync(folder, { recursive: true, force: true })
})

/** A configuration folder of its own. */
function newEnvironment(): Record<string, string> {
  return { XDG_CONFIG_HOME: join(folder, `config-${++configs}`), XDG_CACHE_HOME: join(folder, 'cache') }
}

const contextFile = (env: Record<string, string>): string => join(env['XDG_CONFIG_HOME']!, 'tollgate', 'contexts.json')

function run(env: Record<string, string>, args: readonly string[], input = '') {
  return runCommand(args, { env, input }).ended
}

async function signedIn(): Promise<Record<string, string>> {
  const env = newEnvironment()
  const { code, err } = await run(env, ['login', service.baseUrl, '--client-id', 'journey-admin'], `${SECRET}\n`)
  expect([code, err]).toEqual([0, expect.stringContaining('Signed in')])
  return env
}

/** The person signs in on the page and allows the access. */
async function allow(page: Page, browser: ReturnType<typeof createBrowser>, username: string): Promise<Page> {
  const consent = await browser.submit(page, { organisation: '', username, password: PASSWORD })
  return browser.submit(consent, {}, buttonOf(consent, 'Allow'))
}

describe('tollgate login', () => {
  it('signs a client in with the secret on standard input, and keeps the file for its owner alone', async () => {
    const env = await signedIn()
    expect(statSync(contextFile(env)).mode & 0o777).toBe(0o600)
    expect(readdirSync(join(env['XDG_CONFIG_HOME']!, 'tollgate'))).toEqual(['contexts.json', 'contexts.json.lock'])
    const { code, out } = await run(env, ['whoami', '-o', 'json'])
    expect([code, JSON.parse(out)]).toMatchObject([
      0,
      { url: service.baseUrl, clientId: 'journey-admin', tenant: 'default' },
    ])
  })

  it('requests a new token when the stored one has expired or is refused', async () => {
    const env = await signedIn()
    const before = JSON.parse(readFileSync(contextFile(env), 'utf8')) as { contexts: { expiresAtMs: number }[] }
    for (const change of [{ expiresAtMs: 0 }, { accessToken: 'refused' }]) {
      const contexts = before.contexts.map((context) => ({ ...context, ...change }))
      writeFileSync(contextFile(env), JSON.stringify({ ...before, contexts }))
      expect((await run(env, ['apis', 'list'])).code).toBe(0)
    }
    const after = JSON.parse(readFileSync(contextFile(env), 'utf8')) as typeof before
    expect(after.contexts[0]!.expiresAtMs).toBeGreaterThan(0)
  })

  it('signs a person in with a browser, refreshes in parallel commands, and revokes the session at logout', async () => {
    const env = newEnvironment()
    const { username } = await invite(service, { role: 'auditor' })
    const login = runCommand(['login', service.baseUrl, '--no-browser'], { env })
    const [url] = await login.match(/http\S+authorize\S+/)
    const browser = createBrowser()
    const back = await allow(await browser.open(url), browser, username)
    const callback = await request(String(back.headers['location']))
    expect([callback.statusCode, await callback.body.text()]).toEqual([
      200,
      expect.stringContaining('You are signed in'),
    ])
    expect(await login.ended).toMatchObject({ code: 0, out: '' })
    expect(JSON.parse((await run(env, ['whoami', '-o', 'json'])).out)).toMatchObject({ username })

    const stored = JSON.parse(readFileSync(contextFile(env), 'utf8')) as { contexts: { expiresAtMs: number }[] }
    stored.contexts[0]!.expiresAtMs = 0
    writeFileSync(contextFile(env), JSON.stringify(stored))
    const calls = await Promise.all([1, 2, 3].map(() => run(env, ['me', 'get', '-o', 'name'])))
    expect(calls.map(({ code, err }) => [code, err])).toEqual([1, 2, 3].map(() => [0, '']))

    const text = readFileSync(contextFile(env), 'utf8')
    const { accessToken } = (JSON.parse(text) as { contexts: { accessToken: string }[] }).contexts[0]!
    expect((await run(env, ['logout'])).code).toBe(0)
    expect(readFileSync(contextFile(env), 'utf8')).not.toContain(accessToken)
    const token = { ...newEnvironment(), TOLLGATE_URL: service.baseUrl, TOLLGATE_TOKEN: accessToken }
    expect((await run(token, ['me', 'get'])).code).toBe(1)
    expect((await run(env, ['me', 'get'])).code).toBe(2)
  })

  it('refuses an answer with another state, and reports a refusal of the person', async () => {
    const login = runCommand(['login', service.baseUrl, '--no-browser'], { env: newEnvironment() })
    const [url] = await login.match(/http\S+authorize\S+/)
    const search = new URL(url).searchParams
    const back = new URL(search.get('redirect_uri')!)
    expect((await request(`${back.href}?code=x&state=other`)).statusCode).toBe(400)
    const issuer = encodeURIComponent(`${service.gatewayUrl}/platform-v1`)
    await request(`${back.href}?error=access_denied&state=${search.get('state')}&iss=${issuer}`)
    expect(await login.ended).toMatchObject({
      code: 1,
      err: expect.stringContaining('The sign-in was refused: access_denied'),
    })
  })

  it('signs a person in on a device with a code', async () => {
    const env = newEnvironment()
    const { username } = await invite(service, { role: 'auditor' })
    const login = runCommand(['login', service.baseUrl, '--device'], { env })
    const [, userCode = ''] = await login.match(/code\n\n {2}(\S+)\n/)
    const browser = createBrowser()
    const page = await browser.submit(await browser.open(`${service.gatewayUrl}/oauth2/v2/device`), {
      user_code: userCode,
    })
    await allow(page, browser, username)
    expect((await login.ended).code).toBe(0)
    expect((await run(env, ['apis', 'list', '-o', 'name'])).out).toContain('platform-v1')
  })
})

describe('tollgate nodes', () => {
  it('lists a single node, which keeps up with its own commands, and does not remove it', async () => {
    const env = await signedIn()
    const list = async () => {
      const { items } = JSON.parse((await run(env, ['nodes', 'list', '-o', 'json'])).out) as {
        items: { name: string; position: number; lag: number }[]
      }
      expect(items).toMatchObject([{ isLive: true, isSelf: true, silentSeconds: 0 }])
      return items[0]!
    }
    const before = await list()
    expect((await run(env, ['consumers', 'create', '--name', 'Counted', '--kind', 'application'])).code).toBe(0)
    await expect.poll(async () => (await list()).lag, { timeout: 60_000 }).toBe(0)
    expect((await list()).position).toBeGreaterThan(before.position)
    const { code, err } = await run(env, ['nodes', 'remove', before.name])
    expect([code, err]).toEqual([1, expect.stringContaining('is live')])
    const { items } = await service.platform.get<{ items: { name: string }[] }>('/v1/nodes')
    expect(items).toMatchObject([{ name: before.name }])
  })
})

describe('tollgate', () => {
  it('publishes, subscribes and lists with one exit code for each kind of result', async () => {
    const env = await signedIn()
    const deploy = await run(env, [
      'proxies',
      'deploy',
      SAMPLE,
      '--backend',
      'http://127.0.0.1:9',
      '--activate',
      '-o',
      'json',
    ])
    expect(JSON.parse(deploy.out)).toMatchObject({ api: 'payments-v1', state: 'active' })
    const post = { operationId: 'add', security: [], responses: { 200: { description: 'done' } } }
    const servers = [{ url: 'http://127.0.0.1:9' }]
    const open = { openapi: '3.1.0', info: { title: 'Open', version: '1.0.0' }, servers, paths: { '/a': { post } } }
    const named = await run(env, ['proxies', 'deploy', '-', '-o', 'name'], JSON.stringify(open))
    expect([named.out, named.err]).toEqual([
      expect.stringMatching(/^prx_\w+\n$/),
      expect.stringContaining('without a credential (`security: []` or `{}`): add.\n'),
    ])
    const consumer = await run(env, ['consumers', 'create', '--name', 'shop', '--kind', 'application', '-o', 'name'])
    const args = ['--consumer', consumer.out.trim(), '--api', 'payments-v1', '-o', 'yaml']
    expect((await run(env, ['subscriptions', 'create', ...args])).out).toContain('state: Active\n')
    expect((await run(env, ['subscriptions', 'list', '--api', 'payments-v1', '-o', 'csv'])).out).toMatch(
      /^id,.*\r\nsub_/,
    )

    expect(await run(env, ['apis', 'get', 'none-v1'])).toMatchObject({
      code: 1,
      out: '',
      err: expect.stringContaining('404'),
    })
    expect(await run(env, ['consumers', 'create'])).toMatchObject({ code: 1, err: expect.stringContaining('/name') })
    expect(await run(env, ['apis', 'lst'])).toMatchObject({
      code: 2,
      err: expect.stringContaining('Did you mean list?'),
    })
    const nowhere = { ...env, TOLLGATE_URL: 'http://127.0.0.1:9', TOLLGATE_TOKEN: 'x' }
    expect(await run(nowhere, ['apis', 'list'])).toMatchObject({
      code: 2,
      err: expect.stringContaining('cannot be reached'),
    })
  })

  it('calls any operation with tollgate api, and sends a token to no other host', async () => {
    const env = await signedIn()
    const made = await run(env, [
      'api',
      'POST',
      '/v1/consumers',
      '-f',
      'name=007',
      '-F',
      'labels={"a":"b"}',
      '-f',
      'kind=agent',
    ])
    expect(JSON.parse(made.out)).toMatchObject({ name: '007', labels: { a: 'b' } })
    expect((await run(env, ['api', 'GET', '//127.0.0.1:9/'])).code).toBe(2)
    expect((await run(env, ['api', 'GET', '/v1/nothing'])).code).toBe(1)
  })

  it('follows pages up to the limit, and says that there are more', async () => {
    const env = await signedIn()
    const { out, err } = await run(env, ['consumers', 'list', '--limit', '1', '-o', 'json'])
    const { items, next } = JSON.parse(out) as { items: unknown[]; next: string }
    expect([items.length, err]).toEqual([1, expect.stringContaining(`--cursor ${next}`)])
    const rest = JSON.parse((await run(env, ['consumers', 'list', '--cursor', next, '-o', 'json'])).out) as {
      next: null
    }
    expect(rest.next).toBeNull()
  })
})
