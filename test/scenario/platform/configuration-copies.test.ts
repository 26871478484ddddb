/** A service, its folder, and another service that is made from the folder: what a file leaves out must widen nothing. */

import { beforeAll, describe, expect, it } from 'vitest'
import { describeChange } from '../../../src/interfaces/cli/configuration/differences.ts'
import { HANDLERS, handlerOf, readAll } from '../../../src/interfaces/cli/configuration/kinds.ts'
import { explicit, type Fields, type Found } from '../../../src/interfaces/cli/configuration/resource.ts'
import { CLIENT_FIELDS } from '../../../src/interfaces/cli/configuration/subscription-client.ts'
import {
  applyTo,
  contextOver,
  credentialsOf,
  differencesOf,
  dumpOf,
  platformOver,
  type Files,
} from '../../fixtures/configured-platform.ts'
import { openTestPlatform, PAYMENTS, PAYMENTS_SLA, type TestPlatform } from '../../fixtures/test-platform.ts'
import { createRandom, type Random } from '../../random.ts'

const API = 'payments-v1'
const ISSUER = 'https://login.example'
const SCOPES = ['payments:read', 'payments:write']

/** Returns how a subscription is used: the types of its credentials, and what these are bound to. */
function clientOf(random: Random, federatedId: string): Fields {
  const types = ['OAuth2', 'ApiKey', 'PKCE', 'Federated'].filter(() => random.next() < 0.4)
  const isRedirected = types.includes('PKCE') || (types.includes('OAuth2') && random.next() < 0.5)
  return {
    ...(types.length > 0 && { securityTypes: types }),
    ...(isRedirected && { redirectUris: ['https://app.example/back'] }),
    ...(types.includes('Federated') && { federated: { issuer: ISSUER, clientId: federatedId } }),
    ...(random.next() < 0.3 && { certificateThumbprint: 'A'.repeat(43) }),
  }
}

const poster = (service: TestPlatform) => async (path: string, body: object) => {
  const { status, body: made, text } = await service.send('POST', path, { token: service.token('acme'), body })
  expect(status, text).toBeLessThan(300)
  return made
}

async function publish(service: TestPlatform, settings: Fields): Promise<void> {
  const post = poster(service)
  const { id } = await post('/v1/proxies', { api: API, specification: PAYMENTS.toString('base64'), ...settings })
  await post(`/v1/proxies/${String(id)}/activate`, {})
}

/** Creates resources of which each field that may be empty is so at random. */
async function fill(service: TestPlatform, random: Random): Promise<void> {
  const post = poster(service)
  const maybe = (fields: Fields): Fields => {
    return Object.fromEntries(Object.entries(fields).filter(() => random.next() < 0.5))
  }
  const some = (values: readonly string[]) => values.filter(() => random.next() < 0.5)
  const labels = () => maybe({ labels: random.next() < 0.5 ? { team: 'a' } : {} })
  await publish(service, { backend: { url: 'https://backend.example' }, ...maybe({ allowedScopes: some(SCOPES) }) })
  await post('/v1/roles', { name: 'helper', scopes: some(['apis:read', 'usage:read']), ...labels() })
  await post('/v1/rulesets', {
    description: 'House rules',
    ...maybe({ extends: ['spectral:oas'], formats: ['oas3'], aliases: {} }),
    rules: random.next() < 0.5 ? { 'operation-tags': 'off' } : {},
  })
  const principle = {
    name: 'Small',
    statement: 'Small APIs.',
    rationale: 'They last.',
    rules: some(['operation-tags']),
  }
  await post('/v1/principles', { ...principle, ...labels() })
  const decision = { title: 'Why', status: 'Accepted', context: 'A', decision: 'B', consequences: 'C' }
  await post('/v1/adrs', { ...decision, ...maybe({ api: API }) })
  const { id: product } = await post('/v1/products', { name: 'All', apis: [API], ...labels() })
  await post('/v1/products', { name: 'None', apis: [] })
  await post('/v1/identityproviders', { issuer: ISSUER, apis: some([API]), ...maybe({ audience: 'a' }) })
  for (const name of ['App', 'Agent']) {
    const { id: consumer } = await post('/v1/consumers', {
      ...{ name, kind: 'application' },
      ...maybe({ contact: 'a@example.com', exposure: 'Partner' }),
      ...labels(),
    })
    for (const target of [{ api: API }, { product }]) {
      const scopes = maybe({ scopes: some(SCOPES) })
      const client = clientOf(random, `${name} ${JSON.stringify(target)}`)
      const body = { consumer, ...target, ...scopes, ...client, ...maybe({ contact: 'b' }) }
      const { id } = await post('/v1/subscriptions', body)
      if (random.next() < 0.3) await post(`/v1/subscriptions/${String(id)}/suspend`, {})
    }
    const covering = [{ role: 'auditor' }, { role: 'consumer', consumers: [consumer] }]
    const roles = covering.filter(() => random.next() < 0.5)
    const { id: user } = await post('/v1/users', { username: name.toLowerCase(), name, roles, ...labels() })
    if (random.next() < 0.3) await post(`/v1/users/${String(user)}/disable`, {})
    if (random.next() < 0.3) await post(`/v1/consumers/${String(consumer)}/disable`, {})
  }
  await post('/v1/eventsubscriptions', { url: 'https://hook.example/', ...maybe({ events: ['SlaChanged'] }) })
}

