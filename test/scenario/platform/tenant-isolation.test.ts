import { beforeAll, describe, expect, it } from 'vitest'
import { OPERATORS_SCOPE } from '../../../src/control/access/platform-access.ts'
import { ALL_OPERATIONS } from '../../../src/interfaces/platform/operations.ts'
import type { Caller } from '../../../src/boundary/plan/caller.ts'
import type { RequestStore } from '../../../src/storage/store/request-store.ts'
import type { RiskEvent } from '../../../src/foundation/domain/risk.ts'
import { publishApi } from '../../fixtures/published-api.ts'
import { NOW_MS, openTestPlatform, type TestPlatform } from '../../fixtures/test-platform.ts'
import { riskEvent } from '../../fixtures/risk-event.ts'

type Resources = Awaited<ReturnType<typeof createResources>>

/** Creates one resource of each kind for the owner, and a risk event. */
async function createResources(platform: TestPlatform, token: string) {
  const event = riskEvent({ riskId: 'rsk_own' })
  platform.risks.history.push(event)
  platform.risks.positions.push({ event, state: 'open' })
  const { body: mute } = await platform.send('POST', '/v1/risks/rsk_own/mutes', { token, body: MUTE })
  const resources = await publishApi(platform, token)
  const approval = { minScore: 100, allowErrors: false, allowBreaking: false, exposures: [] }
  await platform.send('PUT', '/v1/policy', { token, body: { approval } })
  const { body: made } = await platform.send('POST', '/v1/rulesets', { token, body: { rules: {} } })
  const { body: role } = await platform.send('POST', '/v1/roles', { token, body: { name: 'readers', scopes: [] } })
  const agent = { name: 'Agent', redirectUris: ['https://agent.example/back'] }
  const client = await platform.people.registeredClients.create('acme', 'payments-v1', agent)
  const own = {
    ...{ risk: event.riskId, ruleset: String(made['id']), role: String(role['name']) },
    client: client?.id ?? '',
    mute: String(mute['id']),
  }
  return { ...resources, ...(await createWaitingProgramme(platform, token)), ...own }
}

/** Creates a programme that waits for a decision, so its state does not change. */
async function createWaitingProgramme(platform: TestPlatform, token: string) {
  const document = {
    openapi: '3.1.0',
    info: { title: 'Tiny', version: '1.0.0' },
    paths: { '/a': { get: { responses: { 200: { description: 'ok' } } } } },
  }
  const body = { name: 'Tiny', specification: Buffer.from(JSON.stringify(document)).toString('base64') }
  const { body: made } = await platform.send('POST', '/v1/programmes', { token, body })
  const path = `/v1/programmes/${String(made['id'])}`
  for (;;) {
    const { body: shown } = await platform.send('GET', path, { token })
    if (shown['status'] === 'waiting')
      return { programme: String(made['id']), programmeFlow: String(shown['approvalFlow']) }
    await new Promise((resolve) => setImmediate(resolve))
  }
}

/** Replaces each path parameter with an id of one of the owner's resources. */
function fillPath(path: string, resources: Resources): string {
  const own: Readonly<Record<string, string>> = {
    ...resources.plain,
    '/v1/consumers': resources.consumer,
    '/v1/apis': 'payments-v1',
    '/v1/proxies': resources.proxy,
    '/v1/approvals': resources.flow,
    '/v1/openapispecs': resources.openApi,
    '/v1/openslaspecs': resources.openSla,
    '/v1/subscriptions': resources.subscription,
    '/v1/products': resources.product,
    '/v1/eventsubscriptions': resources.receiver,
    '/v1/risks': resources.risk,
    '/v1/registeredclients': resources.client,
    '/v1/rulesets': resources.ruleset,
    '/v1/roles': resources.role,
    '/v1/requests': loggedRequest(2).requestId,
  }
  const collection = Object.keys(own).find((start) => path.startsWith(`${start}/`)) ?? ''
  if (path.startsWith('/v1/programmes/:id')) {
    return path.replace(':id', resources.programme).replace(':flowId', resources.programmeFlow)
  }
  if (path.includes(':flowId')) return path.replace(':id', resources.waiting).replace(':flowId', resources.flow)
  return path
    .replace(':credentialId', resources.credential)
    .replace(':deliveryId', resources.delivery)
    .replace(':session', 'ses_1')
    .replace(':muteId', resources.mute)
    .replace(/:(id|name|riskId)/, (parameter) => own[collection] ?? noResource(path, parameter))
}

function noResource(path: string, parameter: string): never {
  throw new Error(`the test has no resource for ${parameter} of ${path}`)
}

