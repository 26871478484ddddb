/** The configuration of a service as a folder: from one service to another, changed by hand, planned, applied and synchronised. */

import { spawn } from 'node:child_process'
import { appendFileSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { CLI } from '../fixtures/entry-points.ts'
import { CLIENT, startPeopleProvider, type PeopleProvider } from './people-provider.ts'
import { createService, publish, type Service } from './service.ts'
import { document } from './things-api.ts'
import { PLAIN_ENVIRONMENT } from './plain-environment.ts'

const API = 'things-v1'
const SLA = `opensla: 1.0.0
info:
  title: Things
  version: 1.0.0
`

interface Outcome {
  readonly code: number | null
  readonly out: string
  readonly err: string
}

let folder: string
let one: Service
let two: Service
let provider: PeopleProvider

/** `killAfter`: kills the command as soon as it has printed that many lines. */
function run(service: Service, args: readonly string[], killAfter = Infinity): Promise<Outcome> {
  const child = spawn(process.execPath, [CLI, ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: {
      ...PLAIN_ENVIRONMENT,
      XDG_CONFIG_HOME: join(folder, 'home'),
      TOLLGATE_URL: service.baseUrl,
      TOLLGATE_CLIENT_ID: 'journey-admin',
      TOLLGATE_CLIENT_SECRET: 'journey-admin-secret-0123456789',
      WEBHOOK_SECRET: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw',
      HOOK_PATH: 'a-secret-path',
      [`CLIENT_SECRET_${new URL(provider.issuer).host.replaceAll(/[.:]/g, '_')}`]: CLIENT.clientSecret,
    },
  })
  let [out, err] = ['', '']
  child.stdout.on('data', (chunk: Buffer) => {
    out += chunk.toString()
    if (out.split('\n').length > killAfter) child.kill('SIGKILL')
  })
  child.stderr.on('data', (chunk: Buffer) => (err += chunk.toString()))
  return new Promise((resolve) => child.once('close', (code) => resolve({ code, out, err })))
}

const at = (...path: readonly string[]) => join(folder, ...path)

function textsOf(dir: string): Record<string, string> {
  const files = [...readdirSync(dir), ...readdirSync(join(dir, 'apis')).map((file) => `apis/${file}`)]
  const plain = files.filter((file) => file !== 'apis')
  return Object.fromEntries(plain.map((file) => [file, readFileSync(join(dir, file), 'utf8')]))
}

function edit(file: string, from: string, to: string): void {
  const text = readFileSync(file, 'utf8')
  expect(text).toContain(from)
  writeFileSync(file, text.replace(from, to))
}

const createEmpty = () => createService({ args: ['--empty'], env: { ALLOW_PRIVATE_ADDRESSES: 'federation' } })

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'configuration-'))
  provider = await startPeopleProvider()
  ;[one, two] = await Promise.all([createEmpty(), createEmpty()])
  await Promise.all([one.start(), two.start()])
  await publish(one, API, document('Things'), 'http://127.0.0.1:1')
  await one.platform.post('/v1/openslaspecs', { api: API, specification: Buffer.from(SLA).toString('base64') })
  const { platform } = one
  const { id: consumer } = await platform.post<{ id: string }>('/v1/consumers', { name: 'App', kind: 'application' })
  const { id: product } = await platform.post<{ id: string }>('/v1/products', { name: 'All', apis: [API] })
  await platform.post('/v1/subscriptions', { consumer, product })
  await platform.post('/v1/subscriptions', { consumer, api: API, scopes: ['things:read'] })
  await platform.post('/v1/roles', { name: 'helper', scopes: ['apis:read'], labels: { team: 'a' } })
  const roles = [{ role: 'consumer', consumers: [consumer] }, { role: 'helper' }]
  await platform.post('/v1/users', { username: 'ann', name: 'Ann', roles })
  await platform.post('/v1/identityproviders', {
    issuer: provider.issuer,
    apis: [API],
    signIn: { ...CLIENT, roles: [{ claim: 'groups', value: 'a', role: 'consumer', consumers: [consumer] }] },
  })
  await platform.post('/v1/principles', { name: 'Small', statement: 'Small APIs.', rationale: 'They last.' })
  const ruleset = { description: 'House rules', extends: ['spectral:oas'], rules: { 'operation-tags': 'off' } }
  const { id: rules } = await platform.post<{ id: string }>('/v1/rulesets', ruleset)
  const policy = await platform.get<object>('/v1/policy')
  await platform.put('/v1/policy', { ...policy, ruleset: rules })
})
afterAll(async () => {
  await Promise.all([one.remove(), two.remove(), provider.close()])
  rmSync(folder, { recursive: true, force: true })
})