it.each([1, 2, 3, 4])('A copy has the same configuration, whatever is empty (seed %i)', async (seed) => {
  const [one, two] = await Promise.all([openTestPlatform(), openTestPlatform()])
  await fill(one, createRandom(seed))
  const files = await dumpOf(one)
  expect(await applyTo(two, files)).toMatchObject({ failures: [] })
  expect(await dumpOf(two)).toEqual(files)
  expect(await differencesOf(two, files)).toEqual([])
  expect(await credentialsOf(two)).toEqual(await credentialsOf(one))
})

it('A copy has nothing of a retired API, and no provider whose tokens opened that API alone', async () => {
  const [one, two] = await Promise.all([openTestPlatform(), openTestPlatform()])
  const post = poster(one)
  await publish(one, { backend: { url: 'https://backend.example' } })
  const { id: consumer } = await post('/v1/consumers', { name: 'App', kind: 'application' })
  const { id: product } = await post('/v1/products', { name: 'All', apis: [API] })
  await post('/v1/subscriptions', { consumer, api: API })
  await post('/v1/subscriptions', { consumer, product })
  await post('/v1/identityproviders', { issuer: 'https://login.example', apis: [API] })
  await post('/v1/adrs', { title: 'Why', status: 'Accepted', context: 'A', decision: 'B', consequences: 'C', api: API })
  await post(`/v1/apis/${API}/deprecate`, { retirementDate: new Date(one.clock.nowMs() + 1_000).toISOString() })
  await post(`/v1/apis/${API}/retire`, { force: true })
  const files = await dumpOf(one)
  expect(Object.values(files).join('\n')).not.toContain(API)
  expect(files).not.toHaveProperty('identityproviders.yaml')
  const found = await readAll(contextOver(platformOver(one)))
  const named = found.filter(({ unknownApis = [] }) => unknownApis.includes(API)).map(({ kind }) => kind)
  expect(named).toEqual(['adr', 'product'])
  expect(await applyTo(two, files)).toMatchObject({ failures: [], left: [] })
  expect(await dumpOf(two)).toEqual(files)
})

it('A request that waits for an approval is no part of a copy, which could grant it', async () => {
  const service = await openTestPlatform()
  await publish(service, { backend: { url: 'https://backend.example' } })
  await service.send('PATCH', `/v1/apis/${API}/policy`, {
    token: service.token('acme'),
    body: { subscriptionApproval: 'Manual' },
  })
  const { id: consumer } = await poster(service)('/v1/consumers', { name: 'App', kind: 'application' })
  const { state } = await poster(service)('/v1/subscriptions', { consumer, api: API })
  expect(state).toBe('Pending')
  expect(await dumpOf(service)).not.toHaveProperty('subscriptions.yaml')
  const folder = { 'a.yaml': `resource: subscription\nconsumer: App\napi: ${API}\n` }
  const line = `! subscription App to ${API} waits for an approval`
  expect((await differencesOf(service, folder)).map((each) => describeChange(each, String))).toEqual([line])
  expect(await applyTo(service, folder)).toMatchObject({ done: 0, waiting: 1, failures: [], left: [], lines: [line] })
})

