/**
 * The platform API over a real registry, with time, credentials and usage in the test's hands.
 *
 * Every answer that a test gets is held against the OpenAPI document on its way: a status or a shape
 * that is not declared fails the test that met it.
 */

import { createCompliance } from '../../../src/programmes/compliance.ts'
import { createResources } from '../../../src/app/resources.ts'
import { createLinter } from '../../../src/governance/lint/linter.ts'
import { openCounted } from '../catalogue/counted.ts'
import { randomBytes } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, onTestFinished } from 'vitest'
import type { Caller } from '../../../src/plan/caller.ts'
import type { GatewayPort } from '../../../src/plan/gateway-port.ts'
import type { Grant } from '../../../src/plan/grant.ts'
import { createIdentityProviders } from '../../../src/access/identity-providers.ts'
import { defaultPlatformSla } from '../../../src/publishing/platform-sla.ts'
import { createTurns } from '../../../src/command/keyed-mutex.ts'
import { createUsers } from '../../../src/access/users.ts'
import type { PlatformCall, PlatformRefusal } from '../../../src/platform/guard.ts'
import type { MetricsAccess } from '../../../src/platform/metrics-access.ts'
import { platformOperations, platformScopes } from '../../../src/platform/operations.ts'
import { createPlatformLimits, type PlatformLimits } from '../../../src/self-metering/platform-limits.ts'
import type { SigningKeys } from '../../../src/platform/signing-keys.ts'
import { createPlatform, type Platform } from '../../../src/platform/server.ts'
import { createIdFactory } from '../../../src/runtime/ids.ts'
import { systemClock } from '../../../src/runtime/clock.ts'
import { createLog } from '../../../src/runtime/log.ts'
import { createMetrics, type Metrics } from '../../../src/runtime/metrics.ts'
import { createPasswordHasher } from '../../../src/runtime/password-hash.ts'
import { createVault } from '../../../src/runtime/vault.ts'
import type { Author, Registry } from '../../../src/store/registry.ts'
import { openSqliteIdempotencyStore } from '../../../src/store/sqlite/idempotency-store.ts'
import type { RequestStore } from '../../../src/store/request-store.ts'
import type { ServiceLevelStore } from '../../../src/store/service-level-store.ts'
import { openSqliteRegistry } from '../../../src/store/sqlite/registry.ts'
import type {
  LineItemQuery,
  LineItemRow,
  SummaryQuery,
  SummaryRow,
  UsageStore,
} from '../../../src/store/usage-store.ts'
import { createAnswerCheck } from './answer-check.ts'
import { createMemoryRiskFeed, type MemoryRiskFeed } from './memory-risk-feed.ts'
import { createManualClock, type ManualClock } from './manual-clock.ts'

export const NOW_MS = Date.UTC(2027, 0, 15, 12)
export const BASE_URL = 'https://platform.example'
export const GATEWAY_URL = 'https://gateway.example'

const SAMPLE = join(import.meta.dirname, '../../../src/sample')
export const PAYMENTS = readFileSync(join(SAMPLE, 'payments.openapi.yaml'))
export const PAYMENTS_SLA = readFileSync(join(SAMPLE, 'payments.opensla.yaml'))

export interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, string | undefined>>
  readonly text: string
  readonly bytes: Buffer
  /** What is JSON, parsed; null else. */
  readonly body: Readonly<Record<string, unknown>>
}

export interface Sending {
  readonly token?: string | null
  readonly headers?: Readonly<Record<string, string>>
  /** JSON, unless it is text or bytes already. */
  readonly body?: unknown
}

/** One for all houses of a file: its thread needs a second to start. */
const linter = createLinter({ clock: systemClock, log: createLog('silent') })
afterAll(() => linter.close())

