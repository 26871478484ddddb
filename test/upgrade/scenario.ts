/**
 * Fills a data folder through the public API of the service that writes it: every kind of resource once, in more than one
 * state where a resource has states, and traffic that leaves line items, risks, counters and audit entries.
 */

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { request } from 'undici'
import { fetchToken, type PlatformClient } from '../../src/interfaces/cli/platform-client.ts'
import { base64, declaration, entriesDocument } from './documents.ts'
import { BACKEND_URL, RECEIVER_URL, type Neighbours } from './neighbours.ts'

export interface Caller {
  readonly api: string
  readonly clientId: string
  readonly clientSecret: string
  readonly apiKey: string
}

export interface Client {
  readonly clientId: string
  readonly clientSecret: string
}

export interface Filled {
  /** Callers whose subscriptions are active, by the name of their consumer. */
  readonly callers: Readonly<Record<string, Caller>>
  /** A caller whose subscription is suspended. */
  readonly suspended: Caller
  /** First admin of the second tenant. */
  readonly otherAdmin: Client
  readonly otherCaller: Caller
  /** An access token that is in use when the folder is packed. */
  readonly token: string
}

export interface ScenarioOptions {
  readonly gatewayUrl: string
  readonly platform: PlatformClient
  /** A client of the platform with the credentials of another tenant. */
  readonly clientOf: (credential: Client) => PlatformClient
  readonly neighbours: Neighbours
}

const SAMPLE = join(import.meta.dirname, '../../src/app/sample')
const LIFETIME_DAYS_MAX = 3_650
const POLL_MS = 50
const WAIT_MS_MAX = 60_000

export async function fillDataFolder(options: ScenarioOptions): Promise<Filled> {
  const { platform, gatewayUrl, clientOf } = options
  await publish(platform, 'Ledger')
  await publish(platform, 'Catalogue')
  for (const [variant, perUnit] of [
    [null, '0.002'],
    ['gold', '0.0013'],
  ] as const) {
    await platform.post('/v1/openslaspecs', {
      api: 'ledger-v1',
      specification: base64(declaration(variant, perUnit)),
    })
  }
  const { id: bundle } = await platform.post<{ id: string }>('/v1/products', {
    name: 'Bundle',
    apis: ['ledger-v1', 'catalogue-v1'],
  })
  const callers = {
    Ada: await subscribe(platform, 'Ada', 'application', 'ledger-v1'),
    Grace: await subscribe(platform, 'Grace', 'agent', 'ledger-v1', { slaVariant: 'gold' }),
    Edsger: await subscribe(platform, 'Edsger', 'application', 'catalogue-v1', { scopes: ['entries:read'] }),
    Barbara: await subscribe(platform, 'Barbara', 'application', 'catalogue-v1', { product: bundle, api: undefined }),
  }
  const suspended = await subscribe(platform, 'Charles', 'application', 'ledger-v1')
  await platform.post(`/v1/subscriptions/${suspended.subscription}/suspend`)
  const cancelled = await subscribe(platform, 'Alan', 'application', 'ledger-v1')
  await platform.post(`/v1/subscriptions/${cancelled.subscription}/cancel`)

  await deploymentStates(platform)
  await governance(platform)
  await receiveEvents(options)
  const other = await secondTenant(options)
  const token = await traffic(gatewayUrl, callers, suspended)
  await call(gatewayUrl, other.otherCaller, { times: 7 })
  return { callers, suspended, ...other, token }

  async function secondTenant({ platform: operator }: ScenarioOptions) {
    const tenant = await operator.post<{ credential: Client }>('/v1/tenants', { name: 'Acme & Sons' })
    const own = clientOf(tenant.credential)
    await publish(own, 'Archive')
    return { otherAdmin: tenant.credential, otherCaller: await subscribe(own, 'Donald', 'application', 'archive-v1') }
  }
}

async function publish(platform: PlatformClient, title: string, version?: string): Promise<string> {
  const api = `${title.toLowerCase()}-v1`
  const specification = base64(entriesDocument(title, version))
  const { id } = await platform.post<{ id: string }>('/v1/proxies', {
    api,
    specification,
    backend: { url: BACKEND_URL },
  })
  await platform.post(`/v1/proxies/${id}/activate`)
  await platform.put(`/v1/apis/${api}/policy`, { credentialLifetimeDays: LIFETIME_DAYS_MAX })
  return id
}

