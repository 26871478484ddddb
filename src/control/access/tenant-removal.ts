/**
 * Removes a tenant with all its documents. The audit log and usage stay, and so do requests to erase names in them, which the
 * scheduler removes when they are done. When the tenant is removed, every gateway thread refuses its credentials as unknown.
 *
 * The document of the tenant is removed last, so that a removal that was interrupted can be repeated.
 */

import { commit, find } from '../command/commands.ts'
import { listAll } from '../command/page.ts'
import { Problem } from '../../foundation/domain/problem.ts'
import type { GatewayPort } from '../../boundary/plan/gateway-port.ts'
import type { Grant } from '../../boundary/plan/grant.ts'
import { API_KIND } from '../publishing/apis.ts'
import { declaredKinds, type Author, type DocumentKind, type Registry } from '../../storage/store/registry.ts'
import { SUBSCRIPTION_KIND } from '../subscriptions/document/subscription-document.ts'
import { CREDENTIAL_KIND } from './credential-document.ts'
import type { LastUses } from './last-uses.ts'
import { eraseContacts, isErasure } from './erasure.ts'
import { sendGrants } from './announced-grants.ts'
import { grantsOfSubscription } from './grants.ts'
import { TENANT_KIND } from './platform-access.ts'

export interface TenantRemovalOptions {
  readonly registry: Registry
  readonly gateway: Pick<GatewayPort, 'withdraw' | 'applyGrants'>
  readonly lastUses: Pick<LastUses, 'remove'>
}

/** Documents per commit. */
const BATCH_MAX = 100

/** Throws `Problem('state_conflict')` unless the tenant is disabled and has been exported since. */
export async function removeTenant(options: TenantRemovalOptions, author: Author, tenant: string): Promise<void> {
  const { registry, gateway } = options
  const { body } = await find(registry, tenant, TENANT_KIND, tenant)
  if (body.isDisabled !== true || body.exportedAtMs === undefined) {
    const detail = 'Disable the tenant and export it completely before you remove it.'
    const extensions =
      body.isDisabled === true
        ? ({ state: 'Disabled', allowed: ['enable', 'export'] } as const)
        : ({ state: 'Active', allowed: ['disable'] } as const)
    throw new Problem('state_conflict', detail, { extensions })
  }
  for await (const { id } of listAll(registry, API_KIND, { tenant })) await gateway.withdraw(id)
  await invalidate(options, tenant)
  await eraseContacts(registry, tenant)
  for (const kind of declaredKinds()) if (kind !== TENANT_KIND) await removeAll(options, author, tenant, kind)
  await removeAll(options, author, tenant, TENANT_KIND)
}

/** Before the documents are removed, because a removal that is repeated finds no credential that is gone. */
async function invalidate({ registry, gateway }: TenantRemovalOptions, tenant: string): Promise<void> {
  async function* refused(): AsyncGenerator<Grant> {
    for await (const subscription of listAll(registry, SUBSCRIPTION_KIND, { tenant })) {
      for await (const grant of grantsOfSubscription(registry, subscription))
        yield { ...grant, valid: false, active: false, version: grant.version + 1 }
    }
  }
  await sendGrants(gateway, refused())
}

async function removeAll(
  { registry, lastUses }: TenantRemovalOptions,
  author: Author,
  tenant: string,
  kind: string,
): Promise<void> {
  let after: string | undefined
  do {
    const page = { tenant, limit: BATCH_MAX, ...(after !== undefined && { after }) }
    const batch = await registry.list(kind as DocumentKind<unknown>, page)
    const writes = batch
      .filter((document) => !isErasure(document))
      .map(({ id, revision }) => ({ kind, id, tenant, expected: revision, body: null }))
    if (kind === CREDENTIAL_KIND) await lastUses.remove(batch.map(({ id }) => id))
    if (writes.length > 0) await commit(registry, author, 'tenant.remove', writes)
    after = batch.at(-1)?.id
  } while (after !== undefined)
}