async function snapshot(platform: TestPlatform, token: string, resources: Resources): Promise<unknown> {
  const reads = Object.values(ALL_OPERATIONS).filter(
    // The audit log changes with every read, and the own account is for people alone.
    ({ method, path, scope, endless }) =>
      method === 'GET' &&
      scope !== null &&
      scope !== OPERATORS_SCOPE &&
      endless !== true &&
      path !== '/v1/audit' &&
      // A search needs its text; it has a test of its own.
      path !== '/v1/search' &&
      !path.startsWith('/v1/me'),
  )
  return Promise.all(
    reads.map(async ({ path }) => (await platform.send('GET', fillPath(path, resources), { token })).text),
  )
}

const MUTE = { until: new Date(NOW_MS + 60_000).toISOString(), reason: 'Known' }

/** A token of the owner whose calls are counted apart: the reads of all tests would exceed the limit of one subscription. */
function tokenOfSubscription(platform: TestPlatform, subscription: string): string {
  const token = platform.token('acme')
  const caller = platform.callers.get(token) as Caller
  platform.callers.set(token, { ...caller, grant: { ...caller.grant, subscription } })
  return token
}

/** Request bodies for the operations that require one. */
const BODIES: Readonly<Record<string, unknown>> = {
  putApiPolicy: {},
  updateApiPolicy: {},
  decide: { outcome: 'Approved' },
  decideOnProgramme: { outcome: 'Approved' },
  updateProgramme: { specification: 'YQ==' },
  requestTierChange: { slaVariant: 'gold' },
  deprecateApi: { retirementDate: '2030-01-01T00:00:00Z' },
  replaceProduct: { name: 'Mine', apis: [] },
  updateEventSubscription: { events: null },
  setScopes: { scopes: [] },
  updateConsumer: { name: 'Mine' },
  updateApi: { labels: {} },
  updateProxy: { labels: {} },
  updateOpenApiSpec: { labels: {} },
  updateOpenSlaSpec: { labels: {} },
  labelProgramme: { labels: {} },
  labelApprovalFlow: { labels: {} },
  updateSubscription: { labels: {} },
  updateCredential: { name: 'Mine' },
  updateProduct: { name: 'Mine' },
  updateAdr: { title: 'Mine' },
  updatePrinciple: { name: 'Mine' },
  updateRuleset: { rules: {} },
  updateIdentityProvider: { apis: [] },
  updateUser: { name: 'Mine' },
  replaceRole: { scopes: [] },
  updateRole: { description: '' },
  testEventSubscription: { type: 'SlaChanged' },
  redeliver: { since: '2026-01-01T00:00:00Z' },
  createMute: MUTE,
}

const ITEM_OPERATIONS = Object.entries(ALL_OPERATIONS).filter(
  // The own account is for people alone.
  ([, { path, scope }]) => path.includes(':') && scope !== OPERATORS_SCOPE && !path.startsWith('/v1/me/'),
)
/** Refused to other tenants altogether. */
const OF_OPERATOR = ['/v1/settings', '/v1/health', '/v1/nodes']
const ONE_PER_TENANT = ['/v1/policy', '/v1/portal', '/v1/roles', '/v1/search', '/v1/statements', '/v1/serviceLevels']
const LIST_OPERATIONS = Object.entries(ALL_OPERATIONS).filter(
  ([, { method, path, scope, endless }]) =>
    // Operations that require the operator's scope return resources of the gateway, not of a tenant.
    method === 'GET' &&
    scope !== null &&
    scope !== OPERATORS_SCOPE &&
    !path.includes(':') &&
    !endless &&
    // Every tenant has exactly one policy and portal, and the built-in roles. A statement and a search are no lists.
    !ONE_PER_TENANT.includes(path) &&
    !OF_OPERATOR.includes(path) &&
    // The own account is for people alone.
    !path.startsWith('/v1/me'),
)

function loggedRequest(ago: number) {
  const nobody = { consumer: '', consumerName: '', subscription: '', agent: '', person: '' }
  const numbers = { status: 401, durationUs: 1, upstreamUs: 0, requestBytes: 0, responseBytes: 0, unitsMicro: 0 }
  const call = { api: 'payments-v1', operation: 'pay', requestId: `0${ago}`, outcome: 'credential_missing' }
  return {
    timeMs: NOW_MS - ago,
    ...call,
    ...nobody,
    ...numbers,
    explanation: '',
    channel: 'http',
    revision: 3,
  } as const
}