async function subscribe(
  platform: PlatformClient,
  name: string,
  kind: 'application' | 'agent',
  api: string,
  more: object = {},
): Promise<Caller & { readonly subscription: string }> {
  const { id: consumer } = await platform.post<{ id: string }>('/v1/consumers', { name, kind })
  const { id: subscription } = await platform.post<{ id: string }>('/v1/subscriptions', { consumer, api, ...more })
  const { items } = await platform.get<{ items: readonly ({ type: string } & Caller)[] }>(
    `/v1/subscriptions/${subscription}/credentials`,
  )
  const client = items.find(({ type }) => type === 'OAuth2')
  const key = items.find(({ type }) => type === 'ApiKey')
  if (client === undefined || key === undefined) throw new Error(`${name} was given no client or no key`)
  const { clientId, clientSecret } = client
  return { api, subscription, clientId, clientSecret, apiKey: key.apiKey }
}

/** A second revision that is active and a third that is staged; an API that is deprecated, one that is retired. */
async function deploymentStates(platform: PlatformClient): Promise<void> {
  await publish(platform, 'Ledger', '1.1.0')
  await platform.post('/v1/proxies', {
    api: 'ledger-v1',
    specification: base64(entriesDocument('Ledger', '1.2.0')),
    backend: { url: BACKEND_URL, timeoutMs: 5_000 },
  })
  await publish(platform, 'Legacy')
  const { subscription } = await subscribe(platform, 'Konrad', 'application', 'legacy-v1')
  await platform.post(`/v1/subscriptions/${subscription}/credentials/rotate`, { overlapSeconds: 31_536_000 })
  await platform.post('/v1/apis/legacy-v1/deprecate', {
    retirementDate: '2099-12-31T00:00:00.000Z',
    successor: 'ledger-v1',
  })
  await publish(platform, 'Gone')
  await platform.post('/v1/apis/gone-v1/deprecate', { retirementDate: '2099-12-31T00:00:00.000Z' })
  await platform.post('/v1/apis/gone-v1/retire', { force: true })
  await publish(platform, 'Guarded')
  await platform.put('/v1/apis/guarded-v1/policy', {
    subscriptionApproval: 'Manual',
    credentialLifetimeDays: LIFETIME_DAYS_MAX,
  })
  await subscribe(platform, 'Dorothy', 'application', 'guarded-v1')
}

/** A programme that has run through its steps, decisions, principles, rules and a person who may sign in. */
async function governance(platform: PlatformClient): Promise<void> {
  const openApi = readFileSync(join(SAMPLE, 'payments.openapi.yaml'), 'utf8').replace('title: Payments', 'title: Shop')
  const { id } = await platform.post<{ id: string }>('/v1/programmes', {
    name: 'Shop',
    specification: Buffer.from(openApi).toString('base64'),
    backend: { url: BACKEND_URL },
  })
  await until('the programme succeeds', async () => {
    const { status } = await platform.get<{ status: string }>(`/v1/programmes/${id}/progress`)
    if (status === 'failed') throw new Error('the programme failed')
    return status === 'succeeded'
  })
  const words = { context: 'We need one.', decision: 'We take one.', consequences: 'We have one.' }
  await platform.post('/v1/adrs', { title: 'One gateway', status: 'Accepted', ...words, api: 'ledger-v1' })
  await platform.post('/v1/principles', { name: 'Small', statement: 'Keep it small.', rationale: 'It is read.' })
  const ruleset = await platform.post<{ id: string }>('/v1/rulesets', { rules: { 'info-contact': 'off' } })
  await platform.put('/v1/policy', {
    approval: { minScore: 60, allowErrors: false, allowBreaking: false, exposures: ['Internal'] },
    ruleset: ruleset.id,
  })
  await platform.post('/v1/users', { username: 'ada', name: 'Ada', password: 'correct horse battery staple' })
  const { id: consumer } = await platform.post<{ id: string }>('/v1/consumers', { name: 'App', kind: 'application' })
  await platform.post('/v1/subscriptions', {
    consumer,
    api: 'ledger-v1',
    securityTypes: ['PKCE'],
    redirectUris: ['https://app.example/back'],
  })
}

