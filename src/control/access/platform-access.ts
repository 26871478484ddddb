/**
 * Access of a tenant to the platform: a consumer called admin, a subscription to the platform API, and its credential.
 */

import { begin, step } from '../command/persisted-machine.ts'
import { subscription as machine } from '../subscriptions/document/subscription-machine.ts'
import type { Clock } from '../../foundation/runtime/clock.ts'
import type { Labelled } from '../../storage/store/labels.ts'
import { NAME_KEY, toNameKey } from '../../storage/store/name-key.ts'
import { documentKind, type Registry, type Write } from '../../storage/store/registry.ts'
import { newCredentialWrite, type NewCredential, type Secrets } from './credential-document.ts'
import { PLATFORM_API } from '../../foundation/domain/platform-api.ts'
import { subscriptionWrite, type SubscriptionBody } from '../subscriptions/document/subscription-document.ts'
import { CONSUMER_KIND } from './consumer-document.ts'
import { API_KIND } from '../publishing/apis.ts'

export interface PlatformAccessOptions extends Secrets {
  readonly clock: Pick<Clock, 'nowMs'>
  readonly tenant: string
  readonly scopes: readonly string[]
  /** A client id and secret chosen by the owner; both are generated if null. */
  readonly chosen: { readonly clientId: string; readonly clientSecret: string } | null
}

export interface TenantBody extends Labelled {
  readonly name: string
  /** Missing if the tenant may call. */
  readonly isDisabled?: true
  /** Time of the last complete export since the tenant was disabled. */
  readonly exportedAtMs?: number
  /** The consumer that people without a consumer of their own act for. */
  readonly ownConsumer?: string
  /** Missing members are those of the product; missing: the portal is on. */
  readonly portal?: {
    readonly isDisabled?: true
    readonly name?: string
    readonly colour?: string
    /** Changes with the image. */
    readonly logo?: string
  }
}

export const TENANT_KIND = documentKind<TenantBody>('tenant', [
  'name',
  'isDisabled',
  'exportedAtMs',
  'ownConsumer',
  'portal',
  'labels',
])

/** Name of the lock under which the document of a tenant is changed. */
export const tenantLock = (id: string): string => `tenant ${id}`

/** Scope that only the tenant of the operator may hold. */
export const OPERATORS_SCOPE = 'platform:admin'
const LIFETIME_MS = 10 * 365 * 86_400_000

/** Returns the tenant that owns the platform API, or null before the first start. */
export async function findOperator(registry: Pick<Registry, 'get'>): Promise<string | null> {
  return (await registry.get(API_KIND, PLATFORM_API))?.tenant ?? null
}

/** Returns the id of the tenant with this id or name, after the same look-ups whether it exists; null if it may not call. */
export async function findTenant(
  registry: Pick<Registry, 'get' | 'find'>,
  organisation: string,
): Promise<string | null> {
  const byId = await registry.get(TENANT_KIND, organisation)
  const byName = await registry.find(TENANT_KIND, 'name', organisation)
  const found = byId ?? byName
  return found === null || found.body.isDisabled === true ? null : found.id
}

export async function isDisabled(registry: Pick<Registry, 'get'>, tenant: string): Promise<boolean> {
  return (await registry.get(TENANT_KIND, tenant))?.body.isDisabled === true
}

export function newTenantWrites(tenant: string, owner: TenantBody, consumer: string): Write[] {
  const body = { name: 'admin', kind: 'application', exposure: 'Internal' }
  const keys = { kind: 'application', state: 'Active', [NAME_KEY]: toNameKey(tenant, body.name) }
  return [tenantWrite(tenant, 0, owner), { kind: CONSUMER_KIND, id: consumer, tenant, expected: 0, body, keys }]
}

export function tenantWrite(id: string, expected: number, body: TenantBody): Write {
  return { kind: TENANT_KIND, id, tenant: id, expected, body, keys: { name: body.name }, unique: ['name'] }
}

export function newPlatformSubscription(
  options: PlatformAccessOptions,
  consumer: string,
): { readonly subscription: Write; readonly credential: Write } {
  const { createId, tenant, scopes, chosen } = options
  const id = createId('sub')
  const body = approvedPlatformBody(consumer, scopes)
  const credential = { ...toPlatformCredential(options), subscription: id, ...(chosen && { chosen }) }
  return { subscription: subscriptionWrite(id, tenant, 0, body), credential: newCredentialWrite(options, credential) }
}

export function approvedPlatformBody(consumer: string, scopes: readonly string[]): SubscriptionBody {
  const approved = step(machine, begin(machine, undefined), { type: 'approved' })
  if ('refused' in approved) throw new Error('a new subscription cannot be approved')
  return { consumer, api: PLATFORM_API, apiProductId: '', actor: approved.next, slaVariant: '', scopes }
}

export function toPlatformCredential(options: PlatformAccessOptions): Omit<NewCredential, 'subscription'> {
  const { clock, tenant, scopes } = options
  return { tenant, type: 'OAuth2', scopes, expiresAtMs: clock.nowMs() + LIFETIME_MS }
}