describe('the configuration of a service', () => {
  it('is the same after a dump is applied to an empty service, also if apply is killed in the middle', async () => {
    expect(await run(one, ['dump', at('first')])).toMatchObject({ code: 0, out: '' })
    expect(Object.values(textsOf(at('first'))).join('\n')).not.toMatch(/\b(?:con|sub|prd|usr|rst|prx)_/)
    const killed = await run(two, ['apply', at('first')], 4)
    expect(killed.code).not.toBe(0)
    const rest = await run(two, ['apply', at('first')])
    expect(rest, rest.err).toMatchObject({ code: 0 })
    expect(rest.out.split('\n').length).toBeLessThan(12)
    expect(await run(two, ['dump', at('second')])).toMatchObject({ code: 0 })
    expect(textsOf(at('second'))).toEqual(textsOf(at('first')))
    expect(await run(two, ['diff', at('first')])).toMatchObject({ code: 0, out: '', err: 'no differences\n' })
  })

  it('is changed by hand and shown, planned and applied, but not after another change', async () => {
    edit(at('first/roles.yaml'), '- apis:read', '- apis:read\n  - usage:read')
    edit(at('first/apis/things-v1.yaml'), 'exposure: Internal', 'exposure: Public')
    const text = '---\nresource: eventsubscription\nurl: https://hooks.example/x\nsecret: ${WEBHOOK_SECRET}\n'
    appendFileSync(at('first/consumers.yaml'), text)
    const lines = ['~ role helper', '~ api things-v1', '+ eventsubscription https://hooks.example/x']
    const diff = await run(two, ['diff', at('first')])
    expect(diff).toMatchObject({ code: 1, err: 'tollgate: 3 differences\n' })
    expect(diff.out.split('\n').filter((line) => /^[~+-]/.test(line))).toEqual(lines)

    expect(await run(two, ['plan', at('first'), '--out', at('plan')])).toMatchObject({ code: 1 })
    expect(readFileSync(at('plan'), 'utf8')).not.toContain('whsec_')
    await two.platform.put('/v1/roles/helper', { scopes: ['products:read'], labels: { team: 'a' } })
    const before = await run(two, ['dump', at('before')])
    expect(before.code).toBe(0)
    const refused = await run(two, ['apply', at('plan')])
    expect(refused).toMatchObject({ code: 1, out: '' })
    expect(refused.err).toContain('Nothing was changed, because these have changed since the plan:\n  role helper\n')
    await run(two, ['dump', at('after')])
    expect(textsOf(at('after'))).toEqual(textsOf(at('before')))

    expect(await run(two, ['plan', at('first'), '--out', at('plan')])).toMatchObject({ code: 1 })
    const applied = await run(two, ['apply', at('plan')])
    expect(applied, applied.err).toMatchObject({ code: 0, out: `${lines.join('\n')}\n` })
    expect(await two.platform.get('/v1/roles/helper')).toMatchObject({ scopes: ['apis:read', 'usage:read'] })
    expect(await two.platform.get(`/v1/apis/${API}/policy`)).toMatchObject({ exposure: 'Public' })
  })

  it('gets a new API from a plan, which has no secrets and is for this service only', async () => {
    const dir = mkdtempSync(join(folder, 'plan-'))
    writeFileSync(join(dir, 'document.json'), JSON.stringify(document('Parts')))
    const api = 'resource: api\nname: parts-v1\ndocument: ./document.json\nbackend: {url: "http://127.0.0.1:1"}\n'
    writeFileSync(join(dir, 'api.yaml'), api)
    const hook =
      'resource: eventsubscription\nurl: https://hooks.example/${HOOK_PATH}\nlabels: {path: "${HOOK_PATH}"}\n'
    writeFileSync(join(dir, 'hook.yaml'), hook)
    const lines = '+ api parts-v1\n+ eventsubscription https://hooks.example/${HOOK_PATH}\n'
    expect(await run(two, ['plan', dir, '--out', at('plan')])).toMatchObject({ code: 1, out: lines })
    expect(readFileSync(at('plan'), 'utf8')).not.toContain('a-secret-path')
    rmSync(dir, { recursive: true })

    const elsewhere = await run(one, ['apply', at('plan')])
    expect(elsewhere).toMatchObject({ code: 2, out: '' })
    expect(elsewhere.err).toContain(`The plan is for ${two.baseUrl}, not for ${one.baseUrl}.`)
    const applied = await run(two, ['apply', at('plan')])
    expect(applied, applied.err).toMatchObject({ code: 0, out: lines })
    const { items } = await two.platform.get<{ items: readonly { url: string }[] }>('/v1/eventsubscriptions')
    expect(items).toContainEqual(expect.objectContaining({ url: 'https://hooks.example/a-secret-path' }))
  })

  it('loses by sync only what the folder owns, after --yes', async () => {
    const dir = mkdtempSync(join(folder, 'own-'))
    writeFileSync(join(dir, 'tollgate.yaml'), 'managedBy: team-a\n')
    const owned = ['First', 'Second'].map((name) => `resource: consumer\nname: ${name}\nkind: agent\n`)
    writeFileSync(join(dir, 'consumers.yaml'), owned.join('---\n'))
    expect(await run(two, ['sync', dir])).toMatchObject({ code: 0, out: '+ consumer First\n+ consumer Second\n' })
    writeFileSync(join(dir, 'consumers.yaml'), owned[0]!)
    const asked = await run(two, ['sync', dir])
    expect(asked).toMatchObject({ code: 1, out: '' })
    expect(asked.err).toBe('- consumer Second\ntollgate: These would be removed; --yes removes them.\n')
    expect(await run(two, ['apply', dir])).toMatchObject({ code: 0, out: '' })
    expect(await run(two, ['sync', dir, '--yes'])).toMatchObject({ code: 0, out: '- consumer Second\n' })
    const { items } = await two.platform.get<{ items: readonly { name: string }[] }>('/v1/consumers')
    expect(items.map(({ name }) => name)).toEqual(expect.arrayContaining(['App', 'First']))

    writeFileSync(join(dir, 'app.yaml'), 'resource: consumer\nname: App\n')
    expect(await run(two, ['adopt', dir])).toMatchObject({ code: 0, out: '~ consumer App\n' })
    expect(await run(two, ['adopt', dir])).toMatchObject({ code: 0, out: '' })
  })

  it('names what a dump leaves out, and a subscription that waits until it is approved', async () => {
    await publish(one, 'old-v1', document('Old'), 'http://127.0.0.1:1')
    await one.platform.post('/v1/products', { name: 'Both', apis: [API, 'old-v1'] })
    const retirementDate = new Date(Date.now() + 86_400_000).toISOString()
    await one.platform.post('/v1/apis/old-v1/deprecate', { retirementDate })
    await one.platform.post('/v1/apis/old-v1/retire', { force: true })
    const dumped = await run(one, ['dump', at('both')])
    expect(dumped.err).toContain('product Both is written without old-v1: retired, or never active\n')

    const dir = mkdtempSync(join(folder, 'waits-'))
    const policy = `resource: api\nname: ${API}\npolicy: { subscriptionApproval: Manual }\n`
    const access = `resource: consumer\nname: Later\nkind: agent\n---\nresource: subscription\nconsumer: Later\napi: ${API}\n`
    writeFileSync(join(dir, 'all.yaml'), `${policy}---\n${access}`)
    const applied = await run(two, ['apply', dir])
    expect(applied, applied.err).toMatchObject({ code: 0 })
    expect(applied.out).toContain(`+ subscription Later to ${API} (waits for an approval)\n`)
    const out = `! subscription Later to ${API} waits for an approval\n`
    expect(await run(two, ['diff', dir])).toMatchObject({ code: 1, out, err: 'tollgate: 1 difference\n' })
    expect(await run(two, ['plan', dir, '--out', at('waits')])).toMatchObject({ code: 1, out })
    const again = { code: 0, out, err: '0 changes; 1 waits for an approval or for capacity\n' }
    expect(await run(two, ['apply', dir])).toMatchObject(again)
    expect(await run(two, ['apply', at('waits')])).toMatchObject(again)
  })

  it('never takes away the access with which the command runs', async () => {
    const dir = mkdtempSync(join(folder, 'self-'))
    writeFileSync(join(dir, 'tollgate.yaml'), 'managedBy: team-self\n')
    writeFileSync(join(dir, 'admin.yaml'), 'resource: consumer\nname: admin\n')
    const adopted = await run(two, ['adopt', dir])
    expect(adopted).toMatchObject({ code: 1, out: '' })
    expect(adopted.err).toContain('consumer admin is the access of the client that runs this command.')

    const { items } = await two.platform.get<{ items: { id: string; name: string }[] }>('/v1/consumers')
    const { id } = items.find(({ name }) => name === 'admin')!
    expect(await run(two, ['consumers', 'update', id, '--labels', 'managed-by=team-self'])).toMatchObject({ code: 0 })
    rmSync(join(dir, 'admin.yaml'))
    const synced = await run(two, ['sync', dir, '--yes'])
    expect(synced).toMatchObject({ code: 1, out: '' })
    expect(synced.err).toContain('sync would remove the access of the client that runs it:\n  consumer admin\n')
    expect(await run(two, ['diff', dir])).toMatchObject({ code: 1, out: '- consumer admin\n' })
  })
})
