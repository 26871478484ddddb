/** First use at a terminal and in a browser. `quickstart.test.ts` runs docs/quickstart.md. */

import { spawn, spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { request } from 'undici'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { fetchToken } from '../../src/interfaces/cli/platform-client.ts'
import { ADMIN_SECRET, createService, type Service, isOnPostgres } from './service.ts'
import { paste, SHELLS } from './shells.ts'
import { PLAIN_ENVIRONMENT } from './plain-environment.ts'

const ROOT = join(import.meta.dirname, '../..')
const CLI = join(ROOT, 'src/interfaces/cli/main.ts')
const opened: (() => unknown)[] = []

afterEach(async () => {
  for (const close of opened.splice(0).reverse()) await close()
})

function folder(): string {
  const path = mkdtempSync(join(tmpdir(), 'tollgate-first-use-'))
  opened.push(() => rmSync(path, { recursive: true, force: true }))
  return path
}

async function started(options: Parameters<typeof createService>[0] = {}): Promise<Service> {
  const service = await createService(options)
  opened.push(() => service.remove())
  await service.start()
  return service
}

const admin = (args: readonly string[], env: NodeJS.ProcessEnv = {}) =>
  spawnSync(process.execPath, [CLI, 'admin', ...args], {
    encoding: 'utf8',
    env: { ...PLAIN_ENVIRONMENT, ...env },
    timeout: 30_000,
  })

const MADE = { ADMIN_CLIENT_ID: '', ADMIN_CLIENT_SECRET: '' }

for (const [index, shell] of SHELLS.entries()) {
  const tags = ['curl', ...shell.tags]
  describe(`first use: the commands that a first start prints, pasted into ${shell.name}`, { tags }, () => {
    it('terminate, make a call, raise a risk, and show the risk and a bill', async () => {
      // A secret that the operator has set is not printed, so that the shell must have it.
      const isChosen = index === 0
      const service = await started(isChosen ? {} : { env: MADE })
      const lines = service.output().split('\n')
      const printed = lines.slice(lines.findIndex((line) => line.startsWith('ADMIN=')))
      const secret = isChosen ? `ADMIN_CLIENT_SECRET=${ADMIN_SECRET}; ` : ''
      const commands = printed.map((line, at) => (at === 0 ? secret + line : line))
      const { out } = await paste(shell, commands.join('\n'))

      expect(out).toContain('HTTP/1.1 200 OK')
      expect(out).toMatch(/^data: .*"AuthFailure401".*$/m)
      const bill = commands.findLast((line) => line !== '') ?? ''
      const setUp = commands[0] ?? ''
      let summary = out
      for (let tries = 0; tries < 100 && !summary.includes('"amount":"0.002"'); tries++) {
        summary = (await paste(shell, `${setUp}\n${bill}`)).out
      }
      expect(summary).toContain('"amount":"0.002"')
    })
  })
}

describe('first use: a page at / for browsers', () => {
  const html = { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' }
  let service: Service

  beforeAll(async () => {
    service = await createService({ args: ['--empty'] })
    await service.start()
  })
  afterAll(() => service.remove())

  it('200 at the gateway: what this is, links that work, and no secret', async () => {
    const { statusCode, headers, body } = await request(`${service.gatewayUrl}/`, { headers: html })
    const text = await body.text()
    expect([statusCode, headers['content-type']]).toEqual([200, 'text/html; charset=utf-8'])
    expect(text).toContain('<h1>tollgate</h1>')
    expect(text).toContain('YOUR_ADMIN_CLIENT_SECRET')
    expect(text).not.toMatch(/journey-admin|tgs_|<script|src=|style=/)
    const links = [...text.matchAll(/href="([^"]+)"/g)].map(([, link]) => link ?? '')
    expect(links).toContain(`${service.baseUrl}/openapi.json`)
    for (const link of links) {
      const linked = await request(link)
      await linked.body.dump()
      expect([link, linked.statusCode]).toEqual([link, 200])
    }
  })

  it('at the gateway loads nothing but its own style and is framed by nobody', async () => {
    const { headers, body } = await request(`${service.gatewayUrl}/`, { headers: html })
    await body.dump()
    expect(headers['content-security-policy']).toMatch(
      /^default-src 'none'; style-src 'sha256-[^']+'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'$/,
    )
    expect(headers['x-content-type-options']).toBe('nosniff')
  })

  it('is the console at the platform', async () => {
    const { statusCode, headers, body } = await request(`${service.baseUrl}/`, { headers: html })
    await body.dump()
    expect([statusCode, headers['location']]).toEqual([302, '/console/'])
  })

  it('is for other clients 404 at the gateway and an index at the platform, whose links work', async () => {
    for (const accept of ['application/json', '*/*']) {
      const { statusCode, body } = await request(`${service.gatewayUrl}/`, { headers: { accept } })
      expect([statusCode, ((await body.json()) as { code: string }).code]).toEqual([404, 'not_found'])
    }
    const posted = await request(`${service.gatewayUrl}/`, { method: 'POST', headers: html })
    await posted.body.dump()
    expect(posted.statusCode).toBe(404)

    const { body } = await request(`${service.baseUrl}/`)
    const { name, version, gatewayUrl, riskUrl, ...links } = (await body.json()) as Record<string, string>
    expect([name, gatewayUrl, riskUrl]).toEqual(['tollgate', service.gatewayUrl, service.baseUrl])
    expect(version).toMatch(/^\d+\.\d+\.\d+/)
    expect(Object.keys(links)).toEqual(['openapi', 'console', 'health', 'metrics'])
    for (const link of Object.values(links)) {
      const linked = await request(link)
      await linked.body.dump()
      expect([link, linked.statusCode]).toEqual([link, 200])
    }
  })
})

describe('first use: a shutdown', () => {
  it.each(['SIGINT', 'SIGTERM'] as const)('by %s prints one line about the draining', async (signal) => {
    const service = await started({ args: ['--empty'] })
    const before = service.output()
    expect(await service.stop(signal)).toBe(0)
    const lines = service.output().slice(before.length).trim().split('\n')
    expect(lines).toEqual([expect.stringContaining('draining; calls in flight finish first')])
  })
})

describe('first use: a variable with a wrong name', () => {
  it('is logged as a warning with the nearest name and without its value', async () => {
    const service = await started({
      args: ['--empty'],
      env: { GATEWAY_PROT: 'value-1', TOLLGATE_DATA_DIR: 'value-2', TOLLGATE_CLIENT_SECRET: 'value-3' },
    })
    const warnings = service
      .errors()
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Record<string, unknown>)
      // This machine may allow fewer open files than the settings need.
      .filter(({ variable }) => variable !== undefined)
    expect(warnings.map(({ variable, nearest }) => [variable, nearest]).toSorted()).toEqual([
      ['GATEWAY_PROT', 'GATEWAY_PORT'],
      ['TOLLGATE_DATA_DIR', 'DATA_DIR'],
    ])
    expect(service.errors()).not.toContain('value-')
  })
})