/** A request log with two calls that belong to the tenant `acme`. */
const REQUESTS: RequestStore = {
  insert: async () => {},
  find: async ({ tenant, limit }) => [loggedRequest(2), loggedRequest(1)].slice(0, tenant === 'acme' ? limit : 0),
}

describe('a tenant', () => {
  describe('beside the resources of another one', () => {
    let platform: TestPlatform
    let resources: Resources
    let before: unknown

    beforeAll(async () => {
      const { promise, resolve } = Promise.withResolvers<() => Promise<void>>()
      platform = await openTestPlatform({ requests: REQUESTS, atEnd: resolve })
      const owner = platform.token('acme')
      resources = await createResources(platform, owner)
      before = await snapshot(platform, owner, resources)
      return promise
    })

    it.each(ITEM_OPERATIONS)('gets 404, never 403, at %s, and changes nothing', async (id, operation) => {
      const path = fillPath(operation.path, resources)
      const call = { token: platform.token('rival'), body: BODIES[id] }
      const answer = await platform.send(operation.method, path, call)
      expect(answer).toMatchObject({ status: 404, body: { code: 'not_found' } })
      const conditional = { ...call, headers: { 'if-match': '*', 'if-none-match': '*' } }
      expect((await platform.send(operation.method, path, conditional)).status).toBe(404)
      expect(await snapshot(platform, tokenOfSubscription(platform, `sub_${id}`), resources)).toEqual(before)
    })
  })

  it.each(LIST_OPERATIONS)(
    'sees nothing of another tenant in %s, even with that tenant’s cursor',
    async (_, { path }) => {
      const platform = await openTestPlatform({ requests: REQUESTS })
      const owner = platform.token('acme')
      await createResources(platform, owner)
      await platform.send('POST', '/v1/consumers', { token: owner, body: { name: 'Second', kind: 'agent' } })
      platform.lineItems.push(lineItem(NOW_MS - 2), lineItem(NOW_MS - 1))
      const event: RiskEvent = riskEvent({ tenant: 'acme' })
      platform.risks.positions.push({ event, state: 'open' }, { event: { ...event, riskId: 'rsk_2' }, state: 'open' })
      const own = await platform.send('GET', `${path}?limit=1`, { token: owner })
      expect(own.body['items']).toHaveLength(1)

      const token = platform.token('rival')
      expect((await platform.send('GET', path, { token })).body).toEqual({ items: [], next: null })
      if (own.body['next'] === null) return
      const next = encodeURIComponent(String(own.body['next']))
      const pageWithForeignCursor = await platform.send('GET', `${path}?cursor=${next}`, { token })
      expect(pageWithForeignCursor.body).toEqual({ items: [], next: null })
    },
  )

  it('has no statement of a consumer of another tenant', async () => {
    const platform = await openTestPlatform()
    platform.lineItems.push(lineItem(NOW_MS - 1))
    const path = `/v1/statements?consumer=${lineItem(0).customer}`
    expect((await platform.send('GET', path, { token: platform.token('acme') })).body['lines']).toHaveLength(1)
    const { status, text } = await platform.send('GET', path, { token: platform.token('rival') })
    expect([status, text.includes('payments-v1')]).toEqual([404, false])
  })

  it('cannot refer to another tenant’s resources', async () => {
    const platform = await openTestPlatform()
    const owner = platform.token('acme')
    const { consumer } = await createResources(platform, owner)
    const token = platform.token('rival')
    const own = await platform.send('POST', '/v1/consumers', { token, body: { name: 'Mine', kind: 'agent' } })

    for (const body of [
      { consumer, api: 'payments-v1' },
      { consumer: own.body['id'], api: 'payments-v1' },
    ]) {
      expect(await platform.send('POST', '/v1/subscriptions', { token, body })).toMatchObject({ status: 400 })
    }
    const declaration = { api: 'payments-v1', specification: 'YTog' }
    expect((await platform.send('POST', '/v1/openslaspecs', { token, body: declaration })).status).toBe(400)
    const revision = { api: 'payments-v1', fromRevision: 1 }
    expect(await platform.send('POST', '/v1/proxies', { token, body: revision })).toMatchObject({
      status: 409,
      body: { code: 'name_taken' },
    })
  })
})

function lineItem(timeMs: number): TestPlatform['lineItems'][number] {
  const names = { api: 'payments-v1', customer: 'con_1', customerName: 'Shop', operation: 'pay' }
  const rest = {
    subscription: 'sub_1',
    agent: '',
    value: '1',
    calls: 1,
    amount: '0.1',
    currency: 'EUR',
    channel: 'http',
    revision: 3,
  } as const
  return { tenant: 'acme', ...names, ...rest, timeMs }
}