export interface House {
  readonly platform: Platform
  readonly clock: ManualClock
  readonly registry: Registry
  readonly metrics: Metrics
  readonly risks: MemoryRiskFeed
  readonly lineItems: (LineItemRow & { readonly tenant: string })[]
  readonly usageQueries: (LineItemQuery | SummaryQuery)[]
  readonly calls: PlatformCall[]
  /** Who tried to decide on a request of its own. */
  readonly selfApprovals: string[]
  /** What stands behind a token that a test sends. */
  readonly callers: Map<string, Caller | PlatformRefusal>
  /** Rejects instead of recording while it is set. */
  refuseRecords: Error | null
  /** Why the disk refuses records. */
  cannotRecord: string | null
  /** Calls that were served without a record. */
  unrecorded: number
  /** How often a record was to be written. */
  recordings: number
  /** What a record waits for. */
  beforeRecord: () => Promise<void>
  notReady: string | null
  /** What a provider that is about to be registered answers: why it cannot be used, or null. */
  probe: (issuer: string) => string | null
  /** What an activation waits for. */
  beforePrepare: () => Promise<void>
  /** A token of the tenant with these scopes; all where none are given. */
  token(tenant: string, scopes?: readonly string[], expiresAtMs?: number): string
  send(method: string, path: string, sending?: Sending): Promise<Answer>
}

export interface HouseOptions {
  readonly metricsAccess?: MetricsAccess
  readonly readersMax?: number
  readonly readersOfTenantMax?: number
  /** Instead of the list of line items. */
  readonly usage?: UsageStore
  /** Instead of a log without calls. */
  readonly requests?: RequestStore
  readonly requestLog?: 'off' | 'refused' | 'all'
  /** Instead of nothing that was measured. */
  readonly levels?: Pick<ServiceLevelStore, 'measure'>
}

export async function openHouse(options: HouseOptions = {}): Promise<House> {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-platform-'))
  const clock = createManualClock(NOW_MS)
  const registry = openSqliteRegistry({ path: join(folder, 'registry.db'), clock })
  const createId = createIdFactory(clock.nowMs)
  const kept = openSqliteIdempotencyStore({ path: join(folder, 'idempotency.db'), clock })
  const secrets = { vault: createVault(randomBytes(32)), createId, randomBytes }
  const counted = openCounted(clock)
  const operationIds = platformOperations().map(({ operationId }) => operationId)
  const limits = createPlatformLimits({ memory: counted.memory, operationIds, operatorTenant: 'acme', clock })
  limits.setPlan(defaultPlatformSla(operationIds))
  const gateway = acknowledging(limits, () => house.beforePrepare())
  const turns = createTurns()
  const passwords = createPasswordHasher({ randomBytes })
  const metrics = createMetrics()
  const risks = createMemoryRiskFeed()
  const lineItems: House['lineItems'] = []
  const usageQueries: House['usageQueries'] = []
  const calls: PlatformCall[] = []
  const selfApprovals: string[] = []
  const callers: House['callers'] = new Map()
  let requests = 0

  const resources = createResources({
    ...secrets,
    registry,
    gateway,
    clock,
    turns,
    limits: counted,
    levels: { insert: async () => {}, measure: async () => [], ...options.levels },
    compliance: createCompliance({
      registry,
      linter,
      ownDeadlineMs: 100_000,
      clock,
      turns,
      log: createLog('silent'),
      onLow: async () => {},
    }),
    refuseTarget: async (url) =>
      new URL(url).hostname === 'localhost' ? 'The host is not at a public address.' : null,
    backendRule: {
      refuse: async (_tenant, url) =>
        new URL(url).hostname === 'localhost' ? 'The backend leads to a private address.' : null,
      mayBePrivate: () => true,
    },
    scopes: platformScopes(),
    log: createLog('silent'),
  })
  await resources.runner.start()
  onTestFinished(() => resources.runner.stop())
  const platform = createPlatform({
    ...options,
    ...resources,
    limits,
    users: createUsers({ registry, createId, passwords }),
    identityProviders: createIdentityProviders({
      registry,
      createId,
      federation: { probe: async (issuer) => house.probe(issuer), changed: async () => {} },
    }),
    signingKeys: steadyKeys(),
    onSelfApproval: async (caller) => void selfApprovals.push(caller.grant.consumer),
    requestLog: options.requestLog ?? 'refused',
    requests: options.requests ?? { insert: async () => {}, find: async () => [] },
    usage: options.usage ?? createMemoryUsage(lineItems, usageQueries),
    idempotency: { store: kept, vault: secrets.vault },
    risks,
    clock,
    newRequestId: () => (++requests).toString(16).padStart(24, '0'),
    metrics,
    log: createLog('silent'),
    notReady: () => house.notReady,
    addresses: () => ({ baseUrl: BASE_URL, gatewayUrl: GATEWAY_URL }),
    authenticate: async (authorization) => {
      if (authorization === undefined) return { code: 'credential_missing', grant: null, detail: 'Send a token.' }
      const known = callers.get(authorization.replace('Bearer ', ''))
      return known ?? { code: 'credential_invalid', grant: null, detail: 'The token is not known.' }
    },
    cannotRecord: () => house.cannotRecord,
    onUnrecorded: () => void house.unrecorded++,
    async record(call) {
      house.recordings++
      await house.beforeRecord()
      if (house.refuseRecords !== null) throw house.refuseRecords
      calls.push(call)
    },
  })
  const check = createAnswerCheck(JSON.parse((await platform.app.inject('/openapi.json')).body))

  const house: House = {
    platform,
    clock,
    registry,
    metrics,
    risks,
    lineItems,
    usageQueries,
    calls,
    selfApprovals,
    callers,
    refuseRecords: null,
    cannotRecord: null,
    unrecorded: 0,
    beforeRecord: async () => {},
    beforePrepare: async () => {},
    recordings: 0,
    notReady: null,
    probe: () => null,
    token(tenant, scopes = platformScopes(), expiresAtMs = NOW_MS + 3_600_000) {
      const token = `${tenant}-${callers.size}`
      callers.set(token, toCaller(tenant, scopes, expiresAtMs))
      return token
    },
    async send(method, path, { token = null, headers = {}, body } = {}) {
      const isRaw = typeof body === 'string' || Buffer.isBuffer(body)
      const answer = await platform.app.inject({
        method: method as 'GET',
        url: path,
        headers: {
          ...(body !== undefined && { 'content-type': 'application/json' }),
          ...(token !== null && { authorization: `Bearer ${token}` }),
          ...headers,
        },
        ...(body !== undefined && { payload: isRaw ? (body as string) : JSON.stringify(body) }),
      })
      check(method, path, answer)
      const isJson = /json/.test(String(answer.headers['content-type'])) && answer.body !== ''
      return {
        status: answer.statusCode,
        headers: answer.headers as Answer['headers'],
        text: answer.body,
        bytes: answer.rawPayload,
        body: isJson ? answer.json() : {},
      }
    },
  }
  onTestFinished(async () => {
    await platform.close()
    registry.close()
    kept.close()
    rmSync(folder, { recursive: true })
  })
  return house
}

