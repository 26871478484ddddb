/**
 * Tenants, which share a gateway and are isolated from each other.
 *
 * A tenant is created with its first admin, which has every scope of the platform except `platform:admin`, the scope of the
 * operator. The secret of the admin is returned once.
 */

import type { KeyedMutex } from '../command/keyed-mutex.ts'
import { Problem } from '../../foundation/domain/problem.ts'
import type { GatewayPort } from '../../boundary/plan/gateway-port.ts'
import type { LastUses } from './last-uses.ts'
import type { Clock } from '../../foundation/runtime/clock.ts'
import { LABEL_KEY, type Labelled, type Labels } from '../../storage/store/labels.ts'
import type { Author, Document, Write } from '../../storage/store/registry.ts'
import { commit, find, toTime } from '../command/commands.ts'
import type { CredentialBody, Secrets } from './credential-document.ts'
import { firstWarningWrite } from './credential-expiry.ts'
import { fromCursor, toCursor, type Page, type PageQuery } from '../command/page.ts'
import { announceTenant, type AnnouncementOptions } from './announced-grants.ts'
import { newOwnConsumer, scopesOfTenants } from './own-consumer.ts'
import {
  findOperator,
  newPlatformSubscription,
  newTenantWrites,
  tenantLock,
  TENANT_KIND,
  tenantWrite,
  type TenantBody,
} from './platform-access.ts'
import { changePortal, showPortal, type Portal, type PortalChange } from './portals.ts'
import { exportTenant } from './tenant-export.ts'
import { removeTenant } from './tenant-removal.ts'

export interface Tenant {
  readonly id: string
  readonly name: string
  readonly state: 'Active' | 'Disabled'
  readonly portal: Portal
  readonly labels: Labels
  readonly createdAt: string
}

export interface NewTenant extends Tenant {
  readonly credential: { readonly clientId: string; readonly clientSecret: string }
}

export interface TenantInput extends Labelled {
  readonly name: string
}

export interface TenantChange extends Partial<TenantInput> {
  readonly portal?: PortalChange
}

export interface Tenants {
  create(author: Author, input: TenantInput): Promise<NewTenant>
  /** One commit. Throws `Problem('payload_invalid')` for a logo that is no image. */
  update(author: Author, id: string, change: TenantChange): Promise<Tenant>
  /** Throws `Problem('state_conflict')` for the tenant of the operator. */
  disable(author: Author, id: string): Promise<Tenant>
  enable(author: Author, id: string): Promise<Tenant>
  /** Returns the lines of the export; a disabled tenant can be removed when all of them have been read. */
  export(author: Author, id: string): Promise<AsyncGenerator<string>>
  remove(author: Author, id: string): Promise<void>
  get(id: string): Promise<Tenant>
  /** Lists all tenants of the gateway. */
  list(query: PageQuery): Promise<Page<Tenant>>
}

export interface TenantsOptions extends Secrets, AnnouncementOptions {
  readonly gateway: Pick<GatewayPort, 'applyGrants' | 'withdraw'>
  readonly mutex: KeyedMutex
  readonly clock: Pick<Clock, 'nowMs'>
  readonly scopes: readonly string[]
  readonly lastUses: Pick<LastUses, 'remove'>
}

export function createTenants(options: TenantsOptions): Tenants {
  const { registry, createId, vault, clock, mutex } = options

  return {
    async create(author, { name, labels }) {
      const id = createId('ten')
      const scopes = scopesOfTenants(options.scopes)
      const consumer = createId('con')
      const made = newPlatformSubscription({ ...options, tenant: id, scopes, chosen: null }, consumer)
      const { subscription, credential } = made
      const own = newOwnConsumer(createId, id, scopes)
      const { clientId, clientSecret, expiresAtMs } = credential.body as CredentialBody
      await commit(registry, author, 'tenant.create', [
        ...newTenantWrites(id, { name, ownConsumer: own.id, ...(labels !== undefined && { labels }) }, consumer),
        subscription,
        credential,
        ...own.writes,
        firstWarningWrite(credential.id, id, expiresAtMs, clock.nowMs()),
      ])
      return {
        id,
        name,
        state: 'Active',
        portal: showPortal(id, {}),
        labels: labels ?? {},
        createdAt: toTime(clock.nowMs()),
        credential: { clientId, clientSecret: vault.decrypt(clientSecret, credential.id) },
      }
    },
    async get(id) {
      return showTenant(await find(registry, id, TENANT_KIND, id))
    },
    update: (author, id, { portal, ...members }) =>
      change(options, author, id, 'tenant.update', async (body) => {
        const { writes, ...changed } = portal === undefined ? {} : await changePortal(registry, id, body, portal)
        return { next: { ...body, ...members, ...changed }, ...(writes !== undefined && { writes }) }
      }),
    async disable(author, id) {
      if ((await findOperator(registry)) === id) throw refusedForOperator()
      return change(options, author, id, 'tenant.disable', (body) => ({
        next: { ...body, isDisabled: true },
        hasNewGrants: true,
      }))
    },
    enable: (author, id) =>
      change(options, author, id, 'tenant.enable', ({ isDisabled: _, exportedAtMs: __, ...next }) => ({
        next,
        hasNewGrants: true,
      })),
    export: (author, id) => exportTenant(options, author, id),
    remove: (author, id) => mutex.runExclusive([tenantLock(id)], () => removeTenant(options, author, id)),
    async list({ limit, cursor, label = [] }) {
      const after = { ...(cursor !== undefined && { after: fromCursor(cursor) }), where: { [LABEL_KEY]: label } }
      const documents = await registry.list(TENANT_KIND, { limit: limit + 1, ...after })
      const items = documents.slice(0, limit).map(showTenant)
      return { items, next: documents.length > limit ? toCursor(items.at(-1)?.id ?? '') : null }
    },
  }
}

interface ChangedTenant {
  readonly next: TenantBody
  /** Whether the grants depend on the change. */
  readonly hasNewGrants?: true
  /** Those of other documents, for the same commit. */
  readonly writes?: readonly Write[]
}

/** Commits a change of a tenant; sends its grants to every gateway thread if they depend on it. */
function change(
  options: TenantsOptions,
  author: Author,
  id: string,
  action: string,
  to: (body: TenantBody) => ChangedTenant | Promise<ChangedTenant>,
): Promise<Tenant> {
  const { registry, mutex } = options
  return mutex.runExclusive([tenantLock(id)], async () => {
    const { revision, body } = await find(registry, id, TENANT_KIND, id)
    const { next, writes = [], hasNewGrants = false } = await to(body)
    await commit(registry, author, action, [tenantWrite(id, revision, next), ...writes])
    if (hasNewGrants) await announceTenant(options, id)
    return showTenant(await find(registry, id, TENANT_KIND, id))
  })
}

function refusedForOperator(): Problem {
  return new Problem('state_conflict', 'The tenant of the operator cannot be disabled or removed.', {
    extensions: { state: 'Active', allowed: [] },
  })
}

function showTenant({ id, body, createdAtMs }: Document<TenantBody>): Tenant {
  const { name, isDisabled, labels = {} } = body
  const state = isDisabled === true ? 'Disabled' : 'Active'
  return { id, name, state, portal: showPortal(id, body), labels, createdAt: toTime(createdAtMs) }
}
