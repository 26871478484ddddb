/**
 * Gives the scopes of a new version to the admins of all tenants.
 *
 * An admin that held every scope of the previous version, except that of the operator, gets those that are new. An admin whose scopes
 * were reduced keeps them.
 */

import { listAll } from '../command/page.ts'
import type { Document, Registry, Write } from '../../storage/store/registry.ts'
import { subscriptionWrite, type SubscriptionBody } from '../subscriptions/document/subscription-document.ts'
import { ADMIN_DOCUMENTS_MAX, subscriptionsOfAdmin } from './admin-replacement.ts'
import { CREDENTIAL_KIND, credentialWrite } from './credential-document.ts'
import { TENANT_KIND } from './platform-access.ts'

export interface WidenedAdminsOptions {
  readonly registry: Registry
  /** The tenant of the operator, whose admin is widened separately. */
  readonly operator: string
  /** Scopes of the previous version, and of this one, without the operator's. */
  readonly before: readonly string[]
  readonly scopes: readonly string[]
}

export async function widenAdmins(options: WidenedAdminsOptions): Promise<void> {
  const { registry, operator, before, scopes } = options
  if (scopes.every((scope) => before.includes(scope))) return
  for await (const { id: tenant } of listAll(registry, TENANT_KIND)) {
    if (tenant === operator) continue
    const held = await subscriptionsOfAdmin(registry, tenant)
    const current = held.find(({ body }) => body.actor.value === 'Active')
    if (current === undefined || !before.every((scope) => current.body.scopes.includes(scope))) continue
    const writes = await widenedWrites(options, current)
    await registry.commit({ tenant, consumer: 'system' }, 'platform.start', writes)
  }
}

async function widenedWrites(
  { registry, scopes }: WidenedAdminsOptions,
  { id, tenant, revision, body }: Document<SubscriptionBody>,
): Promise<Write[]> {
  const where = { subscription: id }
  const credentials = await registry.list(CREDENTIAL_KIND, { tenant, where, limit: ADMIN_DOCUMENTS_MAX })
  return [
    subscriptionWrite(id, tenant, revision, { ...body, scopes }),
    ...credentials.map((each) => credentialWrite(each.id, tenant, each.revision, { ...each.body, scopes })),
  ]
}