/** One key that signs, however often it is rotated. */
function steadyKeys(): SigningKeys {
  const key = { id: 'kid_1', algorithm: 'ES256', role: 'signing', createdAtMs: NOW_MS, publishedUntilMs: null }
  return { list: () => [key], rotateNow: async () => {} }
}

/** Gateway threads that acknowledge whatever they are told. */
function acknowledging(limits: PlatformLimits, beforePrepare: () => Promise<void>): GatewayPort {
  return {
    async prepare() {
      await beforePrepare()
      return { swap: async () => {}, abort() {} }
    },
    applySla: async (sla) => limits.setPlan(sla),
    applyGrant: async () => {},
    applyMembership: async () => {},
    revokeToken: async () => {},
    applyProviders: async () => {},
  }
}

export function toGrant(tenant: string): Grant {
  return {
    credential: `crd_${tenant}`,
    type: 'OAuth2',
    valid: true,
    active: true,
    expiresAtMs: 0,
    tenant,
    subscription: `sub_${tenant}`,
    consumer: `con_${tenant}`,
    consumerName: tenant,
    consumerKind: 'application',
    api: 'platform-v1',
    apiProductId: '',
    scopes: [],
    variant: '',
    version: 1,
  }
}

export function toAuthor(tenant: string): Author {
  return { tenant, consumer: `con_${tenant}` }
}

function toCaller(tenant: string, scopes: readonly string[], expiresAtMs: number): Caller {
  const grant = toGrant(tenant)
  return { grant, method: 'token', api: 'platform-v1', scopes: new Set(scopes), agent: '', person: '', expiresAtMs }
}

function isOf(row: LineItemRow & { tenant: string }, query: LineItemQuery | SummaryQuery): boolean {
  return (
    row.tenant === query.tenant &&
    row.timeMs >= query.fromMs &&
    row.timeMs < query.toMs &&
    row.api !== query.excludeApi &&
    (query.api === undefined || row.api === query.api)
  )
}