it('A subscription that is active here and waits in the copy is a difference until it is approved', async () => {
  const [one, two] = await Promise.all([openTestPlatform(), openTestPlatform()])
  await publish(one, { backend: { url: 'https://backend.example' } })
  const { id: consumer } = await poster(one)('/v1/consumers', { name: 'App', kind: 'application' })
  await poster(one)('/v1/subscriptions', { consumer, api: API })
  const body = { subscriptionApproval: 'Manual' }
  await one.send('PATCH', `/v1/apis/${API}/policy`, { token: one.token('acme'), body })
  const files = await dumpOf(one)
  const { failures, lines } = await applyTo(two, files)
  expect([failures, lines.at(-1)]).toEqual([[], `+ subscription App to ${API} (waits for an approval)`])
  expect(await differencesOf(two, files)).toMatchObject([{ action: 'wait', found: { name: `App to ${API}` } }])
  const { items } = (await two.send('GET', '/v1/subscriptions', { token: two.token('acme') })).body
  const [{ id, approvalFlow }] = items as readonly [Fields]
  const other = await poster(two)('/v1/consumers', { name: 'Approver', kind: 'application' })
  const token = two.token('acme', undefined, undefined, { consumer: String(other['id']) })
  const decision = { token, body: { outcome: 'Approved' } }
  const path = `/v1/subscriptions/${String(id)}/approvalFlows/${String(approvalFlow)}/approvals`
  expect((await two.send('POST', path, decision)).status).toBeLessThan(300)
  expect(await differencesOf(two, files)).toEqual([])
})

it.each([
  ['consumer App', 'consumers', 'name: App', 'disable', 'enable'],
  ['user ann', 'users', 'username: ann', 'disable', 'enable'],
  [`subscription App to ${API}`, 'subscriptions', `consumer: App\napi: ${API}`, 'suspend', 'resume'],
])(
  '%s stays halted if it was halted since a dump, is halted again if it was resumed, and is halted in a copy',
  async (key, list, named, halt, resume) => {
    const [service, copy] = await Promise.all([openTestPlatform(), openTestPlatform()])
    const post = poster(service)
    await publish(service, { backend: { url: 'https://backend.example' } })
    const { id: consumer } = await post('/v1/consumers', { name: 'App', kind: 'application' })
    const { id: subscription } = await post('/v1/subscriptions', { consumer, api: API })
    const { id: user } = await post('/v1/users', { username: 'ann', name: 'Ann' })
    const path = `/v1/${list}/${String({ consumers: consumer, users: user, subscriptions: subscription }[list])}`
    const before = await dumpOf(service)
    await post(`${path}/${halt}`, {})
    expect(await differencesOf(service, before)).toEqual([])
    const after = await dumpOf(service)
    await post(`${path}/${resume}`, {})
    expect(await applyTo(service, after)).toMatchObject({ failures: [], lines: [`~ ${key}`] })
    expect(await dumpOf(service)).toEqual(after)
    expect(await applyTo(copy, after)).toMatchObject({ failures: [] })
    expect(await dumpOf(copy)).toEqual(after)
    const active = { 'a.yaml': `resource: ${key.split(' ')[0]}\n${named}\nstate: Active\n` }
    expect(await applyTo(service, active)).toMatchObject({ failures: [], lines: [`~ ${key}`] })
    expect(await dumpOf(service)).toEqual(before)
  },
)

/** Another value for each field of each kind that can be changed. */
const OTHER: Readonly<Record<string, Fields>> = {
  role: { description: 'Helps', scopes: [], labels: { a: 'b' } },
  ruleset: {
    ...{ extends: ['spectral:oas'], formats: ['oas3'], aliases: { Paths: ['$.paths'] } },
    ...{ documentationUrl: 'https://rules.example', rules: { 'operation-tags': 'off' }, labels: { a: 'b' } },
  },
  principle: { statement: 'Smaller.', rationale: 'Why not.', rules: ['operation-tags'], labels: { a: 'b' } },
  policy: { approval: { minScore: 77 }, ruleset: 'House rules', secondFactor: 'required' },
  api: {
    ...{ document: 'other.yaml', backend: { url: 'https://other.example' }, allowedScopes: [] },
    ...{ transform: { request: { remove: ['X-A'] } }, policy: { exposure: 'Partner' }, declarations: ['silver.yaml'] },
    labels: { a: 'b' },
  },
  adr: { status: 'Superseded', context: 'D', decision: 'E', consequences: 'F', api: API, labels: { a: 'b' } },
  product: { apis: [], labels: { a: 'b' } },
  consumer: { contact: 'c@example.com', exposure: 'Internal', labels: { a: 'b' } },
  identityprovider: {
    ...{ audience: 'other', claims: { scope: 'scp' }, apis: [API], labels: { a: 'b' } },
    signIn: {
      clientId: 'a',
      clientSecret: 'client-secret-0123456789',
      roles: [{ claim: 'a', value: 'b', role: 'auditor' }],
    },
  },
  user: { name: 'Anna', roles: [{ role: 'helper' }], labels: { a: 'b' } },
  subscription: {
    ...{ slaVariant: 'gold', scopes: [], refreshTokens: true, contact: 'd', expiresAt: '2028-01-01T00:00:00Z' },
    labels: { a: 'b' },
  },
  eventsubscription: { events: ['SlaChanged'], labels: { a: 'b' } },
}
/** They name a resource, are set once, or have tests of their own. */
const NOT_CHANGED = new Set(['number', 'consumer', 'api', 'product', 'kind', 'secret', 'state', ...CLIENT_FIELDS])