describe.skipIf(isOnPostgres)('first use: tollgate admin reset (needs the registry in the folder)', () => {
  const MASTER_KEY = 'ab'.repeat(32)
  const tokenOf = (service: Service, clientId: string, clientSecret: string): Promise<unknown> =>
    fetchToken({ ...service, api: 'platform-v1', clientId, clientSecret })

  it.each([
    ['the key file of the folder', {}, {}],
    ['MASTER_KEY, and another GATEWAY_URL for the link', { MASTER_KEY }, { GATEWAY_URL: 'https://other.example' }],
  ])('replaces a lost admin secret, with %s', async (_name, env, atReset) => {
    const service = await started({ args: ['--empty'], env: { ...env, ...MADE } })
    const credential = /client id +(\S+)\s+client secret +(\S+)/
    const [, oldId = '', oldSecret = ''] = credential.exec(service.output()) ?? []
    await tokenOf(service, oldId, oldSecret)

    const refused = admin(['reset', '--data-dir', service.dataDir], env)
    expect([refused.status, refused.stdout]).toEqual([2, ''])
    expect(refused.stderr).toContain('in use by another process')

    await service.stop()
    const { status, stdout } = admin(['reset', '--data-dir', service.dataDir], { ...env, ...atReset })
    const [, newId = '', newSecret = ''] = credential.exec(stdout) ?? []
    expect([status, stdout]).toEqual([0, expect.stringContaining(`Revoked: ${oldId}`)])
    const link = /user owner sets .*\n {2}(https?:\S+)\/oauth2\/v2\/password\?link=usr_\S{70}\n/.exec(stdout)
    // Without a setting that names it, the address is that of the last start.
    expect(link?.[1]).toBe('GATEWAY_URL' in atReset ? atReset.GATEWAY_URL : service.gatewayUrl)
    expect(stdout).toContain(`Last started at: ${service.baseUrl} (platform), ${service.gatewayUrl} (gateway)`)
    await service.start()
    await tokenOf(service, newId, newSecret)
    await expect(tokenOf(service, oldId, oldSecret)).rejects.toThrow('invalid_client')
    expect(service.output()).not.toContain(newSecret)
  })

  it('is refused for a folder that is not a data folder, and with another master key', async () => {
    const empty = folder()
    expect(admin(['reset', '--data-dir', empty])).toMatchObject({ status: 2, stdout: '' })
    const service = await started({ args: ['--empty'], env: { MASTER_KEY } })
    await service.stop()
    const none = admin(['reset', '--data-dir', service.dataDir])
    expect([none.status, none.stderr]).toEqual([2, expect.stringContaining('MASTER_KEY')])
    const other = admin(['reset', '--data-dir', service.dataDir], { MASTER_KEY: 'cd'.repeat(32) })
    expect([other.status, other.stderr]).toEqual([2, expect.stringContaining('master key does not match')])
  })
})

