/**
 * The catalogue over a real registry, with a gateway that notes what it is asked for.
 *
 * What a test hangs on `gateway.on…` runs at that moment of a command: between its steps anything may
 * happen, another command or an error.
 */

import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { createApis, type Apis } from '../../../src/publishing/apis.ts'
import { createApiPolicies, type ApiPolicies } from '../../../src/publishing/api-policy.ts'
import { createApprovals, type Approvals } from '../../../src/subscriptions/approvals.ts'
import { createCapacity } from '../../../src/subscriptions/capacity.ts'
import { createConsumers, type Consumers } from '../../../src/access/consumers.ts'
import { createCredentials, type Credentials } from '../../../src/access/credentials.ts'
import type { GatewayPort, RevokedToken } from '../../../src/plan/gateway-port.ts'
import type { Grant } from '../../../src/plan/grant.ts'
import { createGrants, type Grants } from '../../../src/access/grants.ts'
import { createLatestPlans } from '../../../src/publishing/latest-plans.ts'
import { createRetirement, type Retirement } from '../../../src/publishing/retirement.ts'
import { createProducts, type Products } from '../../../src/publishing/products.ts'
import { createProxies, type Proxies } from '../../../src/publishing/proxies.ts'
import type { RoutePlan } from '../../../src/plan/route-plan.ts'
import { createSpecifications, type Specifications } from '../../../src/publishing/specifications.ts'
import { createSubscriptions, type Subscriptions } from '../../../src/subscriptions/subscriptions.ts'
import { createTurns } from '../../../src/command/keyed-mutex.ts'
import { createWaitingList, type WaitingList } from '../../../src/subscriptions/waiting-list.ts'
import type { SlaPlan } from '../../../src/plan/sla-plan.ts'
import type { Clock } from '../../../src/runtime/clock.ts'
import { createIdFactory, type CreateId } from '../../../src/runtime/ids.ts'
import { createVault, type Vault } from '../../../src/runtime/vault.ts'
import type { Author, Registry } from '../../../src/store/registry.ts'
import { openCounted, type Counted } from './counted.ts'
import { openSqliteRegistry } from '../../../src/store/sqlite/registry.ts'

export const NOW_MS = Date.UTC(2027, 0, 15, 12)
export const ACME: Author = { tenant: 'acme', consumer: 'con_acme' }
export const RIVAL: Author = { tenant: 'rival', consumer: 'con_rival' }

export interface RecordingGateway extends GatewayPort {
  /** `prepare orders-v1 2`, `swap orders-v1 2`, `abort orders-v1 2`, `sla orders-v1 gold`, `grant crd_…`, `members orders-v1 prd_…`. */
  readonly heard: string[]
  readonly prepared: { readonly plan: RoutePlan; readonly slas: readonly SlaPlan[] }[]
  readonly grants: Grant[]
  readonly slas: SlaPlan[]
  readonly revoked: RevokedToken[]
  onPrepare: () => Promise<void>
  onSwap: () => Promise<void>
  onGrant: (grant: Grant) => Promise<void>
}

export interface House {
  readonly registry: Registry
  readonly gateway: RecordingGateway
  readonly clock: { nowMs: number }
  readonly vault: Vault
  readonly createId: CreateId
  readonly limits: Counted
  readonly apis: Apis
  readonly consumers: Consumers
  readonly specifications: Specifications
  readonly proxies: Proxies
  /** At which addresses backends may be; anywhere, unless a test says otherwise. */
  readonly backends: {
    refuse: (tenant: string, url: string) => string | null
    mayBePrivate: (tenant: string) => boolean
  }
  readonly retirement: Retirement
  readonly subscriptions: Subscriptions
  readonly credentials: Credentials
  readonly approvals: Approvals
  readonly waitingList: WaitingList
  readonly products: Products
  readonly apiPolicies: ApiPolicies
  readonly grants: Grants
  /** The same data folder after the death of the process, with threads that know nothing. */
  restart(): House
}

export function openHouse(): House {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-catalogue-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  return open(join(folder, 'registry.db'), createVault(randomBytes(32)), { nowMs: NOW_MS })
}

function open(path: string, vault: Vault, time: { nowMs: number }): House {
  const never = (): (() => void) => () => {}
  const clock: Clock = { nowMs: () => time.nowMs, after: never, every: never }
  const registry = openSqliteRegistry({ path, clock })
  onTestFinished(() => registry.close())
  const createId = createIdFactory(clock.nowMs)
  const gateway = recording()
  const turns = createTurns()
  const specifications = createSpecifications({ registry, createId, gateway, turns })
  const secrets = { vault, createId, randomBytes }
  const backends: House['backends'] = { refuse: () => null, mayBePrivate: () => true }
  const plans = createLatestPlans({ registry, specifications })
  const capacity = createCapacity({ registry, plans, turns })
  const proxies = createProxies({
    registry,
    gateway,
    specifications,
    createId,
    clock,
    turns,
    backendRule: {
      refuse: async (tenant, url) => backends.refuse(tenant, url),
      mayBePrivate: (tenant) => backends.mayBePrivate(tenant),
    },
  })
  const credentials = createCredentials({ ...secrets, registry, gateway, clock })
  const limits = openCounted(clock)
  return {
    registry,
    gateway,
    clock: time,
    vault,
    createId,
    apis: createApis({ registry }),
    consumers: createConsumers({ registry, createId }),
    specifications,
    backends,
    proxies,
    retirement: createRetirement({ registry, proxies, clock, createId, turns }),
    limits,
    subscriptions: createSubscriptions({
      ...secrets,
      registry,
      credentials,
      specifications,
      clock,
      turns,
      capacity,
      limits,
    }),
    credentials,
    waitingList: createWaitingList({
      registry,
      capacity,
      credentials,
      createId,
      clock,
      log: { error: () => {} },
      count: () => {},
    }),
    approvals: createApprovals({ registry, credentials, createId, clock, turns, capacity }),
    products: createProducts({ registry, gateway, createId, turns }),
    apiPolicies: createApiPolicies({ registry, turns }),
    grants: createGrants({ registry }),
    restart: () => open(path, vault, time),
  }
}

