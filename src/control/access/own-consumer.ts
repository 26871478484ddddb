/**
 * The own consumer of a tenant, for which people act who have no consumer.
 *
 * It is created with the tenant, or by the first start of this version, and cannot be disabled or removed. Its subscription to the
 * platform API has every scope that the tenant may hold and no credential: the roles of a person bound what the person may do.
 * Administrators manage its subscriptions to other APIs.
 */

import { listAll } from '../command/page.ts'
import { PLATFORM_API } from '../../foundation/domain/platform-api.ts'
import { Problem } from '../../foundation/domain/problem.ts'
import type { CreateId } from '../../foundation/runtime/ids.ts'
import type { Document, Registry, Write } from '../../storage/store/registry.ts'
import {
  SUBSCRIPTION_KIND,
  subscriptionWrite,
  type SubscriptionBody,
} from '../subscriptions/document/subscription-document.ts'
import { CONSUMER_KIND, type ConsumerBody } from './consumer-document.ts'
import { approvedPlatformBody, OPERATORS_SCOPE, TENANT_KIND, tenantWrite, type TenantBody } from './platform-access.ts'

export interface OwnConsumer {
  readonly id: string
  readonly writes: readonly Write[]
}

export interface OwnConsumersOptions {
  readonly registry: Registry
  readonly createId: CreateId
  /** The tenant of the operator, whose people may hold every scope. */
  readonly operator: string
  /** All scopes of the platform API. */
  readonly scopes: readonly string[]
}

/** Returns the consumer and its subscription; the tenant must name it as `ownConsumer` in the same commit. */
export function newOwnConsumer(createId: CreateId, tenant: string, scopes: readonly string[]): OwnConsumer {
  const id = createId('con')
  const body: ConsumerBody = { name: 'People of the tenant', kind: 'application', exposure: 'Internal' }
  const subscription = subscriptionWrite(createId('sub'), tenant, 0, approvedPlatformBody(id, scopes))
  const consumer = { kind: CONSUMER_KIND, id, tenant, expected: 0, body, keys: { kind: body.kind } }
  return { id, writes: [consumer, subscription] }
}

/** Creates the consumers of tenants of an earlier version, and adds the scopes of this version to their subscriptions. */
export async function ensureOwnConsumers(options: OwnConsumersOptions): Promise<void> {
  const { registry, operator, scopes } = options
  for await (const tenant of listAll(registry, TENANT_KIND)) {
    const held = tenant.id === operator ? scopes : scopesOfTenants(scopes)
    const writes = await missingWrites(options, tenant, held)
    const author = { tenant: tenant.id, consumer: 'system' }
    if (writes.length > 0) await registry.commit(author, 'platform.start', writes)
  }
}

/** Returns the scopes of the platform API that every tenant may hold. */
export function scopesOfTenants(scopes: readonly string[]): readonly string[] {
  return scopes.filter((scope) => scope !== OPERATORS_SCOPE)
}

/** Throws `Problem('state_conflict')` for the own consumer of the tenant. */
export async function refuseOwnConsumer(registry: Pick<Registry, 'get'>, tenant: string, id: string): Promise<void> {
  if (!(await isOwn(registry, tenant, id))) return
  throw new Problem(
    'state_conflict',
    'The people of the tenant act for this consumer. It cannot be disabled or removed.',
    { extensions: { state: 'Active', allowed: [] } },
  )
}

/** Throws `Problem('state_conflict')` for the subscription of the own consumer to the platform API. */
export async function refuseOwnAccess(
  registry: Pick<Registry, 'get'>,
  { tenant, body }: Document<SubscriptionBody>,
): Promise<void> {
  if (body.api !== PLATFORM_API || !(await isOwn(registry, tenant, body.consumer))) return
  const detail = 'The people of the tenant use the platform by this subscription. Change their roles instead.'
  throw new Problem('state_conflict', detail, { extensions: { state: String(body.actor.value), allowed: [] } })
}

async function isOwn(registry: Pick<Registry, 'get'>, tenant: string, consumer: string): Promise<boolean> {
  return (await registry.get(TENANT_KIND, tenant))?.body.ownConsumer === consumer
}

async function missingWrites(
  { registry, createId }: OwnConsumersOptions,
  { id: tenant, revision, body }: Document<TenantBody>,
  scopes: readonly string[],
): Promise<readonly Write[]> {
  const { ownConsumer } = body
  if (ownConsumer === undefined) {
    const { id, writes } = newOwnConsumer(createId, tenant, scopes)
    return [...writes, tenantWrite(tenant, revision, { ...body, ownConsumer: id })]
  }
  const where = { consumer: ownConsumer, api: PLATFORM_API }
  const [access] = await registry.list(SUBSCRIPTION_KIND, { tenant, where, limit: 1 })
  if (access === undefined || isSame(access.body.scopes, scopes)) return []
  return [subscriptionWrite(access.id, tenant, access.revision, { ...access.body, scopes })]
}

function isSame(some: readonly string[], others: readonly string[]): boolean {
  return JSON.stringify(some) === JSON.stringify(others)
}