const cases = HANDLERS.flatMap(({ kind, fields }) =>
  fields.filter((field) => kind === 'adr' || !NOT_CHANGED.has(field)).map((field) => [kind, field] as const),
)

describe('after a change at the service', () => {
  const variantOf = (name: string) => PAYMENTS_SLA.toString().replace(/^info:/m, `info:\n  variant: ${name}`)
  const texts: Files = {
    'other.yaml': PAYMENTS.toString().replace(/summary: .*$/m, 'summary: Other'),
    'silver.yaml': variantOf('silver'),
  }
  let service: TestPlatform
  let close: () => Promise<void>
  let files: Files
  beforeAll(async () => {
    service = await openTestPlatform({ atEnd: (end) => (close = end) })
    const post = poster(service)
    await publish(service, { backend: { url: 'https://backend.example' } })
    for (const text of [PAYMENTS_SLA.toString(), variantOf('gold')]) {
      await post('/v1/openslaspecs', { api: API, specification: Buffer.from(text).toString('base64') })
    }
    await post('/v1/rulesets', { description: 'House rules', rules: {} })
    await post('/v1/roles', { name: 'helper', scopes: ['apis:read'] })
    await post('/v1/principles', { name: 'Small', statement: 'Small APIs.', rationale: 'They last.' })
    await post('/v1/adrs', { title: 'Why', status: 'Accepted', context: 'A', decision: 'B', consequences: 'C' })
    await post('/v1/products', { name: 'All', apis: [API] })
    const { id: consumer } = await post('/v1/consumers', { name: 'App', kind: 'application' })
    const redirectUris = ['https://app.example/back']
    await post('/v1/subscriptions', { consumer, api: API, securityTypes: ['PKCE'], redirectUris })
    await post('/v1/identityproviders', { issuer: 'https://login.example' })
    await post('/v1/users', { username: 'ann', name: 'Ann' })
    await post('/v1/eventsubscriptions', { url: 'https://hook.example/' })
    files = await dumpOf(service)
    return () => close()
  })

  const ofKind = async (kind: string): Promise<Found> => {
    const found = await readAll(contextOver(platformOver(service)))
    return found.find((each) => each.kind === kind)!
  }

  it.each(cases)('the folder differs: %s %s', async (kind, field) => {
    // The rate of the platform API is that of one client.
    await service.clock.advance(60_000)
    const value = OTHER[kind]?.[field]
    expect(value, 'needs another value').toBeDefined()
    const context = contextOver(platformOver(service), (path) => texts[path]!)
    const all = await readAll(context)
    const found = all.find((each) => each.kind === kind)!
    const fields = { ...(kind === 'role' && { scopes: found.fields['scopes'] }), [field]: value }
    await handlerOf(kind)!.change(context, found, { ...found, fields }, new Set([field]))
    const differences = await differencesOf(service, files)
    expect(differences).toMatchObject([{ action: 'change', found: { kind }, differences: [{ field }] }])
    expect(differences).toHaveLength(1)
    const { failures, lines } = await applyTo(service, files)
    expect(failures).toEqual([])
    if (field === 'declarations') {
      expect(lines.join()).toContain('1 more in force, because a declaration is never removed')
      files = await dumpOf(service)
    } else expect(await ofKind(kind)).toMatchObject({ fields: explicit(kind, found.fields) })
  })
})
