/**
 * Tenants, which share a gateway and are isolated from each other.
 *
 * A tenant is created with its first admin, which has every scope of the platform except `platform:admin`, the scope of the
 * operator. The secret of the admin is returned once.
 */

import type { Clock } from '../runtime/clock.ts'
import type { Author, Document, Registry } from '../store/registry.ts'
import { commit, find, toTime } from '../command/commands.ts'
import type { CredentialBody, Secrets } from './credential-document.ts'
import { firstWarningWrite } from './credential-expiry.ts'
import { fromCursor, toCursor, type Page, type PageQuery } from '../command/page.ts'
import { newPlatformSubscription, newTenantWrites, TENANT_KIND, type TenantBody } from './platform-access.ts'

export interface Tenant {
  readonly id: string
  readonly name: string
  readonly createdAt: string
}

export interface NewTenant extends Tenant {
  readonly credential: { readonly clientId: string; readonly clientSecret: string }
}

export interface Tenants {
  create(author: Author, name: string): Promise<NewTenant>
  get(id: string): Promise<Tenant>
  /** Lists all tenants of the gateway. */
  list(query: PageQuery): Promise<Page<Tenant>>
}

export interface TenantsOptions extends Secrets {
  readonly registry: Registry
  readonly clock: Pick<Clock, 'nowMs'>
  readonly scopes: readonly string[]
}

export const OPERATORS_SCOPE = 'platform:admin'

export function createTenants(options: TenantsOptions): Tenants {
  const { registry, createId, vault, clock } = options

  return {
    async create(author, name) {
      const id = createId('ten')
      const scopes = options.scopes.filter((scope) => scope !== OPERATORS_SCOPE)
      const consumer = createId('con')
      const made = newPlatformSubscription({ ...options, tenant: id, scopes, chosen: null }, consumer)
      const { subscription, credential } = made
      const { clientId, clientSecret, expiresAtMs } = credential.body as CredentialBody
      await commit(registry, author, 'tenant.create', [
        ...newTenantWrites(id, name, consumer),
        subscription,
        credential,
        firstWarningWrite(credential.id, id, expiresAtMs, clock.nowMs()),
      ])
      return {
        id,
        name,
        createdAt: toTime(clock.nowMs()),
        credential: { clientId, clientSecret: vault.decrypt(clientSecret, credential.id) },
      }
    },
    async get(id) {
      return showTenant(await find(registry, id, TENANT_KIND, id))
    },
    async list({ limit, cursor }) {
      const after = cursor === undefined ? {} : { after: fromCursor(cursor) }
      const documents = await registry.list(TENANT_KIND, { limit: limit + 1, ...after })
      const items = documents.slice(0, limit).map(showTenant)
      return { items, next: documents.length > limit ? toCursor(items.at(-1)?.id ?? '') : null }
    },
  }
}

function showTenant({ id, body, createdAtMs }: Document<TenantBody>): Tenant {
  return { id, name: body.name, createdAt: toTime(createdAtMs) }
}