function recording(): RecordingGateway {
  const quiet = async (): Promise<void> => {}
  const gateway: RecordingGateway = {
    heard: [],
    prepared: [],
    grants: [],
    slas: [],
    revoked: [],
    onPrepare: quiet,
    onSwap: quiet,
    onGrant: quiet,
    async prepare(plan, slas) {
      const name = `${plan.api} ${plan.revision}`
      gateway.heard.push(`prepare ${name}`)
      gateway.prepared.push({ plan, slas })
      const { onPrepare } = gateway
      gateway.onPrepare = quiet
      await onPrepare()
      return {
        async swap() {
          await gateway.onSwap()
          gateway.heard.push(`swap ${name}`)
        },
        abort: () => void gateway.heard.push(`abort ${name}`),
      }
    },
    async applySla(sla) {
      gateway.heard.push(`sla ${sla.api} ${sla.variant}`)
      gateway.slas.push(sla)
    },
    async applyGrant(grant) {
      await gateway.onGrant(grant)
      gateway.heard.push(`grant ${grant.credential}`)
      gateway.grants.push(grant)
    },
    async applyMembership(api, productIds) {
      gateway.heard.push(`members ${api} ${productIds.join(' ')}`)
    },
    async revokeToken(token) {
      gateway.revoked.push(token)
    },
    async applyProviders() {},
  }
  return gateway
}

export interface DocumentOptions {
  readonly title?: string
  readonly version?: string
  /** operationId → its `security`; `undefined` leaves it to the document. */
  readonly operations?: Readonly<Record<string, unknown>>
  readonly servers?: readonly unknown[]
}

const SCOPES = { 'orders:read': 'reads', 'orders:write': 'writes', 'orders:audit': 'audits' }
const READING = [{ oauth: ['orders:read'] }, { key: [] }]
const WRITING = [{ oauth: ['orders:write'] }]
/** What every revision of the orders must go on to offer. */
export const OFFERED = { listOrders: READING, createOrder: WRITING }

/** An OpenAPI document, as bytes. */
export function orders(options: DocumentOptions = {}): Buffer {
  const {
    title = 'Orders',
    version = '1.2.3',
    operations = OFFERED,
    servers = [{ url: 'https://orders.example/base' }],
  } = options
  const responses = { 200: { description: 'done' } }
  const paths = Object.fromEntries(
    Object.entries(operations).map(([operationId, security]) => [
      `/${operationId}`,
      { get: { operationId, responses, ...(security !== undefined && { security }) } },
    ]),
  )
  const flows = { clientCredentials: { tokenUrl: 'https://tokens.example', scopes: SCOPES } }
  const securitySchemes = {
    oauth: { type: 'oauth2', flows },
    key: { type: 'apiKey', in: 'header', name: 'x-api-key' },
  }
  return Buffer.from(
    JSON.stringify({ openapi: '3.1.0', info: { title, version }, servers, paths, components: { securitySchemes } }),
  )
}

export interface DeclarationOptions {
  readonly variant?: string
  readonly operationIds?: readonly string[]
  readonly perMinute?: number
}

/** An OpenSLA declaration in YAML, as bytes. */
export function declaration({ variant, operationIds, perMinute = 10 }: DeclarationOptions = {}): Buffer {
  return Buffer.from(
    [
      'opensla: 1.0.0 # what is promised',
      'info:',
      '  version: 1.0.0',
      ...(variant === undefined ? [] : [`  variant: ${variant}`]),
      'limits:',
      '  - name: all',
      ...(operationIds === undefined ? [] : [`    operationIds: [${operationIds.join(', ')}]`]),
      '    totals:',
      `      minute: ${perMinute}`,
      '',
    ].join('\n'),
  )
}

export const base64 = (bytes: Buffer): string => bytes.toString('base64')

/** An API that serves, and a consumer. */
export async function furnish(house: House, author: Author = ACME): Promise<{ proxy: string; consumer: string }> {
  const { id: proxy } = await house.proxies.stage(author, { api: 'orders-v1', specification: base64(orders()) })
  await house.proxies.activate(author, proxy)
  const { id: consumer } = await house.consumers.create(author, { name: 'Shop', kind: 'application' })
  house.gateway.heard.length = 0
  return { proxy, consumer }
}