function toSummary(row: LineItemRow, { fromMs, toMs, groupBy }: SummaryQuery): SummaryRow {
  const { value, calls, amount, currency } = row
  const group = Object.fromEntries(groupBy.map((field) => [field, row[field]]))
  return { group, value, calls, amount, currency, fromMs, toMs }
}

/** A consumer, a deployed API and a subscription of the tenant. */
export async function furnish(
  house: House,
  token: string,
): Promise<{
  consumer: string
  proxy: string
  subscription: string
  openApi: string
  openSla: string
  credential: string
  product: string
  user: string
  provider: string
  adr: string
  principle: string
  receiver: string
  delivery: string
  /** Of a subscription of its own, which waits for a decision. */
  flow: string
  waiting: string
}> {
  const idOf = async (path: string, body: unknown): Promise<string> => {
    const { status, body: made, text } = await house.send('POST', path, { token, body })
    expect(status, text).toBe(201)
    return String(made['id'])
  }
  const first = async (path: string): Promise<string> => {
    const { body } = await house.send('GET', path, { token })
    return (body['items'] as { id: string }[])[0]?.id ?? ''
  }
  const backend = { url: 'https://backend.example' }
  const proxy = await idOf('/v1/proxies', { api: 'payments-v1', specification: PAYMENTS.toString('base64'), backend })
  expect((await house.send('POST', `/v1/proxies/${proxy}/activate`, { token })).status).toBe(200)
  const openSla = await idOf('/v1/openslaspecs', {
    api: 'payments-v1',
    specification: PAYMENTS_SLA.toString('base64'),
  })
  const consumer = await idOf('/v1/consumers', { name: 'Shop', kind: 'application' })
  const subscription = await idOf('/v1/subscriptions', { consumer, api: 'payments-v1' })
  const product = await idOf('/v1/products', { name: 'Bundle', apis: ['payments-v1'] })
  const user = await idOf('/v1/users', { username: 'grace', password: 'a long password', name: 'Grace Hopper' })
  const provider = await idOf('/v1/identityproviders', { issuer: 'https://idp.example' })
  const policy = '/v1/apis/payments-v1/policy'
  await house.send('PUT', policy, { token, body: { subscriptionApproval: 'Manual' } })
  const asked = await house.send('POST', '/v1/subscriptions', { token, body: { consumer, api: 'payments-v1' } })
  await house.send('PUT', policy, { token, body: {} })
  const words = { context: 'Because.', decision: 'So.', consequences: 'Thus.' }
  const receiver = await idOf('/v1/eventsubscriptions', { url: 'https://receiver.example/hook' })
  const sample = { token, body: { type: 'SlaChanged' } }
  const { body: delivery } = await house.send('POST', `/v1/eventsubscriptions/${receiver}/test`, sample)
  const adr = await idOf('/v1/adrs', { title: 'Why', status: 'Accepted', ...words })
  const principle = await idOf('/v1/principles', { name: 'Plain', statement: 'Be plain.', rationale: 'It helps.' })
  return {
    consumer,
    proxy,
    subscription,
    adr,
    principle,
    receiver,
    delivery: String(delivery['id']),
    waiting: String(asked.body['id']),
    flow: String(asked.body['approvalFlow']),
    product,
    user,
    provider,
    openSla,
    openApi: await first('/v1/openapispecs'),
    credential: await first(`/v1/subscriptions/${subscription}/credentials`),
  }
}

function createMemoryUsage(lineItems: House['lineItems'], queries: House['usageQueries']): UsageStore {
  return {
    insert: async () => {},
    async lineItems(query) {
      queries.push(query)
      const from = Number(query.after ?? 0)
      const found = lineItems.filter((row) => isOf(row, query))
      const rows = found.slice(from, from + query.limit).map(({ tenant: _, ...row }) => row)
      return { rows, next: found.length > from + query.limit ? String(from + query.limit) : null }
    },
    async summaries(query) {
      queries.push(query)
      const found = lineItems.filter((row) => isOf(row, query)).map((row) => toSummary(row, query))
      return found.slice(query.offset, query.offset + query.limit)
    },
  }
}