/** One receiver that has received an event, and one that is switched off. */
async function receiveEvents({ platform, neighbours }: ScenarioOptions): Promise<void> {
  const { id } = await platform.post<{ id: string }>('/v1/eventsubscriptions', { url: RECEIVER_URL })
  await platform.post(`/v1/eventsubscriptions/${id}/test`, { type: 'SlaChanged' })
  await until('an event arrives', async () => neighbours.events.includes('SlaChanged'))
  await platform.post('/v1/eventsubscriptions', { url: RECEIVER_URL, events: ['CredentialRevoked', 'VersionSunset'] })
}

/** Calls that are served and billed, that fail, and that are refused for each reason that is a risk. */
async function traffic(gatewayUrl: string, callers: Filled['callers'], suspended: Caller): Promise<string> {
  const { Ada, Grace, Edsger, Barbara } = callers as Record<'Ada' | 'Grace' | 'Edsger' | 'Barbara', Caller>
  const { accessToken: token } = await fetchToken({ gatewayUrl, ...Ada })
  const bearer = { authorization: `Bearer ${token}` }
  await call(gatewayUrl, Ada, { times: 40, headers: bearer })
  await call(gatewayUrl, Ada, { times: 3, query: '?status=503' })
  await call(gatewayUrl, Grace, { times: 25 })
  await call(gatewayUrl, Edsger, { times: 11 })
  await call(gatewayUrl, Barbara, { times: 5 })
  await call(gatewayUrl, { ...Barbara, api: 'ledger-v1' }, { times: 6 })
  // Two of five are over the limit of three a day.
  await call(gatewayUrl, Grace, { times: 5, body: { amount: 1 } })
  await call(gatewayUrl, Ada, { times: 2, body: { amount: 'many' } })
  await call(gatewayUrl, Edsger, { times: 4, body: { amount: 1 } })
  await call(gatewayUrl, suspended, { times: 2 })
  await call(gatewayUrl, Ada, { times: 12, headers: { authorization: `Bearer ${token}x` } })
  return token
}

/** Calls whose records only the spool holds when the folder is packed, among them some that are found nowhere else. */
export async function lastCalls(gatewayUrl: string, callers: Filled['callers']): Promise<void> {
  const { Ada, Barbara, Edsger } = callers as Record<'Ada' | 'Barbara' | 'Edsger', Caller>
  await call(gatewayUrl, Ada, { times: 30 })
  await call(gatewayUrl, Ada, { times: 4, query: '?status=503' })
  await call(gatewayUrl, Barbara, { times: 2, body: { amount: 'many' } })
  await call(gatewayUrl, Edsger, { times: 3, headers: { authorization: 'Bearer unknown' } })
}

export interface CallOptions {
  readonly times?: number
  readonly headers?: Readonly<Record<string, string>>
  readonly query?: string
  readonly body?: object
}

/** Calls one after the other with the caller's key, unless headers are given; returns the status of the last call. */
export async function call(gatewayUrl: string, { api, apiKey }: Caller, options: CallOptions = {}): Promise<number> {
  const { times = 1, headers = { 'x-api-key': apiKey }, query = '', body } = options
  let status = 0
  for (let index = 0; index < times; index++) {
    const response = await request(`${gatewayUrl}/${api}/entries${query}`, {
      method: body === undefined ? 'GET' : 'POST',
      headers: { ...headers, ...(body && { 'content-type': 'application/json' }) },
      ...(body && { body: JSON.stringify(body) }),
    })
    await response.body.dump()
    status = response.statusCode
  }
  return status
}

/** Polls, because the service that is packed may be any version: it offers nothing to wait on. */
async function until(what: string, isDone: () => Promise<boolean>): Promise<void> {
  for (const endMs = performance.now() + WAIT_MS_MAX; performance.now() < endMs;) {
    if (await isDone()) return
    await new Promise((resolve) => setTimeout(resolve, POLL_MS))
  }
  throw new Error(`gave up waiting until ${what}`)
}
