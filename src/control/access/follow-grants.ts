/** Sends the grants that a change of another node has made out of date to the gateway threads of this node. */

import type { Grant } from '../../boundary/plan/grant.ts'
import { isOfKind, type Change } from '../../storage/store/registry.ts'
import { SUBSCRIPTION_KIND } from '../subscriptions/document/subscription-document.ts'
import {
  announceConsumer,
  announceCredential,
  announceSubscription,
  announceTenant,
  type AnnouncementOptions,
} from './announced-grants.ts'
import { CONSUMER_KIND } from './consumer-document.ts'
import { CREDENTIAL_KIND } from './credential-document.ts'
import { TENANT_KIND } from './platform-access.ts'

/** Kinds of documents from which a grant is computed. */
export const GRANT_KINDS: readonly string[] = [CREDENTIAL_KIND, SUBSCRIPTION_KIND, CONSUMER_KIND, TENANT_KIND]

/** Resolves when every thread has the grants as the registry has them now. */
export async function followGrants(options: AnnouncementOptions, { document, removed }: Change): Promise<void> {
  const { id, tenant } = document
  if (isOfKind(document, CREDENTIAL_KIND)) {
    if (removed) await refuse(options, id, document.body.type, tenant)
    else await announceCredential(options, id)
  } else if (isOfKind(document, SUBSCRIPTION_KIND)) {
    if (removed) await refuse(options, id, 'Shared', tenant)
    else await announceSubscription(options, id)
  } else if (removed) return
  else if (isOfKind(document, CONSUMER_KIND)) await announceConsumer(options, tenant, id)
  else if (isOfKind(document, TENANT_KIND)) await announceTenant(options, tenant)
}

/** A credential that is gone stays refused: its id is never used again. */
async function refuse({ gateway }: AnnouncementOptions, credential: string, type: Grant['type'], tenant: string) {
  const nothing = { subscription: '', consumer: '', consumerName: '', api: '', apiProductId: '', variant: '' }
  const grant: Grant = {
    ...{ credential, type, tenant, valid: false, active: false, ...nothing },
    ...{ consumerKind: 'application', expiresAtMs: 0, scopes: [] },
    ...{ version: Number.MAX_SAFE_INTEGER, subscriptionRevision: 0 },
  }
  await gateway.applyGrants([grant])
}