describe('first use: a second admin that is set through the environment', () => {
  it('replaces the first, which the log names', async () => {
    const service = await started({ args: ['--empty'] })
    const { clientId, clientSecret } = { clientId: 'second-admin', clientSecret: 'second-admin-secret-0123' }
    await service.stop()
    const second = await createService({
      args: ['--empty'],
      env: { ADMIN_CLIENT_ID: clientId, ADMIN_CLIENT_SECRET: clientSecret },
      dataDir: service.dataDir,
    })
    opened.push(() => second.remove())
    await second.start()

    await fetchToken({ ...second, api: 'platform-v1', clientId, clientSecret })
    await expect(service.platform.get('/v1/apis')).rejects.toThrow()
    await expect(
      fetchToken({
        ...second,
        api: 'platform-v1',
        clientId: 'journey-admin',
        clientSecret: 'journey-admin-secret-0123456789',
      }),
    ).rejects.toThrow('invalid_client')
    const warning = second
      .errors()
      .split('\n')
      .find((line) => line.includes('"revoked"'))
    expect(JSON.parse(warning ?? '{}')).toMatchObject({ clientId, revoked: ['journey-admin'] })
    expect(second.errors()).not.toContain(clientSecret)
  })
})

describe('first use: npm start', () => {
  it.each([
    ['--help', /^Usage: tollgate start .*npm start/m],
    ['--version', /^\d+\.\d+\.\d+$/m],
    ['--help-first-steps', /^ADMIN=\$\(curl .*YOUR_ADMIN_CLIENT_ID/m],
  ])('prints and exits for %s, and creates no file', async (flag, expected) => {
    const data = folder()
    rmSync(data, { recursive: true })
    const { PATH, HOME } = process.env
    const child = spawn('npm', ['start', '--', flag], { cwd: ROOT, env: { PATH, HOME, DATA_DIR: data } })
    let out = ''
    child.stdout.on('data', (chunk: Buffer) => (out += chunk.toString()))
    const code = await new Promise((resolve) => child.on('close', resolve))
    expect([code, out]).toEqual([0, expect.stringMatching(expected)])
    expect(() => readFileSync(join(data, 'registry.db'))).toThrow()
  })
})
